"""How a gateway is: what it has counted, and whether it does its work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Statistics:
    """What a gateway has counted since it began, at one moment.

    Parameters
    ----------
    counters : mapping of str to float
        How often what has happened: ``messages``, ``malformed``, ``late`` and so on; and sums of seconds, whose
        names end with ``_seconds``. None falls while the gateway runs.
    gauges : mapping of str to float
        How much there is now: ``streams_known``, ``outbox``, ``log_bytes``, ``lag_seconds`` and so on.
    decisions : mapping of (str, str) to int
        Number of decisions by reason and label; the label of those without one is the empty text.
    models : mapping of str to int
        Number of open episodes by the digest of the model that they follow.
    energy : float
        What all nodes have spent, in `unit`.
    unit : str
        That of the nodes' radio profile: ``joules`` or ``transmissions``.
    alerts : mapping of str to int
        Number of drift alerts by what drifted.
    """

    counters: Mapping[str, float]
    gauges: Mapping[str, float]
    decisions: Mapping[tuple[str, str], int]
    models: Mapping[str, int]
    energy: float
    unit: str
    alerts: Mapping[str, int]


class HealthLimits(NamedTuple):
    """From when on a gateway counts as stuck.

    Parameters
    ----------
    loop_age : float
        Seconds that its loop may take to go round.
    lag : float
        Seconds that a message may wait to be stored.
    """

    loop_age: float = 10.0
    lag: float = 30.0


DEFAULT_LIMITS = HealthLimits()


@dataclass(frozen=True)
class Health:
    """Whether a gateway does its work, at one moment.

    Parameters
    ----------
    connected : bool
        Whether there is a connection to the broker.
    subscribed : bool
        Whether the broker has granted every subscription.
    storing : bool
        Whether the last attempt to store something succeeded.
    loop_age : float
        Seconds since the loop last went round.
    lag : float
        Seconds since the oldest message arrived that is not stored yet; 0 if there is none.
    refused_model : str
        Why the model in the model file is not the one that is followed; empty if it is.

    Examples
    --------
    >>> health = Health(connected=False, subscribed=False, storing=True, loop_age=0.1, lag=0.0)
    >>> health.is_alive()
    True
    >>> health.problems()
    ['not connected to the broker', 'not subscribed']
    """

    connected: bool
    subscribed: bool
    storing: bool
    loop_age: float
    lag: float
    refused_model: str = ""

    def is_alive(self, limits: HealthLimits = DEFAULT_LIMITS) -> bool:
        """Whether the loop goes round; if not, only a restart helps."""
        return self.loop_age <= limits.loop_age

    def problems(self, limits: HealthLimits = DEFAULT_LIMITS) -> list[str]:
        """Everything that keeps the gateway from its work, in words; nothing if it is ready."""
        found = {
            f"the loop has not gone round for {self.loop_age:.1f} s": not self.is_alive(limits),
            "not connected to the broker": not self.connected,
            "not subscribed": not self.subscribed,
            "nothing can be stored": not self.storing,
            f"a message has waited {self.lag:.1f} s to be stored": not self.lag <= limits.lag,
        }
        return [problem for problem, holds in found.items() if holds]

    def warnings(self) -> list[str]:
        """What somebody should see to, though the gateway does its work."""
        return [f"model file refused: {self.refused_model}"] if self.refused_model else []

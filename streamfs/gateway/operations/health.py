"""Statistics and health of a gateway."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Statistics:
    """Statistics of a gateway since its start.

    Parameters
    ----------
    counters : mapping of str to float
        Counts of events (``messages``, ``malformed``, ``late`` and so on), and sums of seconds, whose names end
        with ``_seconds``. They never decrease while the gateway runs.
    gauges : mapping of str to float
        Current values: ``streams_known``, ``outbox``, ``log_bytes``, ``lag_seconds`` and so on.
    decisions : mapping of (str, str) to int
        Decisions by reason and label; the label is empty if there is none.
    models : mapping of str to int
        Open episodes by the digest of their model.
    energy : float
        Energy of all nodes, in `unit`.
    unit : str
        Unit of the radio profile: ``joules`` or ``transmissions``.
    alerts : mapping of str to int
        Drift alerts by what drifted.
    """

    counters: Mapping[str, float]
    gauges: Mapping[str, float]
    decisions: Mapping[tuple[str, str], int]
    models: Mapping[str, int]
    energy: float
    unit: str
    alerts: Mapping[str, int]


class HealthLimits(NamedTuple):
    """Most seconds that the loop's iteration may take, and that a message may wait to be stored."""

    loop_age: float = 10.0
    lag: float = 30.0


DEFAULT_LIMITS = HealthLimits()


@dataclass(frozen=True)
class Health:
    """Health of a gateway.

    Parameters
    ----------
    connected : bool
        Whether the gateway is connected to the broker.
    subscribed : bool
        Whether the broker has granted every subscription.
    storing : bool
        Whether the last attempt to store something succeeded.
    loop_age : float
        Seconds since the loop's last iteration.
    lag : float
        Age in seconds of the oldest message that is not stored; 0 if there is none.
    refused_model : str
        Why the model file was rejected; empty if it was not.

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
        """Whether the loop runs; if not, only a restart helps."""
        return self.loop_age <= limits.loop_age

    def problems(self, limits: HealthLimits = DEFAULT_LIMITS) -> list[str]:
        """Return what keeps the gateway from working; empty if it is ready."""
        found = {
            f"the loop has been stuck for {self.loop_age:.1f} s": not self.is_alive(limits),
            "not connected to the broker": not self.connected,
            "not subscribed": not self.subscribed,
            "nothing can be stored": not self.storing,
            f"a message has waited {self.lag:.1f} s to be stored": not self.lag <= limits.lag,
        }
        return [problem for problem, holds in found.items() if holds]

    def warnings(self) -> list[str]:
        """Return what needs attention although the gateway works."""
        return [f"model file rejected: {self.refused_model}"] if self.refused_model else []

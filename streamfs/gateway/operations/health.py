"""Statistics and health of a gateway."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Statistics:
    """Statistics of a gateway since its start.

    Counters never decrease while the gateway runs; sums of seconds have names that end with ``_seconds``.
    """

    counters: Mapping[str, float]
    gauges: Mapping[str, float]
    decisions: Mapping[tuple[str, str], int]  # by reason and label; the label is empty if there is none
    models: Mapping[str, int]  # open episodes by the digest of their model
    energy: float  # of all nodes
    unit: str  # of the radio profile: joules or transmissions
    alerts: Mapping[str, int]  # by what drifted
    rejected: Mapping[str, int] = field(default_factory=dict)  # messages, by cause
    left_out: Mapping[tuple[str, str], int] = field(default_factory=dict)  # readings, by node and cause
    promise: Mapping[str, Any] | None = None  # see `PromiseMonitor.to_json`


class HealthLimits(NamedTuple):
    """Most seconds that the loop's iteration may take, and that a message may wait to be stored."""

    loop_age: float = 10.0
    lag: float = 30.0


DEFAULT_LIMITS = HealthLimits()

NEARLY_FULL = 0.5
"""Share of the outbox's bound above which there is a warning."""

LONG_UNANSWERED = 30.0
"""Seconds without a confirmation of what was published after which there is a warning."""

MOST_NAMED = 10
"""Topics that warnings name."""


@dataclass(frozen=True)
class Health:
    """Health of a gateway; ages and lags are in seconds."""

    connected: bool
    subscribed: bool
    storing: bool
    loop_age: float  # since the last iteration
    lag: float  # age of the oldest message that is not stored
    trouble: str = ""  # why there is no connection
    refused_model: str = ""  # why the model file, or settings, were rejected
    refused_publications: Mapping[str, str] = field(default_factory=dict)  # why, by topic
    clocks: Sequence[str] = ()  # warnings of clocks that are wrong
    data: Sequence[str] = ()  # warnings of messages and streams that are left out
    outbox_fullness: float = 0.0  # publications that wait for the broker, as a share of the bound
    unanswered: float = 0.0  # seconds of a connection without a confirmation of those under way

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
        found = [self.trouble] if self.trouble else []
        if self.refused_model:
            found.append(f"new model or settings rejected: {self.refused_model}")
        found += [*self.clocks, *self.data]
        refused = sorted(self.refused_publications.items())
        found += [
            f"the broker refuses what is published to {topic}: {reason}; it is tried again until the broker's "
            "access list and limits allow it"
            for topic, reason in refused[:MOST_NAMED]
        ]
        if len(refused) > MOST_NAMED:
            found.append(f"the broker refuses {len(refused) - MOST_NAMED} further topics")
        if self.connected and self.unanswered > LONG_UNANSWERED:
            found.append(
                f"the broker has confirmed nothing that was published for {self.unanswered:.0f} s: decisions and "
                "control messages wait"
            )
        if self.outbox_fullness > NEARLY_FULL:
            share = f"{100 * self.outbox_fullness:.0f} %"
            found.append(
                f"publications wait for the broker, {share} of limits.outbox: beyond that some are dropped"
            )
        return found

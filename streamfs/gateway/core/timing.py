"""How readings are put on a grid in event time: its period, what may be late, and which silence counts."""

from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Self

from feature_extractors.report import silent_ticks, split_channel
from streamfs.gateway.core._node_time import N_KNOWN
from streamfs.gateway.core._waiting import FOREVER
from streamfs.gateway.core.options import Options, Time
from streamfs.procedure.procedure import Procedure

MAX_GAP = 10_000
"""Ticks without a reading that are emitted one by one, however long episodes are."""

GRACE = 10.0
"""Default grace in seconds."""


def longest_gap(procedure: Procedure) -> int:
    """Return the ticks without a reading after which no episode of a procedure is open, at most `MAX_GAP`.

    An episode that begins with held values alone may begin, after another, while nothing comes.
    """
    openings = zip(procedure.channels, procedure.openings, strict=True)
    policies = [split_channel(channel)[1] for channel, opening in openings if opening == 1]
    held = 0
    if all(policy.holds for policy in policies):
        silent = silent_ticks(procedure.max_silence, procedure.period)
        own = [int(policy.value) for policy in policies if policy.kind in ("every", "mean")]
        held = MAX_GAP if silent is None else max(silent, *own, 0)
    return min(procedure.time_limit + held, MAX_GAP)


@dataclass(frozen=True)
class Timing:
    """How readings are put on the grid, a tick every `period` seconds.

    After `max_gap` ticks without a reading a stream jumps to the next tick that has one, or to its watermark. A
    stamp may be `ahead` seconds ahead of what the node's others suggest. Values that are thinned here hold for
    `repeat` ticks, and are said again before.
    """

    period: float
    time: Time = field(default_factory=Time)
    max_gap: int = MAX_GAP
    ahead: float = inf
    repeat: int = FOREVER

    def __post_init__(self) -> None:
        _check_range("period", self.period, 1e-6)
        _check_range("max_gap", self.max_gap, 0)
        if not self.ahead > 0:
            raise ValueError(f"ahead is {self.ahead}, expected more than 0")

    @classmethod
    def of(cls, options: Options, procedure: Procedure) -> Self:
        """Return the timing for a procedure."""
        period, silent = procedure.period, silent_ticks(procedure.max_silence, procedure.period)
        ahead = options.limits.ahead * period
        return cls(period, options.time, longest_gap(procedure), ahead, FOREVER if silent is None else silent)

    @property
    def lateness(self) -> float:
        """Seconds that a reading may lag behind the newest."""
        return 2 * self.period if self.time.lateness is None else self.time.lateness

    @property
    def grace(self) -> float:
        """Seconds of silence that do not count while a node's delays are not known."""
        return GRACE if self.time.grace is None else self.time.grace

    @property
    def least_patience(self) -> float:
        """Seconds of silence that do not count afterwards, however regular the delays."""
        return self.period if self.time.grace is None else self.time.grace

    def patience(self, n_heard: int) -> float:
        """Return the seconds of silence that do not count, by how often a node without delays was heard."""
        return self.least_patience if n_heard >= N_KNOWN else self.grace


def _check_range(name: str, value: float, lowest: float) -> None:
    if not (isfinite(value) and value >= lowest):
        raise ValueError(f"{name} is {value}, expected at least {lowest}")

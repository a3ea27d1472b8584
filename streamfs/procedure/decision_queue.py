"""Decisions in the order in which their episodes began."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any
from zlib import crc32

from streamfs.procedure.procedure import Decision

MOST_WAITING = 1000
"""Decisions that wait."""

N_RECENT = 15
"""Streams of whose last decisions the median time is taken for now."""

ALL = 2**32
"""More than any number of an episode."""


Waiting = tuple[float, int, float, bool, list[int]]
"""A decision: when its episode must have ended, the episode's number, event time, label or none, and places."""


class DecisionQueue:
    """Decisions that wait until all whose episodes began before theirs must have been made: one time limit later.

    Of episodes that begin together the easy ones are decided first. The event time now is the median of the last
    decisions of `N_RECENT` streams, which a few nodes far ahead do not move. If more than `MOST_WAITING` decisions
    wait, those of nodes far ahead are left out, then an ever smaller share of the episodes is taken.

    Parameters
    ----------
    time_limit : int
        Ticks.
    period : float
        Of a tick, in seconds.
    """

    def __init__(self, time_limit: int, period: float) -> None:
        self._time_limit, self._period = time_limit, period
        self._recent: dict[str, float] = {}  # event time of the last decisions, by stream, the newest last
        self._times: list[float] = []  # the same, rising
        self._waiting: list[Waiting] = []
        self._below = ALL  # episodes with a smaller number are taken

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, decision: Decision, places: list[int]) -> float:
        """Take a decision, and where its quantities are; return the event time now."""
        recent, times, stream, time = self._recent, self._times, decision.stream, decision.time
        if stream in recent or len(recent) == N_RECENT:
            before = recent.pop(stream if stream in recent else next(iter(recent)))
            del times[bisect_left(times, before)]
        recent[stream] = time
        insort(times, time)
        now = times[(len(times) - 1) // 2]
        chance = crc32(stream.encode(), decision.episode)  # looks random, and is always the same
        if chance < self._below:
            ended = time - (decision.tick - self._time_limit - 1) * self._period
            heappush(self._waiting, (ended, chance, time, decision.label is not None, places))
        return now

    def due(self, now: float) -> Iterator[Waiting]:
        """Yield, and forget, the decisions of all episodes that must have ended by a time; let few others wait."""
        while self._waiting and self._waiting[0][0] <= now:
            yield heappop(self._waiting)
        if len(self._waiting) > MOST_WAITING:
            self._leave_out(now)

    def _leave_out(self, now: float) -> None:
        """Leave out decisions of nodes far ahead, and episodes by chance, until no more than some wait."""
        last = now + self._time_limit * self._period
        self._waiting = [each for each in self._waiting if each[0] <= last]
        while len(self._waiting) > MOST_WAITING:
            self._below //= 2
            self._waiting = [each for each in self._waiting if each[1] < self._below]
        heapify(self._waiting)

    def to_state(self) -> dict[str, Any]:
        """Copy what waits as plain JSON."""
        return {
            "recent": dict(self._recent),
            "waiting": [list(each) for each in self._waiting],
            "below": self._below,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self._recent, self._below = dict(state["recent"]), state["below"]
        self._times = sorted(self._recent.values())
        self._waiting = [(*each,) for each in state["waiting"]]

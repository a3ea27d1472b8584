"""A device of a recorded history: when it would have reported, had it been asked for what a model wants."""

from collections.abc import Mapping
from math import ceil, floor, inf
from typing import TYPE_CHECKING

import numpy as np

from feature_extractors.base import Array
from streamfs.gateway.core.conduct import DAY, KEPT
from streamfs.gateway.core.speech import Asked

if TYPE_CHECKING:
    from streamfs.gateway.core.device_profile import Reach

_SOON = 1e-3  # ticks from hearing to what follows from it


class ReportingDevice:
    """A device on a grid of ticks, and what it is asked when it hears: after a report, or always.

    It is asked for what is wanted then, as far as its daily budget allows that beside what is kept for waking it.
    What its network keeps for it, it hears with its next report.

    Parameters
    ----------
    reach : Reach
        When it hears, and how often it may be asked.
    wanted, rest : mapping of str to Asked
        What it does while a stream needs it, and while none does, by quantity, or under "" if all have one
        interval.
    values : mapping of str to ndarray of shape (n_ticks,)
        What it measures, by quantity.
    period : float
        Seconds of a tick.
    silence : float
        Ticks for which its values hold.
    """

    def __init__(
        self,
        reach: "Reach",
        wanted: Mapping[str, Asked],
        rest: Mapping[str, Asked],
        values: Mapping[str, Array],
        period: float,
        silence: float,
    ) -> None:
        self.n_reports = 0
        self._silence, self._since = silence, 0.0
        self._reach, self._values, self._period = reach, values, period
        self._ways = {True: wanted, False: rest}
        self._does, self._asked, self._kept = True, None, None  # whether that is what is wanted
        self._now, self._paid_at, self._tokens = 0.0, 0.0, reach.per_day
        self._reported = dict.fromkeys(wanted, -inf)  # when, by quantity

    _asked: bool | None
    _kept: bool | None

    def run(self, until: float, *, is_wanted: bool) -> None:
        """Let it report and be asked until a tick, while a stream needs it or none does."""
        self._hear_at_once(is_wanted=is_wanted)
        while (at := self._next_report()) < until:
            self._report(at)
            self._ask(is_wanted=is_wanted)
        self._now = max(self._now, until)

    def known_since(self, tick: int) -> int:
        """Return since when its values are known without a break, once a stream needs it.

        That is so from a tick on, until which it has run; if they are not known, it is its next report.
        """
        if tick - min(self._reported.values()) < self._silence + 1:
            return floor(self._since)
        self._hear_at_once(is_wanted=True)
        return floor(self._next_report())

    def _hear_at_once(self, *, is_wanted: bool) -> None:
        if self._reach.hears == "always" and self._next_report() > self._now:
            self._ask(is_wanted=is_wanted)
            self._now += _SOON

    def _next_report(self) -> float:
        return max(self._now, min(self._due(quantity) for quantity in self._reported))

    def _due(self, quantity: str) -> float:
        """Return the tick of the next report of a quantity, which may be over."""
        last = self._reported[quantity]
        least, most, delta = self._ways[self._does][quantity]
        latest = last + most / self._period
        if last == -inf or least >= most:
            return latest
        values, begin = self._values[quantity], ceil(last + least / self._period - 1e-9)
        changes = np.abs(values[begin : ceil(min(latest, len(values)))] - values[int(last)])
        changed = np.flatnonzero(changes >= delta - 1e-9)
        return float(begin + changed[0]) if len(changed) else latest

    def _report(self, at: float) -> None:
        due = [quantity for quantity in self._reported if self._due(quantity) <= at]
        if at - min(self._reported.values()) >= self._silence + 1:
            self._since = at
        self._reported |= dict.fromkeys(due, at)
        self.n_reports += len(due)
        self._now = at
        if self._kept is not None:
            self._does, self._kept = self._kept, None

    def _ask(self, *, is_wanted: bool) -> None:
        if is_wanted == self._asked:
            return
        n_messages, per_day = len(self._reported), self._reach.per_day
        passed, self._paid_at = (self._now - self._paid_at) * self._period, self._now
        self._tokens = min(per_day, self._tokens + passed * per_day / DAY)
        if self._tokens < n_messages + KEPT * (not is_wanted):
            return
        self._tokens -= n_messages
        self._asked = is_wanted
        if self._reach.queued:
            self._kept = is_wanted
        else:
            self._does = is_wanted

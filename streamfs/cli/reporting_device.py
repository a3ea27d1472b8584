"""A device of a recorded history: when it would have reported, had it been asked for what a model wants."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, inf
from typing import TYPE_CHECKING

import numpy as np

from feature_extractors.arrays import Array
from streamfs.cli.shown_channel import ShownChannel
from streamfs.gateway.core.device_states import DAY
from streamfs.gateway.core.hearing import KEPT
from streamfs.gateway.core.speech import Asked
from streamfs.gateway.core.timing import Timing

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
    shown : mapping of str to sequence of ShownChannel
        What the gateway makes of its reports, by quantity.
    timing : Timing
        How long the gateway waits for late readings, and what silence it takes for the end of a tick.
    phase : float
        Ticks from the nearest tick of the gateway's grid to the first reading: -0.5 to 0.5.
    """

    def __init__(
        self,
        reach: "Reach",
        wanted: Mapping[str, Asked],
        rest: Mapping[str, Asked],
        values: Mapping[str, Array],
        shown: Mapping[str, Sequence[ShownChannel]],
        timing: Timing,
        phase: float = 0.0,
    ) -> None:
        self.n_reports = 0
        self._shown, self._timing, self._phase = shown, timing, phase
        self._reach, self._values, self._period = reach, values, timing.period
        self._length = min(map(len, values.values()))
        self._expected = inf  # the next report when what was known of a tick was asked last
        unasked = {name: each._replace(least=timing.period, most=timing.period) for name, each in wanted.items()}
        self._ways = {None: unasked, True: wanted, False: rest}
        self._does: bool | None = None  # whether that is what is wanted; None of what nobody has asked
        self._asked: bool | None = None
        self._kept: bool | None = None
        self._now, self._paid_at, self._tokens = 0.0, 0.0, reach.per_day
        self._reported = dict.fromkeys(wanted, -inf)  # when, by quantity

    def run(self, until: float, *, is_wanted: bool) -> None:
        """Let it report and be asked until a tick, while a stream needs it or none does."""
        until = min(until, self._length)
        self._hear_at_once(is_wanted=is_wanted)
        while (at := self._next_report()) < until:
            self._report(at)
            self._ask(is_wanted=is_wanted)
        self._now = max(self._now, until)

    def run_past(self, tick: int, *, is_wanted: bool) -> float:
        """Run until the gateway has taken all readings of a tick, and return when, in ticks.

        It has once a report is so late that no reading of the tick can follow, or silence outlasts its patience.
        """
        timing = self._timing
        after = tick + 0.5 + timing.lateness / self._period - self._phase
        self.run(after, is_wanted=is_wanted)
        patience = timing.patience(self.n_reports) / self._period
        at = min(max(self._next_report(), after), after + patience)
        self._now = max(self._now, at)
        return at

    def known_since(self, tick: int) -> float | None:
        """Return since when all its channels have had values without a break; None if one has none at a tick.

        It rests until then, or until the gateway notices the tick before.
        """
        notices = self._timing.lateness / self._period - 0.5
        self.run(tick + min(0.5, notices) - self._phase, is_wanted=False)
        since = [channel.known_since(tick) for each in self._shown.values() for channel in each]
        known = [each for each in since if each is not None]
        self._expected = self._next_report()
        return max(known) if len(known) == len(since) else None

    def shown_next(self, asked_at: float) -> int:
        """Return the first tick at which all channels show the report after the tick of `known_since`.

        The device has rested until the gateway asks.
        """
        if self._expected >= asked_at:
            self._hear_at_once(is_wanted=True)
            self._expected = self._next_report()
        tick = self._tick_of(self._expected)
        return max(channel.shown_from(tick) for each in self._shown.values() for channel in each)

    def _tick_of(self, at: float) -> int:
        """Return the tick of the gateway's grid that is nearest to a time."""
        return floor(at + self._phase + 0.5)

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
        self._reported |= dict.fromkeys(due, at)
        for quantity in due:
            for each in [quantity] if quantity else self._shown:
                for channel in self._shown[each]:
                    channel.report(self._tick_of(at), float(self._values[each][int(at)]))
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

"""From single readings to samples: one for each tick of a stream, on a grid in event time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite
from typing import Any

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.gateway.core import _grid
from streamfs.gateway.core._duplicates import UNMARKED, has_come
from streamfs.gateway.core._waiting import FOREVER, NONE
from streamfs.gateway.core.grid_arrays import GridArrays, Structured
from streamfs.gateway.core.options import Limits
from streamfs.gateway.core.reading_buffer import ReadingBuffer
from streamfs.gateway.core.timing import Timing
from streamfs.gateway.messages.codecs import Reading

AT_ONCE = 4096
"""Entries that are handed over together."""

_ALONE = np.zeros(1, dtype=np.int64)
"""The places of a single entry."""


@dataclass(slots=True, eq=False)
class Entries:
    """Ticks of streams, in order: `_grid.ENTRY`, and values with their own ticks, shape (n, n_columns)."""

    ticks: Structured
    values: Array
    sources: Integers

    def __len__(self) -> int:
        return len(self.ticks)

    def __getitem__(self, places: slice) -> "Entries":
        return Entries(self.ticks[places], self.values[places], self.sources[places])

    @property
    def alternating(self) -> Integers:
        """Their places by tick, so that streams alternate, which the engine likes."""
        return _ALONE if len(self) == 1 else self.ticks["tick"].argsort(kind="stable")


class Joiner(GridArrays):
    """Put readings on a grid in event time, and emit the ticks of each stream as they fall due.

    A stamp belongs to the nearest tick. Every stream has its own time, that of the node of its nodes that is
    furthest behind: a node's time is its newest stamp, and runs on while its silence is proved for longer than its
    delays suggest. A tick is due once the watermark, ``lateness`` seconds behind the stream's time, has passed all
    the stamps that belong to it. So the order of arrival makes no difference as long as no reading is later than
    that, and none overtakes an earlier one of its channel by more than ``overtaking``; and what other nodes send
    makes none at all.

    A column that is sent every tick has the value stamped at that very tick. A column under any other report
    policy holds the newest value, but not over a gap: when the sequence number of the channel's next reading,
    already received, shows that one between is missing. A missing reading is either lost or overtaken, and the
    joiner cannot tell which: with ``overtaking`` at 0 it counts as lost at once, which makes the column NaN for
    some ticks too many if readings do overtake; with a large value a loss is noticed late, and the old value is
    held for some ticks too many.

    A reading is a duplicate if its sequence number has come before on its channel, or without a number, if its
    tick has; the last 64 numbers are remembered, and older ones count as known. A number that has come before with
    a newer stamp means that the node has restarted its count; without a stamp, one that comes for the third time
    and with another value than the last time. A reading that is too late is counted; it still
    becomes the held value of its column if it is the newest there. Readings that share a tick are crowded: a
    channel that holds its value shows the last of them, one that is sent every tick the first.

    A reading costs a pass over the columns of the streams that it feeds, and the time that passes one over the
    streams that do not rest. A resting stream costs some hundred bytes for each column. At most `max_pending`
    readings of a stream wait; more are dropped.
    """

    def __init__(
        self,
        channels: Sequence[str],
        columns: Sequence[str],
        timing: Timing,
        max_pending: int = Limits.pending,
        at_once: int = AT_ONCE,
    ) -> None:
        super().__init__(channels, columns)
        self.timing = timing
        self.grid["max_pending"] = max_pending
        self._set_timing()
        self._output = _room_for(at_once, len(self.columns))

    @property
    def latest(self) -> float:
        """Arrival of the newest reading, or of the silence since, in seconds since 1970; -inf before the first."""
        heard = self.nodes["heard"]
        return max(self.silence, float(heard[heard == heard].max(initial=-inf)))  # noqa: PLR0124 - NaN before any

    def has_come(self, slot: int, reading: Reading, arrival: float) -> bool:
        """Return whether a reading that arrives now would be a duplicate; nothing changes."""
        stamp, value, sequence = reading
        is_stamped = stamp is not None
        time = arrival if stamp is None else stamp + float(self.nodes["shift"][slot // len(self.channels)])
        number = NONE if sequence is None else sequence
        copy = self.slots[slot : slot + 1].copy()
        return bool(has_come(copy, self._said, slot, number, self.tick_of(time), time, is_stamped, value))

    def rest(self, stream: int, until: int | None) -> None:
        """Emit nothing of a stream before a tick, or ever again without one."""
        self.streams["rest"][stream] = FOREVER if until is None else until

    def wake(self, stream: int) -> None:
        """Emit every tick of a stream from now on."""
        self.streams["rest"][stream] = _grid.AWAKE

    def next_tick(self, stream: int) -> int:
        """Return the next tick that a stream emits."""
        return int(self.streams["next_tick"][stream])

    def hide(self, stream: int, column: int, before: int | None = None) -> None:
        """Mark the values of a column as outdated: those of ticks before one, or else all until now."""
        cell = self.cells[stream * len(self.columns) + column]
        cell["since"] = cell["tick"] + 1 if before is None else before

    def take(self, readings: ReadingBuffer) -> Iterator[Entries]:
        """Take readings, and yield the ticks that fall due."""
        parts, values, times, cursor = readings.columns
        yield from self._run(lambda held, output: _grid.take(held, output, parts, values, times, cursor))

    def let_time_pass(self, silence: float) -> Iterator[Entries]:
        """Yield the ticks that fall due since silence is proved up to a time, in seconds since 1970."""
        self.grid["silence"] = max(silence, self.silence)
        cursor = np.zeros(1, dtype=np.int64)
        yield from self._run(lambda held, output: _grid.let_time_pass(held, output, cursor))

    def resume(self, now: float) -> Iterator[Entries]:
        """Begin another run at a time, in seconds since 1970: the pause before it is no silence, however long.

        Arrivals are moved so that what was proved of each node's silence stays, and nothing else counts. Delays
        are estimated anew, since the clock may have been set. The time of a node without stamps is that of its
        arrivals: of its streams, yield the ticks before the pause, which itself has none.
        """
        if self.grid[0]["unstamped"]:
            yield from self._leave_out_pause(now)
        known = ~np.isnan(self.nodes["newest"])  # of others, nothing must change: they have no arrival
        for arrivals, which in (
            (self.nodes["heard"], known),
            (self.nodes["live"], known),
            (self.streams["begun"], ~np.isnan(self.streams["begun"])),
        ):
            arrivals[which] = now - np.maximum(self.silence - arrivals[which], 0.0)
        self.nodes["lowest"] = np.nan
        self.nodes["n_suspects"] = self.nodes["n_behind"] = 0
        if isfinite(self.silence):
            self.grid["silence"] = now

    def _leave_out_pause(self, now: float) -> Iterator[Entries]:
        """Let streams that only nodes without stamps feed have no ticks of the pause before a run."""
        live, period = self.nodes["live"], self.timing.period
        pauses = now - live - np.maximum(self.silence - live, 0.0)
        has_stamps = self.slots["stamped"].reshape(-1, len(self.channels)).any(axis=1)
        pauses[has_stamps | np.isnan(live)] = 0.0
        if not (pauses >= period).any():
            return
        cells = self.cells.reshape(-1, len(self.columns))
        least = np.where(cells["slot"] == NONE, inf, pauses[cells["node"]]).min(axis=1)
        has_ticks = self.streams["next_tick"] != FOREVER
        streams = np.flatnonzero(has_ticks & (least >= period) & (least < inf))
        yield from self._flush(streams)
        self.streams["next_tick"][streams] += (least[streams] // period).astype(np.int64)
        moved = pauses >= period
        self.nodes["newest"][moved] += pauses[moved]

    def flush(self) -> Iterator[Entries]:
        """Yield the ticks of every stream up to its newest stamp, without waiting for late readings."""
        return self._flush(np.arange(len(self.streams)))

    def _flush(self, streams: Integers) -> Iterator[Entries]:
        cursor = np.zeros(1, dtype=np.int64)
        yield from self._run(lambda held, output: _grid.flush(held, output, streams, cursor))

    def tick_of(self, time: float) -> int:
        """Return the tick that is nearest to a time."""
        return floor(time / self.timing.period + 0.5)

    def marks(self) -> Iterator[tuple[int, str, int, float]]:
        """Yield node, channel, highest sequence number and newest stamp of each slot that has numbers."""
        numbered = (self.slots["numbered"] != 0) & (self.slots["mark"] != UNMARKED)
        for slot in np.flatnonzero(numbered).tolist():
            node, channel = self.place(slot)
            yield node, channel, int(self.slots["mark"][slot]), float(self.slots["newest"][slot])

    def allow_gap(self, n_ticks: int) -> None:
        """Emit at least `n_ticks` ticks without a reading before a stream jumps."""
        self.grid["max_gap"] = max(n_ticks, int(self.grid[0]["max_gap"]))

    def repeat_within(self, n_ticks: int) -> None:
        """Let values that are thinned here hold for at most `n_ticks` ticks."""
        self.grid["repeat"] = min(n_ticks, int(self.grid[0]["repeat"]))

    def restore(self, header: dict[str, Any], arrays: dict[str, Structured]) -> None:
        """Restore what `to_state` has copied, keeping this joiner's timing."""
        max_pending = self.grid["max_pending"]
        super().restore(header, arrays)
        self.grid["max_pending"] = max_pending
        max_gap, repeat = int(self.grid[0]["max_gap"]), int(self.grid[0]["repeat"])
        self._set_timing()
        self.repeat_within(repeat)
        self.allow_gap(max_gap)

    def _run(self, kernel: Callable[..., int]) -> Iterator[Entries]:
        """Run a kernel until nothing is left."""
        if self._output.values.shape[1] != len(self.columns):
            self._output = _room_for(len(self._output), len(self.columns))
        ticks, values, sources = self._output.ticks, self._output.values, self._output.sources
        while True:
            why = kernel(self.held, (ticks, values, sources))
            n_entries = self.grid["n_entries"].item()
            if n_entries:
                self.grid["n_entries"] = 0
                yield self._output[:n_entries]
            if why == _grid.DONE:
                return
            if why == _grid.FULL:
                self.make_room()

    def _set_timing(self) -> None:
        timing, grid = self.timing, self.grid
        grid["period"], grid["max_gap"], grid["ahead"] = timing.period, timing.max_gap, timing.ahead
        grid["lateness"], grid["overtaking"] = timing.lateness, timing.time.overtaking
        grid["repeat"] = timing.repeat
        grid["grace"], grid["least_patience"] = timing.grace, timing.least_patience


def _room_for(n_entries: int, n_columns: int) -> Entries:
    """Return room for entries; kernels write all that is read."""
    shape = n_entries, n_columns
    return Entries(np.empty(n_entries, dtype=_grid.ENTRY), np.empty(shape), np.empty(shape, dtype=np.int64))

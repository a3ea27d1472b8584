"""From single readings to samples: one for each stream and tick, on a grid in event time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from feature_extractors.report import split_channel
from streamfs.base.growable_array import append_rows, rows_to_reserve
from streamfs.gateway.core import _grid
from streamfs.gateway.core._grid import FOREVER, NONE
from streamfs.gateway.core.options import Limits, Options, Time
from streamfs.gateway.core.reading_buffer import ReadingBuffer

RowNumbers = npt.NDArray[np.int64]
MAX_GAP = 10_000
"""Ticks without a reading that are emitted one by one, however long episodes are."""

Structured = npt.NDArray[Any]
"""Records of one of the types in `streamfs.gateway.core._grid`."""


@dataclass(frozen=True)
class Timing:
    """How readings are put on the grid, a tick every `period` seconds.

    After `max_gap` ticks without a reading the grid jumps to the next tick that has one, or to the watermark. A
    stamp may be `ahead` seconds ahead of the newest before its message, and a tick more for each sample of that
    before it; one further ahead is refused, unless no reading came during the grace, and then only once in a
    message.
    """

    period: float
    time: Time = field(default_factory=Time)
    max_gap: int = MAX_GAP
    ahead: float = inf

    def __post_init__(self) -> None:
        _check_range("period", self.period, 1e-6)
        _check_range("max_gap", self.max_gap, 0)
        if not self.ahead > 0:
            raise ValueError(f"ahead is {self.ahead}, expected more than 0")

    @classmethod
    def of(cls, options: Options, period: float, time_limit: int) -> Self:
        """Return the timing for a period in seconds, and episodes of at most ``time_limit`` ticks."""
        max_gap = min(time_limit, MAX_GAP)  # after that many ticks without a reading, no episode is open
        return cls(period, options.time, max_gap, options.limits.ahead * period)

    @property
    def lateness(self) -> float:
        """Seconds that a reading may lag behind the newest."""
        return 2 * self.period if self.time.lateness is None else self.time.lateness


class Joiner:
    """Put readings on a grid in event time, and show the value of each channel at a tick.

    A stamp belongs to the nearest tick. A tick is due once the watermark, ``lateness`` seconds behind the newest
    stamp, has passed all the stamps that belong to it. So the order of arrival makes no difference as long as no
    reading is later than that, and none overtakes an earlier one of its channel by more than ``overtaking``.

    A column that is sent every tick has the value stamped at that very tick. A column under any other report
    policy holds the newest value, but no longer than its longest silence, and not over a gap: when the sequence
    number of the channel's next reading, already received, shows that one between is missing. A missing reading is
    either lost or overtaken, and the joiner cannot tell which: with ``overtaking`` at 0 it counts as lost at once,
    which makes the column NaN for some ticks too many if readings do overtake; with a large value a loss is
    noticed late, and the old value is held for some ticks too many.

    A reading is a duplicate if its sequence number has come before on its channel, or without a number, if its
    tick has; the last 64 numbers are remembered, and older ones count as known. A number that has come before with
    a newer stamp means that the node has restarted its count. A reading that is too late is counted; it still
    becomes the held value of its column if it is the newest there. Readings that share a tick are crowded: a
    channel that holds its value shows the last of them, one that is sent every tick the first.

    If event time is the wall clock's, a stamp is valid if it is not later than its arrival by more than a tick,
    nor earlier than ``max_delay``. The stamps of a node whose clock is off are moved by the lower envelope of
    arrival minus stamp; one that is more than a tick off that is replaced by its arrival. Both are counted as
    skewed.

    A tick costs a pass over the slots (channels of nodes) and over the columns of the streams that are shown; a
    resting node costs some hundred bytes for each channel. At most `max_pending` readings wait; more are dropped.
    """

    def __init__(self, channels: Sequence[str], timing: Timing, max_pending: int = Limits.pending) -> None:
        self.timing = timing
        self._set_channels(channels)
        self._counts = np.zeros(len(_grid.COUNTS), dtype=np.int64)
        self._grid = _new_grid(timing, max_pending)
        self._free_nodes: list[int] = []
        self._n_nodes = 0
        self.nodes: Structured = np.zeros(0, dtype=_grid.NODE)
        self._slots: Structured = np.zeros(0, dtype=_grid.SLOT)
        self._heads = np.zeros(0, dtype=np.int32)
        self._pages: Structured = np.zeros(0, dtype=_grid.PAGE)
        self._pending: Structured = np.zeros(0, dtype=_grid.PENDING)
        self._free = np.zeros(0, dtype=np.int32)

    @property
    def counters(self) -> Counter[str]:
        """What was noticed, by name."""
        return Counter(dict(zip(_grid.COUNTS, self._counts.tolist(), strict=True)))

    @property
    def newest(self) -> float | None:
        """The newest stamp, in seconds; None before the first."""
        newest = float(self._grid[0]["newest"])
        return newest if isfinite(newest) else None

    @property
    def now(self) -> float | None:
        """Time of the last tick that was emitted or skipped, in seconds; None before the first."""
        tick = int(self._grid[0]["next_tick"])
        return None if tick == FOREVER else (tick - 1) * self.timing.period

    @property
    def n_pending(self) -> int:
        """Number of readings that wait for their tick."""
        return int(self._grid[0]["n_pending"])

    def add_node(self) -> int:
        """Add a node, and return its number."""
        if self._free_nodes:
            return self._free_nodes.pop()
        if self._n_nodes == len(self.nodes):
            self._grow_nodes()
        self._n_nodes += 1
        return self._n_nodes - 1

    def remove_node(self, node: int) -> None:
        """Forget a node; its number will be used again."""
        first = node * len(self.channels)
        _grid.forget(
            self._grid, self._slots, self._heads, self._pages, self._free, first, first + len(self.channels)
        )
        self.nodes[node] = _new_node()
        self._free_nodes.append(node)

    def hold_no_more(self, slots: Sequence[int]) -> None:
        """Show nothing for some slots until a new reading arrives."""
        self._slots["value"][slots], self._slots["tick"][slots] = np.nan, -_grid.FOREVER

    def slot(self, node: int, channel: str) -> int:
        """Return the slot of a node's channel; -1 for an unknown channel."""
        number = self._number_of.get(channel, NONE)
        return NONE if number == NONE else node * len(self.channels) + number

    def place(self, slot: int) -> tuple[int, str]:
        """Return the node and the channel of a slot."""
        node, number = divmod(slot, len(self.channels))
        return node, self.channels[number]

    def take(self, readings: ReadingBuffer) -> bool:
        """Take readings until a tick is due, and return True; else False, once all are taken."""
        parts, values, times, cursor = readings.columns
        while True:
            why = _grid.take(*self._arrays, self.nodes, self._counts, parts, values, times, cursor)
            if why != _grid.FULL:
                return bool(why == _grid.DUE)
            self._add_pages()

    def ticks(self, watermark: float | None = None) -> Iterator[int]:
        """Emit the ticks before a watermark, in seconds; by default `lateness` behind the newest stamp."""
        newest = self.newest
        if newest is None:
            return
        end = self.tick_of(newest - self.timing.lateness if watermark is None else watermark)
        yield from self._emit(end)

    def flush(self) -> Iterator[int]:
        """Emit the ticks up to the newest stamp, without waiting for late readings."""
        newest = self.newest
        if newest is not None:
            yield from self._emit(self.tick_of(newest) + 1)

    def tick_of(self, time: float) -> int:
        """Return the tick that is nearest to a time."""
        return int(_grid.tick_of(time, self.timing.period))

    def show(
        self, tick: int, slots_of_row: npt.NDArray[np.int32], rows: RowNumbers, max_ages: RowNumbers
    ) -> Array:
        """Return the values at the tick emitted last, shape (n_rows, n_columns); NaN for none.

        `max_ages` are the ticks for which each column holds a value, 0 if it is sent every tick.
        """
        samples = np.empty((len(rows), len(max_ages)))
        settled = self._grid[0]["settled"]
        _grid.show(self._slots, slots_of_row, rows, max_ages, tick, settled, samples)
        return samples

    def marks(self) -> Iterator[tuple[int, str, int, float]]:
        """Yield node, channel, highest sequence number and newest stamp of each slot that has numbers."""
        numbered = (self._slots["numbered"] != 0) & (self._slots["mark"] != _grid.UNMARKED)
        for slot in np.flatnonzero(numbered).tolist():
            node, channel = self.place(slot)
            yield node, channel, int(self._slots["mark"][slot]), float(self._slots["newest"][slot])

    def to_state(self) -> tuple[dict[str, Any], dict[str, Structured]]:
        """Copy the state into a JSON header and arrays."""
        header = {"channels": self.channels, "free_nodes": list(self._free_nodes), "n_nodes": self._n_nodes}
        used = self._n_nodes * len(self.channels)
        grid = self._grid.copy()
        for name in _grid.OF_MESSAGES:
            grid[name] = NONE
        arrays = {
            "grid": grid,
            "counts": self._counts.copy(),
            "nodes": self.nodes[: self._n_nodes].copy(),
            "slots": self._slots[:used].copy(),
            "heads": self._heads[:used].copy(),
            "pages": self._pages.copy(),
            "pending": self._pending.copy(),
            "free": self._free.copy(),
        }
        return header, arrays

    def restore(self, header: dict[str, Any], arrays: dict[str, Structured]) -> None:
        """Restore what `to_state` has copied, keeping this joiner's timing."""
        self._set_channels(header["channels"])
        self._free_nodes, self._n_nodes = list(header["free_nodes"]), header["n_nodes"]
        max_pending, self._grid = self._grid["max_pending"], arrays["grid"]
        max_gap = int(self._grid[0]["max_gap"])
        self._grid["max_pending"] = max_pending
        _set_timing(self._grid, self.timing)
        self.allow_gap(max_gap)
        self._counts, self.nodes = arrays["counts"], arrays["nodes"]
        self._slots, self._heads = arrays["slots"], arrays["heads"]
        self._pages, self._pending, self._free = arrays["pages"], arrays["pending"], arrays["free"]

    def allow_gap(self, n_ticks: int) -> None:
        """Emit at least `n_ticks` ticks without a reading before the grid jumps."""
        self._grid["max_gap"] = max(n_ticks, int(self._grid[0]["max_gap"]))

    def widen(self, channels: Sequence[str]) -> None:
        """Make room for more channels on every node; the numbers of slots change, those of nodes stay."""
        old = len(self.channels)
        self._set_channels((*self.channels, *channels))
        if len(self.channels) == old:
            return
        slots, heads = _new_slots(len(self.nodes), self._holds)
        slots.reshape(-1, len(self.channels))[:, :old] = self._slots.reshape(-1, old)
        heads.reshape(-1, len(self.channels))[:, :old] = self._heads.reshape(-1, old)
        self._slots, self._heads = slots, heads

    def _set_channels(self, channels: Sequence[str]) -> None:
        self.channels = tuple(dict.fromkeys(channels))
        self._number_of = {channel: number for number, channel in enumerate(self.channels)}
        self._holds = [split_channel(channel)[1].holds for channel in self.channels]

    def _emit(self, end: int) -> Iterator[int]:
        while True:
            tick = int(_grid.emit(*self._arrays, self._counts, end))
            if tick == FOREVER:
                return
            yield tick

    @property
    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that the kernels work on."""
        return self._grid, self._slots, self._heads, self._pages, self._pending, self._free

    def _grow_nodes(self) -> None:
        more = rows_to_reserve(len(self.nodes))
        slots, heads = _new_slots(more, self._holds)
        self.nodes = append_rows(self.nodes, np.full(more, _new_node()))
        self._slots = append_rows(self._slots, slots)
        self._heads = append_rows(self._heads, heads)

    def _add_pages(self) -> None:
        """Add pages when none is free."""
        used = len(self._pages)
        more = min(max(64, used), int(self._grid[0]["max_pending"]) - used)
        self._pages = append_rows(self._pages, np.zeros(more, dtype=_grid.PAGE))
        self._pending = append_rows(self._pending, np.zeros(more * _grid.TICKS, dtype=_grid.PENDING))
        self._free = append_rows(self._free, np.zeros(more, dtype=np.int32))
        self._free[:more] = np.arange(used + more, used, -1) - 1
        self._grid["n_free"] = more


def _new_grid(timing: Timing, max_pending: int) -> Structured:
    grid: Structured = np.zeros(1, dtype=_grid.GRID)
    grid["newest"], grid["arrival"] = np.nan, -inf
    grid["next_tick"] = grid["first"] = FOREVER
    grid["max_pending"] = max_pending
    for name in _grid.OF_MESSAGES:
        grid[name] = NONE
    _set_timing(grid, timing)
    return grid


def _set_timing(grid: Structured, timing: Timing) -> None:
    time = timing.time
    grid["period"], grid["max_gap"], grid["ahead"] = timing.period, timing.max_gap, timing.ahead
    grid["lateness"], grid["overtaking"], grid["patience"] = timing.lateness, time.overtaking, time.grace
    grid["on_wall"], grid["max_delay"] = time.clock == "wall", time.max_delay
    newest, period = float(grid[0]["newest"]), timing.period
    if isfinite(newest):
        grid["due"] = _grid.tick_of(newest - timing.lateness, period)
        grid["settled"] = _grid.tick_of(newest - time.overtaking, period)
    else:
        grid["due"] = grid["settled"] = -FOREVER


def _new_node() -> Any:
    return np.array((0.0, 0, 0, np.nan, 0.0), dtype=_grid.NODE)


def _new_slots(n_nodes: int, holds: Sequence[bool]) -> tuple[Structured, npt.NDArray[np.int32]]:
    slots: Structured = np.zeros(n_nodes * len(holds), dtype=_grid.SLOT)
    for name, value in (("value", np.nan), ("tick", -FOREVER), ("sequence", NONE), ("gap_end", FOREVER)):
        slots[name] = value
    slots["mark"], slots["newest"], slots["tail"] = _grid.UNMARKED, np.nan, NONE
    slots["holds"] = np.tile(np.array(holds, dtype=np.uint8), n_nodes)
    return slots, np.full(len(slots), NONE, dtype=np.int32)


def _check_range(name: str, value: float, lowest: float) -> None:
    if not (isfinite(value) and value >= lowest):
        raise ValueError(f"{name} is {value}, expected at least {lowest}")

"""From single readings to samples: one for each tick of a stream, on a grid in event time."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from feature_extractors.report import split_channel
from streamfs.base.growable_array import append_rows, rows_to_reserve
from streamfs.gateway.core import _grid
from streamfs.gateway.core._duplicates import SLOT, UNMARKED, has_come
from streamfs.gateway.core._node_time import NODE
from streamfs.gateway.core._said import MOST, SAID, WIDTH
from streamfs.gateway.core._thinned import POLICY, packed
from streamfs.gateway.core._waiting import CELL, FOREVER, NONE, PAGE, PENDING, TICKS
from streamfs.gateway.core.options import Limits
from streamfs.gateway.core.reading_buffer import ReadingBuffer
from streamfs.gateway.core.timing import Timing
from streamfs.gateway.messages.codecs import Reading

AT_ONCE = 4096
"""Entries that are handed over together."""

_ALONE = np.zeros(1, dtype=np.int64)
"""The places of a single entry."""

Structured = npt.NDArray[Any]
"""Records of one of the types of the kernels."""

WAITING_READING = np.dtype([("cell", "i8"), ("tick", "i8"), *PENDING.descr])
"""A reading that waits, for another joiner."""

_LINKS = ("cell", "slot", "node", "next", "head", "tail", "row")
_OF_A_SLOT = tuple(name for name in SLOT.names or () if name not in _LINKS)
_OF_A_CELL = tuple(name for name in CELL.names or () if name not in _LINKS)
"""What is held in a slot and a cell, but not where."""


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


class Joiner:
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
        self.timing = timing
        self._at_once = at_once
        self._set_names(channels, columns)
        self._counts = np.zeros(len(_grid.COUNTS), dtype=np.int64)
        self._grid = _new_grid(timing, max_pending, len(self.columns))
        self._free_nodes: list[int] = []
        self._free_streams: list[int] = []
        self._n_nodes = self._n_streams = 0
        self.nodes: Structured = np.zeros(0, dtype=NODE)
        self.streams: Structured = np.zeros(0, dtype=_grid.STREAM)
        self.slots: Structured = np.zeros(0, dtype=SLOT)
        self.cells: Structured = np.zeros(0, dtype=CELL)
        self._pages: Structured = np.zeros(0, dtype=PAGE)
        self._pending: Structured = np.zeros(0, dtype=PENDING)
        self._free = np.zeros(0, dtype=np.int32)
        self._said: Structured = np.zeros(WIDTH, dtype=SAID)

    @property
    def counters(self) -> Counter[str]:
        """What was noticed, by name."""
        return Counter(dict(zip(_grid.COUNTS, self._counts.tolist(), strict=True)))

    @property
    def n_pending(self) -> int:
        """Number of readings that wait for their tick."""
        return int(self._grid[0]["n_pending"])

    @property
    def n_nodes(self) -> int:
        """Number of nodes, those that were removed included, whose numbers will be used again."""
        return self._n_nodes

    @property
    def silence(self) -> float:
        """Time up to which silence is proved, in seconds since 1970; -inf before the first."""
        return float(self._grid[0]["silence"])

    @property
    def latest(self) -> float:
        """Arrival of the newest reading, or of the silence since, in seconds since 1970; -inf before the first."""
        heard = self.nodes["heard"]
        return max(self.silence, float(heard[heard == heard].max(initial=-inf)))  # noqa: PLR0124 - NaN before any

    def add_node(self) -> int:
        """Add a node, and return its number."""
        if self._free_nodes:
            return self._free_nodes.pop()
        if self._n_nodes == len(self.nodes):
            more = rows_to_reserve(len(self.nodes))
            self.nodes = append_rows(self.nodes, _new_nodes(more))
            self.slots = append_rows(self.slots, _new_slots(more * len(self.channels)))
        self._n_nodes += 1
        return self._n_nodes - 1

    def remove_node(self, node: int) -> None:
        """Forget a node that feeds no stream; its number will be used again."""
        first, last = node * len(self.channels), (node + 1) * len(self.channels)
        self.slots[first:last] = _new_slots(len(self.channels))
        self.nodes[node : node + 1] = _new_nodes(1)
        self._free_nodes.append(node)

    def add_stream(self, slots: Mapping[str, int]) -> int:
        """Add a stream, given the slots that feed its columns, and return its number."""
        if self._free_streams:
            stream = self._free_streams.pop()
        else:
            stream = self._n_streams
            self._n_streams += 1
            if stream == len(self.streams):
                more = rows_to_reserve(len(self.streams))
                self.streams = append_rows(self.streams, _new_streams(more))
                self.cells = append_rows(self.cells, _new_cells(more, self._holds))
        self.streams["is_used"][stream] = 1
        self.feed_columns(stream, slots)
        return stream

    def feed_columns(self, stream: int, slots: Mapping[str, int]) -> None:
        """Let slots feed the columns of a stream that have none yet; a value held elsewhere is held here too."""
        for column, slot in slots.items():
            index = stream * len(self.columns) + self._number_of_column[column]
            cell = self.cells[index]
            if cell["slot"] == NONE:
                cell["slot"], cell["node"] = slot, slot // len(self.channels)
                first = self._link(index, slot)
                cell["lead"] = self._lead(stream, cell["node"])
                if first != index:
                    self._hold_as(cell, self.cells[first])

    def _hold_as(self, cell: np.void, held: np.void) -> None:
        """Hold in a cell what another one holds that the same slot feeds."""
        cell["value"], cell["sequence"] = held["value"], held["sequence"]
        for tick in ("tick", "raw_tick"):
            cell[tick] = held[tick] + held["lead"] - cell["lead"]
        cell["raw"] = held["raw"]
        cell["holds"] = (cell["holds"] & 1) | (held["holds"] & 254)

    def remove_stream(self, stream: int) -> None:
        """Forget a stream; its number will be used again."""
        _grid.forget(self._held, stream)
        first, last = stream * len(self.columns), (stream + 1) * len(self.columns)
        for index in range(first, last):
            if self.cells["slot"][index] != NONE:
                self._unlink(index)
        self.cells[first:last] = _new_cells(1, self._holds)
        self.streams[stream : stream + 1] = _new_streams(1)
        self._free_streams.append(stream)

    def slot(self, node: int, channel: str) -> int:
        """Return the slot of a node's channel; -1 for an unknown channel."""
        number = self._number_of.get(channel, NONE)
        return NONE if number == NONE else node * len(self.channels) + number

    def slots_of(self, stream: int, columns: Integers) -> list[int]:
        """Return the slots that feed columns of a stream, by their numbers."""
        slots: list[int] = self.cells["slot"][stream * len(self.columns) + columns].tolist()
        return slots

    def place(self, slot: int) -> tuple[int, str]:
        """Return the node and the channel of a slot."""
        node, number = divmod(slot, len(self.channels))
        return node, self.channels[number]

    def columns_of(self, columns: Sequence[str]) -> Integers:
        """Return the numbers of some columns."""
        return np.array([self._number_of_column[column] for column in columns], dtype=np.int64)

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
        self._grid["silence"] = max(silence, self.silence)
        cursor = np.zeros(1, dtype=np.int64)
        yield from self._run(lambda held, output: _grid.let_time_pass(held, output, cursor))

    def resume(self, now: float) -> Iterator[Entries]:
        """Begin another run at a time, in seconds since 1970: the pause before it is no silence, however long.

        Arrivals are moved so that what was proved of each node's silence stays, and nothing else counts. Delays
        are estimated anew, since the clock may have been set. The time of a node without stamps is that of its
        arrivals: of its streams, yield the ticks before the pause, which itself has none.
        """
        if self._grid[0]["unstamped"]:
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
            self._grid["silence"] = now

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

    def to_state(self) -> tuple[dict[str, Any], dict[str, Structured]]:
        """Copy the state into a JSON header and arrays."""
        header = {
            "channels": self.channels,
            "columns": self.columns,
            "free_nodes": list(self._free_nodes),
            "free_streams": list(self._free_streams),
            "n_nodes": self._n_nodes,
            "n_streams": self._n_streams,
        }
        grid = self._grid.copy()
        for name in _grid.PASSING:
            grid[name] = NONE
        arrays = {
            "grid": grid,
            "counts": self._counts.copy(),
            "nodes": self.nodes[: self._n_nodes].copy(),
            "slots": self.slots[: self._n_nodes * len(self.channels)].copy(),
            "streams": self.streams[: self._n_streams].copy(),
            "cells": self.cells[: self._n_streams * len(self.columns)].copy(),
            "pages": self._pages.copy(),
            "pending": self._pending.copy(),
            "free": self._free.copy(),
            "said": self._said.copy(),
        }
        return header, arrays

    def restore(self, header: dict[str, Any], arrays: dict[str, Structured]) -> None:
        """Restore what `to_state` has copied, keeping this joiner's timing."""
        self._set_names(header["channels"], header["columns"])
        self._free_nodes, self._n_nodes = list(header["free_nodes"]), header["n_nodes"]
        self._free_streams, self._n_streams = list(header["free_streams"]), header["n_streams"]
        max_pending, self._grid = self._grid["max_pending"], arrays["grid"]
        max_gap = int(self._grid[0]["max_gap"])
        self._grid["max_pending"] = max_pending
        repeat = int(self._grid[0]["repeat"])
        _set_timing(self._grid, self.timing)
        self.repeat_within(repeat)
        self.allow_gap(max_gap)
        self._counts, self.nodes, self.slots = arrays["counts"], arrays["nodes"], arrays["slots"]
        self.streams, self.cells = arrays["streams"], arrays["cells"]
        self._pages, self._pending, self._free = arrays["pages"], arrays["pending"], arrays["free"]
        self._said = arrays["said"]

    def part_of(self, nodes: Sequence[int], streams: Sequence[int]) -> dict[str, Structured]:
        """Copy what is held of some nodes and streams, for `place_part` of another joiner.

        What unstamped numbers said is not: of a device that numbers anew, the next life may be left out.
        """
        width = len(self.columns)
        cells = [index for stream in streams for index in range(stream * width, (stream + 1) * width)]
        waiting = [(place, *each) for place, index in enumerate(cells) for each in self._waiting_in(index)]
        slots = self.slots.reshape(-1, len(self.channels))[list(nodes)].ravel()
        slots["row"] = 0
        return {
            "grid": self._grid.copy(),
            "nodes": self.nodes[list(nodes)],
            "slots": slots,
            "streams": self.streams[list(streams)],
            "cells": self.cells[cells],
            "waiting": np.array(waiting, dtype=WAITING_READING),
        }

    def place_part(
        self,
        part: Mapping[str, Structured],
        names: tuple[Sequence[str], Sequence[str]],
        nodes: Sequence[int],
        streams: Sequence[int],
    ) -> None:
        """Go on with nodes and streams that were added here, as another joiner held them.

        `names` are its channels and columns. What was proved there of each node's silence stays.
        """
        channels = [self._number_of.get(name, NONE) for name in names[0]]
        columns = [self._number_of_column.get(name, NONE) for name in names[1]]
        since = self.silence - float(part["grid"][0]["silence"])
        self._grid["thins"] |= part["grid"]["thins"]
        self._grid["unstamped"] |= part["grid"]["unstamped"]
        self.nodes[list(nodes)] = _moved(part["nodes"], since, "heard", "live")
        self.streams[list(streams)] = _moved(part["streams"], since, "begun")
        self.streams["n_waiting"][list(streams)] = 0
        slots = part["slots"].reshape(-1, len(channels))
        for node, of_node in zip(nodes, slots, strict=True):
            for number, slot in zip(channels, of_node, strict=True):
                if number != NONE:
                    for name in _OF_A_SLOT:
                        self.slots[name][node * len(self.channels) + number] = slot[name]
        for place, cell in enumerate(part["cells"]):
            stream, number = streams[place // len(columns)], columns[place % len(columns)]
            if number != NONE and cell["slot"] != NONE:
                for name in _OF_A_CELL:
                    self.cells[name][stream * len(self.columns) + number] = cell[name]
        for place, tick, *reading in part["waiting"].tolist():
            stream, number = streams[place // len(columns)], columns[place % len(columns)]
            if number != NONE:
                self._let_wait(stream, number, tick, tuple(reading))

    def allow_gap(self, n_ticks: int) -> None:
        """Emit at least `n_ticks` ticks without a reading before a stream jumps."""
        self._grid["max_gap"] = max(n_ticks, int(self._grid[0]["max_gap"]))

    def repeat_within(self, n_ticks: int) -> None:
        """Let values that are thinned here hold for at most `n_ticks` ticks."""
        self._grid["repeat"] = min(n_ticks, int(self._grid[0]["repeat"]))

    def widen(self, channels: Sequence[str], columns: Sequence[str]) -> None:
        """Make room for more channels and columns; slots get other numbers, nodes and streams do not."""
        n_channels, n_columns = len(self.channels), len(self.columns)
        if self._number_of.keys() >= {*channels} and self._number_of_column.keys() >= {*columns}:
            return
        self._set_names((*self.channels, *channels), (*self.columns, *columns))
        slots = _new_slots(len(self.nodes) * len(self.channels))
        slots.reshape(-1, len(self.channels))[:, :n_channels] = self.slots.reshape(-1, n_channels)
        cells = _new_cells(len(self.streams), self._holds)
        cells.reshape(-1, len(self.columns))[:, :n_columns] = self.cells.reshape(-1, n_columns)
        for links in (cells["next"], slots["cell"]):
            links[:] = _renumbered(links, n_columns, len(self.columns))
        cells["slot"] = _renumbered(cells["slot"], n_channels, len(self.channels))
        owners = self._said["value"][WIDTH - 1 :: WIDTH]
        owners[:] = owners // n_channels * len(self.channels) + owners % n_channels
        self.slots, self.cells = slots, cells
        self._grid["n_columns"] = len(self.columns)

    def _set_names(self, channels: Sequence[str], columns: Sequence[str]) -> None:
        self.channels, self.columns = tuple(dict.fromkeys(channels)), tuple(dict.fromkeys(columns))
        self._number_of = {channel: number for number, channel in enumerate(self.channels)}
        self._number_of_column = {column: number for number, column in enumerate(self.columns)}
        policies = [split_channel(column)[1] for column in self.columns]
        self._holds = [policy.holds for policy in policies]
        self._policies = np.array([packed(policy) for policy in policies], dtype=POLICY)
        shape = self._at_once, len(self.columns)
        ticks: Structured = np.empty(self._at_once, dtype=_grid.ENTRY)
        self._output = ticks, np.empty(shape), np.empty(shape, dtype=np.int64)  # kernels write all that is read
        self._entries = Entries(*self._output)

    def _run(self, kernel: Callable[..., int]) -> Iterator[Entries]:
        """Run a kernel until nothing is left."""
        while True:
            why = kernel(self._held, self._output)
            n_entries = self._grid["n_entries"].item()
            if n_entries:
                self._grid["n_entries"] = 0
                yield self._entries[:n_entries]
            if why == _grid.DONE:
                return
            if why == _grid.FULL:
                self._make_room()

    @property
    def _held(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that the kernels work on."""
        of_nodes = self._grid, self._counts, self.nodes, self.slots
        of_cells = self.streams, self.cells, self._pages, self._pending, self._free, self._policies
        return (*of_nodes, *of_cells, self._said)

    def _lead(self, stream: int, node: int) -> int:
        """Return by how many ticks a node's clock is known to be ahead of that of a stream's first node."""
        cells = self.cells[stream * len(self.columns) : (stream + 1) * len(self.columns)]
        if not any(cells["lead"].tolist()):
            return 0
        leads = cells["lead"][(cells["slot"] != NONE) & (cells["node"] == node)]
        return int(leads[abs(leads).argmax()])

    def _link(self, index: int, slot: int) -> int:
        """Append a cell to those that a slot feeds; return the first of these."""
        cells, first, fan = self.cells, int(self.slots["cell"][slot]), 1
        if first == NONE:
            self.slots["cell"][slot] = index
            return index
        last = first
        while cells["next"][last] != NONE:
            last, fan = cells["next"][last], fan + 1
        cells["next"][last] = index
        self._grid["fan"] = max(fan + 1, int(self._grid[0]["fan"]))
        return first

    def _unlink(self, index: int) -> None:
        cells, slot = self.cells, self.cells["slot"][index]
        after = cells["next"][index]
        if self.slots["cell"][slot] == index:
            self.slots["cell"][slot] = after
        else:
            before = self.slots["cell"][slot]
            while cells["next"][before] != index:
                before = cells["next"][before]
            cells["next"][before] = after

    def _waiting_in(self, index: int) -> Iterator[tuple[int, float, int, int]]:
        """Yield tick, value, and first and last number of the readings that wait in a cell, in order."""
        link = int(self.cells["head"][index])
        while link != NONE:
            number, link_after, waiting = self._pages[link].tolist()
            for place in range(TICKS):
                if waiting >> place & 1:
                    yield number * TICKS + place, *self._pending[link * TICKS + place].tolist()
            link = link_after

    def _let_wait(self, stream: int, column: int, tick: int, reading: tuple[float, int, int]) -> None:
        """Let a reading wait that comes after all that wait in its cell."""
        cell = self.cells[stream * len(self.columns) + column]
        number, place = divmod(tick, TICKS)
        link = NONE if cell["head"] == NONE else int(cell["tail"])
        if link == NONE or self._pages["number"][link] != number:
            if not self._grid[0]["n_free"]:
                self._add_pages()
            self._grid["n_free"] -= 1
            new = int(self._free[self._grid[0]["n_free"]])
            self._pages[new] = (number, NONE, 0)
            if link == NONE:
                cell["head"] = new
            else:
                self._pages["next"][link] = new
            cell["tail"] = link = new
        self._pages["waiting"][link] |= 1 << place
        self._pending[link * TICKS + place] = reading
        self.streams["n_waiting"][stream] += 1
        self._grid["n_pending"] += 1

    def _make_room(self) -> None:
        """Add pages, and rows of what was said under numbers, where too few are free."""
        if self._grid[0]["n_free"] < self._grid[0]["fan"]:
            self._add_pages()
        n_rows = len(self._said) // WIDTH
        if self._grid[0]["n_said"] == n_rows < MOST:
            more = min(n_rows, MOST - n_rows)
            self._said = append_rows(self._said, np.zeros(more * WIDTH, dtype=SAID))

    def _add_pages(self) -> None:
        """Add pages when too few are free."""
        used, n_free = len(self._pages), int(self._grid[0]["n_free"])
        more = max(64, used, int(self._grid[0]["fan"]))
        self._pages = append_rows(self._pages, np.zeros(more, dtype=PAGE))
        self._pending = append_rows(self._pending, np.zeros(more * TICKS, dtype=PENDING))
        self._free = append_rows(self._free, np.zeros(more, dtype=np.int32))
        self._free[n_free : n_free + more] = np.arange(used + more, used, -1) - 1
        self._grid["n_free"] = n_free + more


def _moved(records: Structured, since: float, *arrivals: str) -> Structured:
    """Return records with their arrivals as long before the silence here as they were before it elsewhere."""
    moved = records.copy()
    if isfinite(since):
        for name in arrivals:
            moved[name] += since
    return moved


def _renumbered(numbers: npt.NDArray[np.int32], before: int, after: int) -> npt.NDArray[np.int32]:
    """Return places in a table that has another number of columns than before; NONE stays."""
    moved = numbers // before * after + numbers % before
    return np.where(numbers == NONE, np.int32(NONE), moved).astype(np.int32)


def _new_grid(timing: Timing, max_pending: int, n_columns: int) -> Structured:
    grid: Structured = np.zeros(1, dtype=_grid.GRID)
    grid["silence"] = -inf
    grid["max_pending"], grid["n_columns"], grid["fan"] = max_pending, n_columns, 1
    for name in _grid.PASSING:
        grid[name] = NONE
    _set_timing(grid, timing)
    return grid


def _set_timing(grid: Structured, timing: Timing) -> None:
    time = timing.time
    grid["period"], grid["max_gap"], grid["ahead"] = timing.period, timing.max_gap, timing.ahead
    grid["lateness"], grid["overtaking"] = timing.lateness, time.overtaking
    grid["repeat"] = timing.repeat
    grid["grace"], grid["least_patience"] = timing.grace, timing.least_patience


def _new_nodes(n: int) -> Structured:
    nodes: Structured = np.zeros(n, dtype=NODE)
    nodes["heard"] = nodes["newest"] = nodes["lowest"] = np.nan
    return nodes


def _new_slots(n: int) -> Structured:
    slots: Structured = np.zeros(n, dtype=SLOT)
    slots["mark"], slots["newest"], slots["cell"] = UNMARKED, np.nan, NONE
    return slots


def _new_streams(n: int) -> Structured:
    streams: Structured = np.zeros(n, dtype=_grid.STREAM)
    streams["time"], streams["begun"], streams["next_tick"], streams["rest"] = -inf, np.nan, FOREVER, _grid.AWAKE
    return streams


def _new_cells(n_streams: int, holds: Sequence[bool]) -> Structured:
    cells: Structured = np.zeros(n_streams * len(holds), dtype=CELL)
    empty = {"value": np.nan, "raw": np.nan, "sequence": NONE, "gap_end": FOREVER}
    empty |= dict.fromkeys(("tick", "raw_tick", "since"), -FOREVER)
    for name, value in (empty | dict.fromkeys(("slot", "node", "next", "head", "tail", "phase"), NONE)).items():
        cells[name] = value
    cells["holds"] = np.tile(np.array(holds, dtype=np.uint8), n_streams)
    return cells

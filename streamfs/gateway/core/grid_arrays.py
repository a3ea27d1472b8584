"""Nodes, streams, and the slots and cells between them, as the arrays that the kernels of the grid work on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers
from feature_extractors.report import split_channel
from streamfs.base.growable_array import append_rows, rows_to_reserve
from streamfs.gateway.core import _grid
from streamfs.gateway.core._duplicates import SLOT, UNMARKED
from streamfs.gateway.core._node_time import NODE
from streamfs.gateway.core._said import MOST, SAID, WIDTH
from streamfs.gateway.core._thinned import POLICY, packed
from streamfs.gateway.core._waiting import CELL, FOREVER, NONE, PAGE, PENDING, TICKS

Structured = npt.NDArray[Any]
"""Records of one of the types of the kernels."""


class GridArrays:
    """The nodes, each with a slot for each channel, and the streams, each with a cell for each column.

    A slot feeds the cells of any streams. Nodes and streams have numbers; those of what is removed are used again.
    `nodes` and `streams` have shape (n_reserved,) each, `slots` (n_reserved nodes * n_channels,), and `cells`
    (n_reserved streams * n_columns,), in the order of the numbers.
    """

    def __init__(self, channels: Sequence[str], columns: Sequence[str]) -> None:
        self._set_names(channels, columns)
        self.counts = np.zeros(len(_grid.COUNTS), dtype=np.int64)
        self.grid: Structured = np.zeros(1, dtype=_grid.GRID)
        self.grid["silence"] = -inf
        self.grid["n_columns"], self.grid["fan"] = len(self.columns), 1
        for name in _grid.PASSING:
            self.grid[name] = NONE
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
        return Counter(dict(zip(_grid.COUNTS, self.counts.tolist(), strict=True)))

    @property
    def n_pending(self) -> int:
        """Number of readings that wait for their tick."""
        return int(self.grid[0]["n_pending"])

    @property
    def silence(self) -> float:
        """Time up to which silence is proved, in seconds since 1970; -inf before the first."""
        return float(self.grid[0]["silence"])

    @property
    def n_nodes(self) -> int:
        """Number of nodes, those that were removed included, whose numbers will be used again."""
        return self._n_nodes

    def add_node(self) -> int:
        """Add a node, and return its number."""
        if self._free_nodes:
            return self._free_nodes.pop()
        if self._n_nodes == len(self.nodes):
            more = rows_to_reserve(len(self.nodes))
            self.nodes = append_rows(self.nodes, _nodes(more))
            self.slots = append_rows(self.slots, _slots(more * len(self.channels)))
        self._n_nodes += 1
        return self._n_nodes - 1

    def remove_node(self, node: int) -> None:
        """Forget a node that feeds no stream; its number will be used again."""
        first, last = node * len(self.channels), (node + 1) * len(self.channels)
        self.slots[first:last] = _slots(len(self.channels))
        self.nodes[node : node + 1] = _nodes(1)
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
                self.streams = append_rows(self.streams, _streams(more))
                self.cells = append_rows(self.cells, _cells(more, self._holds))
        self.streams["is_used"][stream] = 1
        self.feed_columns(stream, slots)
        return stream

    def feed_columns(self, stream: int, slots: Mapping[str, int]) -> None:
        """Let slots feed the columns of a stream that have none yet; a value held elsewhere is held here too."""
        for column, slot in slots.items():
            index = stream * len(self.columns) + self.number_of_column[column]
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
        _grid.forget(self.held, stream)
        first, last = stream * len(self.columns), (stream + 1) * len(self.columns)
        for index in range(first, last):
            if self.cells["slot"][index] != NONE:
                self._unlink(index)
        self.cells[first:last] = _cells(1, self._holds)
        self.streams[stream : stream + 1] = _streams(1)
        self._free_streams.append(stream)

    def slot(self, node: int, channel: str) -> int:
        """Return the slot of a node's channel; -1 for an unknown channel."""
        number = self.number_of_channel.get(channel, NONE)
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
        return np.array([self.number_of_column[column] for column in columns], dtype=np.int64)

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
        grid = self.grid.copy()
        for name in _grid.PASSING:
            grid[name] = NONE
        arrays = {
            "grid": grid,
            "counts": self.counts.copy(),
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
        """Restore what `to_state` has copied."""
        self._set_names(header["channels"], header["columns"])
        self._free_nodes, self._n_nodes = list(header["free_nodes"]), header["n_nodes"]
        self._free_streams, self._n_streams = list(header["free_streams"]), header["n_streams"]
        self.grid, self.counts = arrays["grid"], arrays["counts"]
        self.nodes, self.slots = arrays["nodes"], arrays["slots"]
        self.streams, self.cells = arrays["streams"], arrays["cells"]
        self._pages, self._pending, self._free = arrays["pages"], arrays["pending"], arrays["free"]
        self._said = arrays["said"]

    def widen(self, channels: Sequence[str], columns: Sequence[str]) -> None:
        """Make room for more channels and columns; slots get other numbers, nodes and streams do not."""
        n_channels, n_columns = len(self.channels), len(self.columns)
        if self.number_of_channel.keys() >= {*channels} and self.number_of_column.keys() >= {*columns}:
            return
        self._set_names((*self.channels, *channels), (*self.columns, *columns))
        slots = _slots(len(self.nodes) * len(self.channels))
        slots.reshape(-1, len(self.channels))[:, :n_channels] = self.slots.reshape(-1, n_channels)
        cells = _cells(len(self.streams), self._holds)
        cells.reshape(-1, len(self.columns))[:, :n_columns] = self.cells.reshape(-1, n_columns)
        for links in (cells["next"], slots["cell"]):
            links[:] = _renumbered(links, n_columns, len(self.columns))
        cells["slot"] = _renumbered(cells["slot"], n_channels, len(self.channels))
        owners = self._said["value"][WIDTH - 1 :: WIDTH]
        owners[:] = owners // n_channels * len(self.channels) + owners % n_channels
        self.slots, self.cells = slots, cells
        self.grid["n_columns"] = len(self.columns)

    def _set_names(self, channels: Sequence[str], columns: Sequence[str]) -> None:
        self.channels, self.columns = tuple(dict.fromkeys(channels)), tuple(dict.fromkeys(columns))
        self.number_of_channel = {channel: number for number, channel in enumerate(self.channels)}
        self.number_of_column = {column: number for number, column in enumerate(self.columns)}
        policies = [split_channel(column)[1] for column in self.columns]
        self._holds = [policy.holds for policy in policies]
        self._policies = np.array([packed(policy) for policy in policies], dtype=POLICY)

    @property
    def held(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that the kernels work on."""
        of_nodes = self.grid, self.counts, self.nodes, self.slots
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
        self.grid["fan"] = max(fan + 1, int(self.grid[0]["fan"]))
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

    def waiting_in(self, index: int) -> Iterator[tuple[int, float, int, int]]:
        """Yield tick, value, and first and last number of the readings that wait in a cell, in order."""
        link = int(self.cells["head"][index])
        while link != NONE:
            number, link_after, waiting = self._pages[link].tolist()
            for place in range(TICKS):
                if waiting >> place & 1:
                    yield number * TICKS + place, *self._pending[link * TICKS + place].tolist()
            link = link_after

    def let_wait(self, stream: int, column: int, tick: int, reading: tuple[float, int, int]) -> None:
        """Let a reading wait that comes after all that wait in its cell."""
        cell = self.cells[stream * len(self.columns) + column]
        number, place = divmod(tick, TICKS)
        link = NONE if cell["head"] == NONE else int(cell["tail"])
        if link == NONE or self._pages["number"][link] != number:
            if not self.grid[0]["n_free"]:
                self._add_pages()
            self.grid["n_free"] -= 1
            new = int(self._free[self.grid[0]["n_free"]])
            self._pages[new] = (number, NONE, 0)
            if link == NONE:
                cell["head"] = new
            else:
                self._pages["next"][link] = new
            cell["tail"] = link = new
        self._pages["waiting"][link] |= 1 << place
        self._pending[link * TICKS + place] = reading
        self.streams["n_waiting"][stream] += 1
        self.grid["n_pending"] += 1

    def make_room(self) -> None:
        """Add pages, and rows of what was said under numbers, where too few are free."""
        if self.grid[0]["n_free"] < self.grid[0]["fan"]:
            self._add_pages()
        n_rows = len(self._said) // WIDTH
        if self.grid[0]["n_said"] == n_rows < MOST:
            more = min(n_rows, MOST - n_rows)
            self._said = append_rows(self._said, np.zeros(more * WIDTH, dtype=SAID))

    def _add_pages(self) -> None:
        """Add pages when too few are free."""
        used, n_free = len(self._pages), int(self.grid[0]["n_free"])
        more = max(64, used, int(self.grid[0]["fan"]))
        self._pages = append_rows(self._pages, np.zeros(more, dtype=PAGE))
        self._pending = append_rows(self._pending, np.zeros(more * TICKS, dtype=PENDING))
        self._free = append_rows(self._free, np.zeros(more, dtype=np.int32))
        self._free[n_free : n_free + more] = np.arange(used + more, used, -1) - 1
        self.grid["n_free"] = n_free + more


def _renumbered(numbers: npt.NDArray[np.int32], before: int, after: int) -> npt.NDArray[np.int32]:
    """Return places in a table that has another number of columns than before; NONE stays."""
    moved = numbers // before * after + numbers % before
    return np.where(numbers == NONE, np.int32(NONE), moved).astype(np.int32)


def _nodes(n: int) -> Structured:
    nodes: Structured = np.zeros(n, dtype=NODE)
    nodes["heard"] = nodes["newest"] = nodes["lowest"] = np.nan
    return nodes


def _slots(n: int) -> Structured:
    slots: Structured = np.zeros(n, dtype=SLOT)
    slots["mark"], slots["newest"], slots["cell"] = UNMARKED, np.nan, NONE
    return slots


def _streams(n: int) -> Structured:
    streams: Structured = np.zeros(n, dtype=_grid.STREAM)
    streams["time"], streams["begun"], streams["next_tick"], streams["rest"] = -inf, np.nan, FOREVER, _grid.AWAKE
    return streams


def _cells(n_streams: int, holds: Sequence[bool]) -> Structured:
    cells: Structured = np.zeros(n_streams * len(holds), dtype=CELL)
    empty = {"value": np.nan, "raw": np.nan, "sequence": NONE, "gap_end": FOREVER}
    empty |= dict.fromkeys(("tick", "raw_tick", "since"), -FOREVER)
    for name, value in (empty | dict.fromkeys(("slot", "node", "next", "head", "tail", "phase"), NONE)).items():
        cells[name] = value
    cells["holds"] = np.tile(np.array(holds, dtype=np.uint8), n_streams)
    return cells

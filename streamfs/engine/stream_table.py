"""The streams of an engine, each with a row of the arrays that kernels work on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors import Program
from feature_extractors.arrays import Array
from streamfs.base.growable_array import append_rows, rows_to_reserve
from streamfs.engine._arena import FREE, STREAM, WAITING, KernelArena
from streamfs.engine.stream_registry import StreamRegistry

HELD = ("state", "streams", "status")
"""Arrays that the kernels work on, one row per stream."""

Rows = npt.NDArray[np.int64]


class StreamTable:
    """The names and episode numbers of an engine's streams, and in the arena a row of each of `HELD`."""

    def __init__(self, program: Program, arena: KernelArena, *, has_costs: bool) -> None:
        self.registry = StreamRegistry()
        self.spent = np.empty(0)
        """What each row's requested features have cost up to its last tick; stays empty unless `has_costs`."""
        self._has_costs = has_costs
        self._program = program
        self._arena = arena
        arena.hold(
            state=program.new_state(0), streams=np.empty(0, dtype=STREAM), status=np.empty(0, dtype=np.int8)
        )

    @property
    def state(self) -> Array:
        """State of the features, their newest values first, shape (capacity, state size)."""
        return self._arena["state"]

    @property
    def streams(self) -> npt.NDArray[Any]:
        """Start, newest tick, episode number and confidence of each stream, shape (capacity,)."""
        return self._arena["streams"]

    @property
    def status(self) -> npt.NDArray[np.int8]:
        """Status of each row, shape (capacity,)."""
        return self._arena["status"]

    def newest(self, rows: Rows) -> Array:
        """Return a copy of streams' newest feature values, shape (n_rows, n_features)."""
        return self.state[rows, : len(self._program.features)]

    def row(self, stream: str) -> int:
        """Return the row of a stream; a new stream gets a new row."""
        row = self.registry.row_of.get(stream)
        return self._add(stream) if row is None else row

    def rows(self, streams: Sequence[str]) -> Rows:
        """Return the rows of streams; new streams get new rows."""
        try:
            return self.registry.rows(streams)
        except KeyError:
            pass
        unnamed = next((stream for stream in streams if not isinstance(stream, str)), None)
        if unnamed is not None:
            raise TypeError(f"stream is {unnamed!r}, expected its name as text")
        return np.fromiter(map(self.row, streams), dtype=np.int64, count=len(streams))

    def reset(self, row: int, episode: int) -> None:
        """Let a row wait for an episode."""
        self.state[row] = self._program.new_state(1)[0]
        self.streams[row] = (np.nan, 0, episode, np.nan)
        if self._has_costs:
            self.spent[row] = 0.0
        self.status[row] = WAITING

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy names and episode numbers as JSON, and the rows in use."""
        used = len(self.registry.names)
        arrays = {name: self._arena[name][:used].copy() for name in HELD}
        spent = self.spent[:used].copy() if self._has_costs else np.zeros(used)
        return self.registry.to_state(), arrays | {"spent": spent}

    def part_of(self, rows: Rows) -> dict[str, npt.NDArray[Any]]:
        """Copy the state of some rows."""
        spent = self.spent[rows] if self._has_costs else np.zeros(len(rows))
        return {**{name: self._arena[name][rows] for name in HELD}, "spent": spent}

    def place_part(self, rows: Rows, part: Mapping[str, npt.NDArray[Any]]) -> None:
        """Give rows the state that others had."""
        for name in HELD:
            self._arena[name][rows] = part[name]
        if self._has_costs:
            self.spent[rows] = part["spent"]

    def restore(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore copies of what `to_state` has returned."""
        self.registry = StreamRegistry.from_state(header)
        for name in HELD:
            self._arena.hold(**{name: np.array(arrays[name], order="C")})
        if self._has_costs:
            self.spent = np.array(arrays["spent"])
        self._arena.record["n_rows"] = len(self.registry.names)

    def _add(self, stream: str) -> int:
        if not isinstance(stream, str):
            raise TypeError(f"stream is {stream!r}, expected its name as text")
        stream = str(stream)  # JSON has no numpy strings
        row = self.registry.next_row
        self._reserve(row + 1)
        self.reset(row, self.registry.last_episode(stream) + 1)
        return self.registry.add(stream)

    def _reserve(self, n_rows: int) -> None:
        """Reserve at least `n_rows` rows.

        Each array is held as soon as it has grown: the arena stays valid if memory does not suffice for the next.
        """
        capacity = len(self.status)
        if n_rows > capacity:
            n_rows = capacity + rows_to_reserve(capacity)
            self._arena.hold(state=append_rows(self.state, self._program.new_state(n_rows - len(self.state))))
            self._arena.hold(streams=append_rows(self.streams, np.zeros(n_rows - len(self.streams), dtype=STREAM)))
            if self._has_costs:
                self.spent = append_rows(self.spent, np.zeros(n_rows - len(self.spent)))
            self._arena.hold(status=append_rows(self.status, np.full(n_rows - capacity, FREE, dtype=np.int8)))
            self._arena.record["n_rows"] = n_rows

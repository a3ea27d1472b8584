"""The streams of an engine by name and by row, and the numbers of their episodes."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

MAX_LEFT = 10_000
"""Streams that have left whose episode numbers are kept by name."""


class StreamRegistry:
    """The streams of an engine by name and by row; the name of a free row is empty."""

    def __init__(self) -> None:
        self.row_of: dict[str, int] = {}
        self.names: list[str] = []
        self._free: list[int] = []
        self._left: dict[str, int] = {}
        self._floor = 0

    @property
    def next_row(self) -> int:
        """Row of the next new stream."""
        return self._free[-1] if self._free else len(self.names)

    def row(self, stream: str) -> int:
        """Return the row of a stream; raise ValueError if it is not known."""
        if stream not in self.row_of:
            raise ValueError(f"stream {stream!r} is not known")
        return self.row_of[stream]

    def rows(self, streams: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the rows of streams; raise KeyError if one is not known."""
        return np.fromiter(map(self.row_of.__getitem__, streams), dtype=np.int64, count=len(streams))

    def add(self, stream: str) -> int:
        """Add a new stream, and return its row."""
        row = self.next_row
        if row < len(self.names):
            self.names[self._free.pop()] = stream
        else:
            self.names.append(stream)
        self.row_of[stream] = row
        self._left.pop(stream, None)
        return row

    def remove(self, stream: str) -> int:
        """Remove a stream, and return its row, now free; raise ValueError if it is not known."""
        row = self.row(stream)
        self.names[row] = ""
        del self.row_of[stream]
        self._free.append(row)
        return row

    def last_episode(self, stream: str) -> int:
        """Return the number after which a new stream's episodes are numbered, so that no number occurs twice."""
        return self._left.get(stream, self._floor)

    def remember(self, stream: str, episode: int) -> None:
        """Keep the episode number of a stream that has left, in case it returns."""
        self._left[stream] = episode
        if len(self._left) > MAX_LEFT:
            self._floor = max(self._floor, self._left.pop(next(iter(self._left))))

    def inherit(self, other: "StreamRegistry") -> None:
        """Take over the episode numbers of streams that have left another registry."""
        self._left = {**other._left, **self._left}  # noqa: SLF001 - another of this class
        self._floor = max(self._floor, other._floor)  # noqa: SLF001

    def to_state(self) -> dict[str, Any]:
        """Return a copy as JSON."""
        return {
            "names": self.names.copy(),
            "free": self._free.copy(),
            "left": self._left.copy(),
            "floor": self._floor,
        }

    @classmethod
    def from_state(cls, header: Mapping[str, Any]) -> Self:
        """Return a registry from a copy of what `to_state` returned."""
        registry = cls()
        registry.names, registry._free = list(header["names"]), list(header["free"])
        free = set(registry._free)
        registry.row_of = {name: row for row, name in enumerate(registry.names) if row not in free}
        registry._left, registry._floor = dict(header["left"]), header["floor"]
        return registry

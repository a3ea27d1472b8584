"""Readings on their way from the codecs to the joiner: columns, not objects."""

from math import nan
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.gateway.core._grid import PART
from streamfs.gateway.core._waiting import NONE
from streamfs.gateway.core.feeds import AS_SENT
from streamfs.gateway.messages.codecs import Reading, Reported, Series, TimedSeries
from streamfs.gateway.messages.codecs.reading import unpacked

_CODES = {"f8": "d", "i8": "q", "i4": "i"}
_PART = Struct("=" + "".join(_CODES[kind[1:]] for _, kind, *_ in PART.descr))

_DOUBLE = np.dtype(np.float64)
_NO_TIMES = np.zeros(0)

Columns = tuple[npt.NDArray[Any], Array, Array, npt.NDArray[np.int64]]


class ReadingBuffer:
    """The readings of some messages, in order, to be taken once."""

    def __init__(self) -> None:
        self._parts = bytearray()
        self.n_samples = 0
        self._pieces: list[Array] = []
        self._numbers: list[float] = []  # after the pieces: either single numbers ...
        self._data: list[bytes] = []  # ... or packed ones of series ...
        self._kind = _DOUBLE  # ... of one type
        self._times: list[tuple[int, Array]] = []  # each after the index of its first sample
        self._columns: Columns | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return not self._parts

    def add(
        self,
        reported: Reported | None,
        node: int,
        slot: int,
        message: int = 0,
        arrival: float = nan,
        n_bytes: int = 0,
        joules: float = 0.0,
        how: int = AS_SENT,
    ) -> None:
        """Add what a message reports on one channel; without a report or a slot it only costs energy."""
        first = self.n_samples
        stamp, step, sequence = None, 0.0, None
        if type(reported) is Reading:
            stamp, value, sequence = reported
            if self._data:
                self._end_piece()
            self._numbers.append(value)
            self.n_samples += 1
        elif type(reported) is Series:
            stamp, step, kind, data, sequence = reported
            if self._numbers or kind is not self._kind:
                self._end_piece()
                self._kind = kind
            self._data.append(data)
            self.n_samples += len(data) // kind.itemsize
        elif type(reported) is TimedSeries:
            times, values, sequence = reported
            stamp = step = nan
            self._end_piece()
            self._pieces.append(values)
            self._times.append((first, times))
            self.n_samples += len(values)
        self._parts += _PART.pack(
            nan if stamp is None else stamp,
            step,
            arrival,
            joules,
            NONE if sequence is None else sequence,
            n_bytes,
            node,
            slot,
            message,
            first,
            self.n_samples,
            how,
        )

    @property
    def columns(self) -> Columns:
        """The parts, all samples, times of samples that have their own, and the cursor of `_grid.take`."""
        if self._columns is None:
            parts = np.frombuffer(self._parts, dtype=PART)
            self._end_piece()
            values = self._pieces[0] if len(self._pieces) == 1 else np.concatenate([np.zeros(0), *self._pieces])
            values.flags.writeable = False  # like those unpacked in place: one compiled kernel suffices
            times = np.full(len(values), nan) if self._times else _NO_TIMES
            for first, own in self._times:
                times[first : first + len(own)] = own
            self._columns = parts, values, times, np.zeros(2, dtype=np.int64)
        return self._columns

    def _end_piece(self) -> None:
        """Append the pending numbers to the pieces as an array."""
        if self._numbers:
            self._pieces.append(np.array(self._numbers))
            self._numbers = []
        if self._data:
            self._pieces.append(unpacked(self._kind, self._data))
            self._data = []

"""Readings on their way from the codecs to the joiner: columns, not objects."""

from math import nan
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.gateway._grid import NONE, PART
from streamfs.gateway.codecs import Batch, Reading
from streamfs.gateway.codecs.samples import Even, Samples, flat

_CODES = {"f8": "d", "i8": "q", "i4": "i"}
_PART = Struct("=" + "".join(_CODES[kind[1:]] for _, kind, *_ in PART.descr))

Columns = tuple[npt.NDArray[Any], Array, Array, npt.NDArray[np.int64]]


class Readings:
    """What some messages report, in their order, taken once.

    Examples
    --------
    >>> from streamfs.gateway.codecs.samples import Even
    >>> readings = Readings()
    >>> readings.add(Reading(12.0, 20.5, None), node=0, slot=0)
    >>> readings.add(Batch(Even(12.0, 1.0), np.array([21.0, nan]), None), node=1, slot=1, message=1)
    >>> parts, values, times, _ = readings.columns
    >>> parts["first"].tolist(), parts["end"].tolist(), values.tolist()
    ([0, 1], [1, 3], [20.5, 21.0, nan])
    """

    def __init__(self) -> None:
        self._parts = bytearray()
        self._pieces: list[Samples] = []
        self._numbers: list[float] = []  # single ones, behind the pieces
        self._n_samples = 0
        self._times: list[tuple[int, Array]] = []  # behind the index of their first sample
        self._columns: Columns | None = None

    def add(
        self,
        reported: Reading | Batch | None,
        node: int,
        slot: int,
        message: int = 0,
        arrival: float = nan,
        n_bytes: int = 0,
        joules: float = 0.0,
    ) -> None:
        """Add what a message reports on one channel.

        Parameters
        ----------
        reported : Reading or Batch, optional
            None for a message that is only to be paid.
        node, slot : int
            Where it belongs; a message without a slot is only to be paid, too.
        message : int
            The number of the message among these.
        arrival : float
            Seconds since 1970.
        n_bytes, joules : int and float
            What the message has cost.
        """
        first = self._n_samples
        stamp, step, sequence = None, 0.0, None
        if type(reported) is Reading:
            stamp, value, sequence = reported
            self._numbers.append(value)
            self._n_samples += 1
        elif type(reported) is Batch:
            stamp, step = self._add_samples(reported)
            sequence = reported.sequence
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
            self._n_samples,
        )

    @property
    def columns(self) -> Columns:
        """The parts, all samples, their times where they have times of their own, and how far they are taken."""
        if self._columns is None:
            parts = np.frombuffer(self._parts, dtype=PART)
            self._end_singles()
            values = flat(self._pieces)
            times = np.full(len(values) if self._times else 0, nan)
            for first, own in self._times:
                times[first : first + len(own)] = own
            self._columns = parts, values, times, np.zeros(2, dtype=np.int64)
        return self._columns

    def _add_samples(self, batch: Batch) -> tuple[float, float]:
        """Add the samples of a batch; return the time of the first, and from one to the next, in seconds."""
        times, values, _ = batch
        first = self._n_samples
        self._n_samples += len(values)
        self._end_singles()
        self._pieces.append(values)
        if isinstance(times, Even):
            return times
        self._times.append((first, times))
        return nan, nan

    def _end_singles(self) -> None:
        if self._numbers:
            self._pieces.append(np.array(self._numbers))
            self._numbers = []

"""The contents of decoded payloads."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.errors import PayloadError


class Reading(NamedTuple):
    """One value that a node reports."""

    time: float | None  # seconds; None if the node has no clock
    value: float  # in the column's unit; 0 or 1 for a flag
    sequence: int | None  # number of the message on its channel; None if the node does not count


class Series(NamedTuple):
    """Evenly spaced samples of one channel, at least one; those that are not finite are missing."""

    start: float  # seconds, of the first sample
    step: float  # seconds from one to the next, more than 0
    kind: np.dtype[Any]
    data: bytes  # the packed samples
    sequence: int | None

    def arrays(self) -> tuple[Array, Array]:
        """Return times and values, both of shape (n_samples,), with NaN for missing samples."""
        values = known(unpacked(self.kind, [self.data]))
        return self.start + self.step * np.arange(len(values), dtype=np.float64), values


class TimedSeries(NamedTuple):
    """Samples of one channel, each with its time, at least one; those that are not finite are missing."""

    times: Array  # seconds, finite, not necessarily ascending, shape (n_samples,)
    values: Array
    sequence: int | None

    def arrays(self) -> tuple[Array, Array]:
        """Return times and values, both of shape (n_samples,), with NaN for missing samples."""
        return self.times, known(self.values)


Reported = Reading | Series | TimedSeries
"""What a message reports on one channel."""


class Several(NamedTuple):
    """What a message reports on channels that it names itself; no parts if it has no wanted channel."""

    parts: tuple[tuple[str, Reported], ...]
    spreading_factor: int | None = None  # of the LoRa frame, which determines its energy
    refused: PayloadError | None = None  # why others of its channels could not be read
    number: Reading | None = None  # NaN: its number, which is no gap in channels of which it says nothing


def several(
    parts: Iterable[tuple[str, Reported]],
    refused: Sequence[PayloadError],
    spreading_factor: int | None = None,
    number: Reading | None = None,
) -> Several:
    """Return what could be read of a message; raise the first error if that is nothing.

    The samples of several channels are in order of time, so that none runs ahead of the others.
    """
    read = _in_order(tuple(parts))
    if not refused:
        return Several(read, spreading_factor, None, number)
    if not read:
        raise refused[0]
    error = PayloadError("; ".join(map(str, refused)), refused[0].cause)
    return Several(read, spreading_factor, error, number)


def _in_order(parts: tuple[tuple[str, Reported], ...]) -> tuple[tuple[str, Reported], ...]:
    """Return parts as they are, or if they are several samples of several channels, these in order of time."""
    if len(parts) < 2:
        return parts
    series = [part for _, part in parts if not isinstance(part, Reading)]
    is_one_of_each = len(series) < 2 and len(parts) == len({channel for channel, _ in parts})
    if is_one_of_each or any(part.sequence is not None for part in series):
        return parts
    samples = [(channel, reading) for channel, part in parts for reading in _singles(part)]
    return tuple(sorted(samples, key=lambda sample: inf if sample[1].time is None else sample[1].time))


def _singles(part: Reported) -> list[Reading]:
    if isinstance(part, Reading):
        return [part]
    columns = (column.tolist() for column in part.arrays())
    return [Reading(time, value, None) for time, value in zip(*columns, strict=True)]


class Codec(Protocol):
    """A decoder of one payload format."""

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reported | Several:
        """Decode a payload that arrived at a time, in seconds since 1970, given its content type or ""."""


def unpacked(kind: np.dtype[Any], pieces: Iterable[bytes]) -> Array:
    """Return packed samples of one type as an array."""
    packed: npt.NDArray[Any] = np.frombuffer(b"".join(pieces), kind)
    with np.errstate(invalid="ignore"):  # a NaN that signals is missing like any other
        return packed.astype(np.float64, copy=False)


def known(values: Array) -> Array:
    """Replace values that are not finite by NaN."""
    return np.where(np.isfinite(values), values, np.nan)

"""The samples of a message, as they came, and many of them as one array."""

from array import array
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array


class Even(NamedTuple):
    """Times of samples that follow each other evenly.

    Parameters
    ----------
    start : float
        Of the first, in seconds.
    step : float
        Seconds from one to the next, more than 0.
    """

    start: float
    step: float

    def times(self, n_samples: int) -> Array:
        """Seconds of each sample, shape (n_samples,)."""
        return self.start + self.step * np.arange(n_samples, dtype=np.float64)


class Packed(NamedTuple):
    """Samples as their bytes.

    Parameters
    ----------
    kind : dtype
        Of the samples.
    data : bytes
        As many of them as there are samples, end to end.
    """

    kind: np.dtype[Any]
    data: bytes

    def __len__(self) -> int:
        return len(self.data) // self.kind.itemsize


Samples: TypeAlias = "Array | array[float] | Packed"
"""Samples as messages bring them; those that are not finite are missing."""

_NUMPY, _DOUBLES = "", "d"


def flat(pieces: Iterable[Samples]) -> Array:
    """Put samples end to end; those of a kind that are no arrays of numpy's are unpacked together.

    Examples
    --------
    >>> flat([np.array([1.0, np.nan]), Packed(np.dtype("<i2"), bytes([2, 0, 3, 0])), array("d", [4.0])]).tolist()
    [1.0, nan, 2.0, 3.0, 4.0]
    """
    parts = [part for kind, group in groupby(pieces, _kind_of) for part in _arrays(kind, group)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])


def _kind_of(piece: Samples) -> str:
    if type(piece) is Packed:
        return piece.kind.str
    return _DOUBLES if type(piece) is array else _NUMPY


def _arrays(kind: str, pieces: Iterable[Any]) -> list[Array]:
    if kind == _NUMPY:
        return list(pieces)
    data = b"".join(pieces if kind == _DOUBLES else [data for _, data in pieces])
    packed: npt.NDArray[Any] = np.frombuffer(data, kind)
    with np.errstate(invalid="ignore"):  # a NaN that signals is missing like any other
        return [packed.astype(np.float64, copy=False)]

"""Samples as the engine's kernels read them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.procedure.procedure import Procedure


def as_samples(procedure: Procedure, n_samples: int, samples: npt.ArrayLike) -> Array:
    """Validate samples: shape (n_samples, n_channels)."""
    samples = contiguous(np.asarray(samples, dtype=np.float64))
    shape = (n_samples, len(procedure.channels))
    if samples.shape != shape:
        if not samples.size == 0 == shape[0] * shape[1]:
            raise ValueError(f"samples have shape {samples.shape}, expected {shape}: {procedure.channels}")
        samples = samples.reshape(shape)
    return samples


def as_times(times: Array, n_samples: int, owner: Callable[[int], str]) -> Array:
    """Validate the times of samples; `owner` names the stream or row of a sample in an error message."""
    if times.shape != (n_samples,):
        raise ValueError(f"times have shape {times.shape}, expected {(n_samples,)}")
    is_finite = np.isfinite(times)
    if not is_finite.all():
        wrong = int(np.argmin(is_finite))
        raise ValueError(f"time of a sample of {owner(wrong)} is {times[wrong]}")
    return contiguous(times)


def contiguous(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array without gaps that may be written to, the one form for which the kernels are compiled."""
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C")


def split_into_turns(rows: npt.NDArray[np.int64]) -> list[npt.NDArray[np.intp]]:
    """Split a batch so that no stream occurs twice in a turn, and each stream's samples keep their order."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(rows) else np.zeros(0, np.intp)
    if len(starts) == len(rows):
        return [np.arange(len(rows))]
    turn = np.arange(len(rows)) - np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
    return [np.sort(order[turn == k]) for k in range(turn.max() + 1)]

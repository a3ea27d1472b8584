"""Values of streams as people have them: arrays, some with masks, and lists of streams of different lengths."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.errors import DataError


def given_values(values: Any) -> tuple[Array, Integers | None]:
    """Return values as an array of their own, and the lengths of streams that are given one by one.

    Raises
    ------
    DataError
        If they are not real numbers, or streams differ in their number of columns.
    """
    bare = [unmasked(each) for each in values] if isinstance(values, list | tuple) else unmasked(values)
    try:
        given = np.asarray(bare)
    except ValueError:  # streams of different lengths
        return _one_by_one(bare)
    if given.dtype.kind in "cmM":
        raise DataError(f"values are {given.dtype}, expected real numbers")
    is_of_arrays = given.dtype == object and given.ndim == 1 and not any(map(np.isscalar, given))
    return _one_by_one(list(given)) if is_of_arrays else (np.array(given, dtype=np.float64), None)


def unmasked(values: Any) -> Any:
    """Return values of which those that a mask of numpy hides are NaN."""
    return np.ma.filled(values.astype(np.float64), np.nan) if isinstance(values, np.ma.MaskedArray) else values


def padded(streams: Sequence[Array]) -> Array:
    """Return streams of shape (n_ticks, n_columns) as one array, NaN beyond their ends."""
    widths = {stream.shape[1] for stream in streams}
    if len(widths) != 1:
        raise DataError(
            f"streams have {' and '.join(map(str, sorted(widths)))} columns, expected the same for all"
        )
    values = np.full((len(streams), max(map(len, streams)), widths.pop()), np.nan)
    for row, stream in zip(values, streams, strict=True):
        row[: len(stream)] = stream
    return values


def _one_by_one(streams: Sequence[Any]) -> tuple[Array, Integers]:
    arrays = [np.asarray(unmasked(stream), dtype=np.float64) for stream in streams]
    columns = [array[:, np.newaxis] if array.ndim == 1 else array for array in arrays]
    for array in columns:
        if array.ndim != 2:
            raise DataError(f"a stream has shape {array.shape}, expected (n_ticks, n_columns)")
    return padded(columns), np.array([len(array) for array in columns])

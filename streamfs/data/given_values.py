"""Values of streams as people have them: arrays, some with masks, and lists of streams of different lengths."""

from collections.abc import Sequence, Sized
from reprlib import repr as shortened
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.errors import DataError

_NOT_REAL = "cmM"  # kinds of arrays: complex numbers, durations and dates


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
    is_of_arrays = given.dtype == object and given.ndim == 1 and not any(map(np.isscalar, given))
    return _one_by_one(list(given)) if is_of_arrays else (real(given), None)


def unmasked(values: Any) -> Any:
    """Return values of which those that a mask of numpy hides are NaN; as they are if they are no real numbers."""
    if not isinstance(values, np.ma.MaskedArray) or values.dtype.kind in _NOT_REAL:
        return values
    return np.ma.filled(values.astype(np.float64), np.nan)


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
    arrays = [real(unmasked(stream)) for stream in streams]
    columns = [array[:, np.newaxis] if array.ndim == 1 else array for array in arrays]
    for array in columns:
        if array.ndim != 2:
            raise DataError(f"a stream has shape {array.shape}, expected (n_ticks, n_columns)")
    return padded(columns), np.array([len(array) for array in columns])


def one_each(given: Any, what: str) -> npt.NDArray[Any]:
    """Return what is given for each stream, such as its label, as an array; refuse parts of several lengths."""
    try:
        return np.asarray(given)
    except ValueError as error:
        raise DataError(f"{what} are {shortened(given)}, expected a flat sequence") from error


def real(values: Any, what: str = "values") -> Array:
    """Return a copy of values as floats; refuse what is not a real number, naming the values `what`."""
    try:
        given = np.asarray(values)
    except ValueError as error:  # of another length at some ticks
        raise DataError(f"a stream has ticks of {_lengths(values)} values, expected as many at each") from error
    if given.dtype.kind in _NOT_REAL:
        raise DataError(f"{what} are {given.dtype}, expected real numbers")
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        wrong = shortened(next((each for each in given.ravel().tolist() if not _is_number(each)), None))
        raise DataError(f"{what} are {given.dtype}, expected real numbers, and one is {wrong}") from error


def _lengths(ticks: Sequence[Any]) -> str:
    return " and ".join(map(str, sorted({len(tick) if isinstance(tick, Sized) else 0 for tick in ticks})))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True

"""The arrays of recorded streams, and what is refused of them."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import LARGEST
from streamfs.data.given_values import one_each, real
from streamfs.errors import DataError

Labels = npt.NDArray[np.str_]

_AXES = "(n_streams, n_ticks, n_columns)"

MISSING = {"none", "nan", "nat", "<na>"}
"""The texts of what stands for nothing in frames and arrays, in lower case."""


class StreamArrays(NamedTuple):
    """Contents of a file: the arguments of `StreamSet`, in order."""

    values: Array
    labels: Sequence[str] | Labels
    columns: Sequence[str]
    period: float
    names: Sequence[str]
    lengths: Integers


def require_shape(what: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse arrays of another shape."""
    if shape != expected:
        raise DataError(f"{what} have shape {shape}, expected {expected}")


def require_axes(values: Array) -> None:
    """Refuse values that do not have the axes of streams, ticks and columns."""
    if values.ndim != 3:
        axes = ": give streams of one column as values[:, :, np.newaxis]" if values.ndim == 2 else ""
        raise DataError(f"values have shape {values.shape}, expected {_AXES}{axes}")


def require_columns_last(values: Array, n_named: int) -> None:
    """Refuse values whose axes of ticks and columns are exchanged, by the number of columns that have names."""
    _, n_ticks, n_columns = values.shape
    if n_named == n_ticks != n_columns:
        turned = f"expected {_AXES} with {n_ticks} columns: turn the axes by values.transpose(0, 2, 1)"
        raise DataError(f"values have shape {values.shape}, {turned}")


def require_numbers(values: Array, columns: Sequence[str], names: Sequence[str]) -> None:
    """Refuse values that are infinite, or too large to be summed."""
    if (values > LARGEST).any() or (values < -LARGEST).any():
        stream, tick, column = np.argwhere(np.abs(values) > LARGEST)[0]
        raise DataError(
            f"{columns[column]} of stream {names[stream]} is {values[stream, tick, column]:g} "
            f"at tick {tick + 1}, expected at most {LARGEST:g}; a missing reading is NaN, "
            "or in a file a word that values take as missing, such as inf=missing"
        )


def require_lengths(lengths: Integers, n_ticks: int) -> None:
    """Refuse lengths of streams beyond their ticks."""
    wrong = lengths[(lengths < 0) | (lengths > n_ticks)]
    if len(wrong):
        raise DataError(f"a length is {wrong[0]}, expected 0 to {n_ticks} ticks")


def is_missing(name: object) -> bool:
    """Return whether this stands for no label and no name in frames and arrays: its text would pass for one."""
    return not isinstance(name, str) and str(name).lower() in MISSING


def require_labels(labels: npt.NDArray[Any], names: Sequence[object], what: str = "stream") -> None:
    """Refuse labels that are missing, as frames have them: their texts would be classes."""
    for name, label in zip(names, labels.tolist(), strict=True) if labels.dtype.kind in "fMOm" else ():
        if is_missing(label):
            raise DataError(f"the label of {what} {name} is {label}: leave out {what}s without one")


def as_names(what: str, names: Iterable[object]) -> tuple[str, ...]:
    """Return names as text, which numbers may be."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DataError(f"names of {what}s are {names!r}, expected several texts")
    found = tuple(names)
    for number, name in enumerate(found, 1):
        if not isinstance(name, str | Integral):
            raise DataError(f"{what} {number} has the name {name!r}, expected a text")
    return tuple(map(str, found))


def whole_lengths(lengths: npt.ArrayLike) -> Integers:
    """Return lengths of streams as whole numbers; NaN is 0."""
    asked = real(one_each(lengths, "lengths"), "lengths")
    with np.errstate(invalid="ignore"):  # one that is too large is refused
        whole: Integers = np.nan_to_num(asked).astype(np.int64)
    if (whole != asked).any():
        raise DataError(f"a length is {asked[whole != asked][0]:g}, expected a whole number of ticks")
    return whole

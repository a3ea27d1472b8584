"""Distances in single precision, many at a time, to which features are added or from which they are removed."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base._compiled import inlined, kernel
from streamfs.relief._sieve import Singles

Single = np.float32

DOUBT = 2.0**-21
"""See `FoldSieve.reaches`."""
TOO_FAR = 1e30
"""Distances beyond which single precision is not reliable."""


class FoldSieve(NamedTuple):
    """Rows and folds in single precision, in a common unit.

    `shares`, (n_features, n_rows), are shares of the range of all rows, or categories; NaN is missing. By fold and
    feature, a difference is multiplied by `factors`, `lows` are the least values, `extents` the differences of two
    missing values, and `reaches` the larger M of factor and extent, to the power. With u = 2**-24, a difference is
    off by at most 7 u M, its square by 32 u M^2, and each of n additions by 4 u times the sum of all M^2. So of
    two distances farther apart than `DOUBT` (9 + n), 8 u (9 + n), times that sum, the smaller one is exactly
    smaller.
    """

    shares: Singles
    is_nominal: npt.NDArray[np.bool_]
    is_patchy: npt.NDArray[np.bool_]
    factors: Singles
    lows: Singles
    extents: Singles
    reaches: Array


@kernel
def _add_plain(column: Singles, a: Single, factor: Single, sign: Single, square: bool, near: Singles) -> None:
    """Add or subtract a numeric feature without missing values."""
    for j in range(len(near)):
        d = (column[j] - a) * factor
        near[j] += sign * (d * d if square else abs(d))


@kernel
def _add_patchy(
    column: Singles,
    a: Single,
    factor: Single,
    low: Single,
    extent: Single,
    sign: Single,
    square: bool,
    near: Singles,
) -> None:
    """Add or subtract a numeric feature with missing values."""
    place = (a - low) * factor
    far = max(place, extent - place)
    for j in range(len(near)):
        d = abs(column[j] - a) * factor
        other_place = (column[j] - low) * factor
        other_far = max(other_place, extent - other_place)
        if d != d:
            d = far if far == far else other_far if other_far == other_far else extent
        near[j] += sign * (d * d if square else d)


@kernel
def _add_nominal(
    column: Singles, a: Single, factor: Single, extent: Single, sign: Single, square: bool, near: Singles
) -> None:
    """Add or subtract a nominal feature."""
    for j in range(len(near)):
        d = factor if column[j] != a else Single(0.0)
        d = extent if a != a or column[j] != column[j] else d
        near[j] += sign * (d * d if square else d)


@inlined
def add(
    sieve: FoldSieve, square: bool, fold: int, row: int, f: int, sign: Single, start: int, near: Singles
) -> None:
    """Add a feature's differences between a row and those from `start` on, or subtract them if the sign is -1."""
    column, a = sieve.shares[f, start : start + len(near)], sieve.shares[f, row]
    factor, low, extent = sieve.factors[fold, f], sieve.lows[fold, f], sieve.extents[fold, f]
    if sieve.is_nominal[f]:
        _add_nominal(column, a, factor, extent, sign, square, near)
    elif sieve.is_patchy[f]:
        _add_patchy(column, a, factor, low, extent, sign, square, near)
    else:
        _add_plain(column, a, factor, sign, square, near)

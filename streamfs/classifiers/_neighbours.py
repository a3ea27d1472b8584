"""Exact distances and the nearest rows: feature by feature in order, in double precision."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel


class Scales(NamedTuple):
    """The scales of features' differences."""

    lows: Array  # (n_features,)
    divisors: Array  # (n_features,); infinite if the feature is ignored
    extents: Array  # (n_features,); the difference of two missing values, the largest of numbers in the range
    is_nominal: npt.NDArray[np.bool_]


@kernel
def difference(a: float, b: float, low: float, divisor: float, extent: float, is_nominal: bool) -> float:
    """Return the difference of two values of a feature; NaN is missing."""
    if is_nominal:
        if a != a or b != b:
            return extent
        return 1.0 if a != b else 0.0
    apart = abs(a - b) / divisor
    if apart == apart:
        return apart
    if a != a and b != b:
        return extent
    place = ((b if a != a else a) - low) / divisor
    return max(place, extent - place)


@kernel
def _add_differences(
    column: Array, a: float, low: float, divisor: float, extent: float, power: int, distances: Array
) -> None:
    """Add the differences of a known number from those of a column, to the power."""
    place = (a - low) / divisor
    far = max(place, extent - place)
    for j in range(len(column)):
        apart = abs(a - column[j]) / divisor
        d = apart if apart == apart else far
        distances[j] += d if power == 1 else d * d


@kernel
def _fill_distances(columns: Array, scales: Scales, row: Array, power: int, distances: Array) -> None:
    """Sum of the differences of a row from all rows of a table, each to the power."""
    distances[:] = 0.0
    for f in range(len(columns)):
        low, divisor, extent = scales.lows[f], scales.divisors[f], scales.extents[f]
        if row[f] == row[f] and not scales.is_nominal[f]:
            _add_differences(columns[f], row[f], low, divisor, extent, power, distances)
            continue
        for j in range(len(distances)):
            d = difference(row[f], columns[f, j], low, divisor, extent, scales.is_nominal[f])
            distances[j] += d if power == 1 else d * d


@kernel
def insert(distance: float, row: int, n_found: int, distances: Array, rows: Integers) -> int:
    """Insert a row among the nearest, after equally near ones; return their number."""
    n = len(distances)
    if n_found == n and not distance < distances[n - 1]:
        return n
    place = min(n_found, n - 1)
    while place > 0 and distance < distances[place - 1]:
        distances[place], rows[place] = distances[place - 1], rows[place - 1]
        place -= 1
    distances[place], rows[place] = distance, row
    return min(n, n_found + 1)


@kernel
def find_nearest(
    columns: Array, scales: Scales, queries: Array, power: int, room: Array, distances: Array, rows: Integers
) -> None:
    """Write the nearest rows of a table for each query, and their sums of differences to `power`, 1 or 2.

    They are sorted by distance, then index; `room`, (n_rows,), is scratch space.
    """
    for i in range(len(queries)):
        _fill_distances(columns, scales, queries[i], power, room)
        n_found = 0
        for j in range(len(room)):
            n_found = insert(room[j], j, n_found, distances[i], rows[i])

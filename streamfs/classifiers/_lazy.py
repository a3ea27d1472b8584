"""The nearest instances of rows, each compared by its own features."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.base._compiled import kernel
from streamfs.classifiers._neighbours import difference, insert


class Stored(NamedTuple):
    """Instances with the divisors of their differences."""

    values: Array  # (n_instances, n_features); NaN is missing
    lows: Array  # (n_features,); 0 if nominal
    spans: Array  # (n_features,); infinite if constant, 1 if nominal
    extents: Array  # (n_features,); distance of two missing values: 1, or 1 - 1/V of V categories
    nominal: Flags


@kernel
def distance(stored: Stored, row: Array, i: int, compared: Integers, limit: float) -> float:
    """Sum of the squared differences of a row and an instance, feature by feature; it stops at the limit."""
    total = 0.0
    for f in compared:
        a, b, low, span = row[f], stored.values[i, f], stored.lows[f], stored.spans[f]
        apart = difference(a, b, low, span, stored.extents[f], stored.nominal[f])
        total += apart * apart
        if total >= limit:
            break
    return total


@kernel
def list_asked(asked: Flags, compared: Integers) -> int:
    """Write the indices of the set flags; return their number."""
    n = 0
    for f in range(len(asked)):
        compared[n] = f
        n += asked[f]
    return n


@kernel
def nearest(stored: Stored, row: Array, compared: Integers, distances: Array, neighbours: Integers) -> None:
    """Fill `neighbours` with the instances nearest to a row, nearest first, of equally near ones the lowest."""
    k, n_found = len(neighbours), 0
    for i in range(len(stored.values)):
        limit = distances[k - 1] if n_found == k else np.inf
        apart = distance(stored, row, i, compared, limit)
        n_found = insert(apart, i, n_found, distances, neighbours)


@kernel
def vote(
    stored: Stored,
    classes: Integers,
    rows: Array,
    asked: Flags,
    compared: Integers,
    distances: Array,
    neighbours: Integers,
    votes: Array,
) -> None:
    """Count the nearest instances' classes in `votes`, (n_rows, n_classes); the three before it are scratch."""
    votes[:] = 0.0
    for r in range(len(rows)):
        n_compared = list_asked(asked[r], compared)
        nearest(stored, rows[r], compared[:n_compared], distances, neighbours)
        for i in neighbours:
            votes[r, classes[i]] += 1.0

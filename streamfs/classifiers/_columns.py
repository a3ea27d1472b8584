"""The sorted columns of a table, from which a tree is grown."""

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel

Entries = npt.NDArray[np.void]

ENTRY = np.dtype([("row", np.int32), ("place", np.int32)])
"""A row in a sorted column, and the place of its value among the column's distinct values."""


@kernel
def fill_column(
    column: Array, by_value: Integers, values: Array, entries: Entries, places: Integers, nexts: Integers
) -> int:
    """Write a column's distinct values and its entries, given its rows by value; return the number of values.

    `places`, (n,), and `nexts`, (n + 2,), are scratch.
    """
    n_values = 0
    for position in range(len(column)):
        value = column[by_value[position]] + 0.0  # which makes 0.0 of -0.0
        is_missing = np.isnan(value)
        if not is_missing and (n_values == 0 or value != values[n_values - 1]):
            values[n_values] = value
            n_values += 1
        places[by_value[position]] = n_values if is_missing else n_values - 1
    nexts[:] = 0
    for place in places:
        nexts[place + 1] += 1
    for later in range(1, n_values + 1):
        nexts[later] += nexts[later - 1]
    for row in range(len(column)):
        place = places[row]
        entries[nexts[place]].row, entries[nexts[place]].place = row, place
        nexts[place] += 1
    return n_values


def sort_columns(columns: Array) -> tuple[list[Array], Entries]:
    """Return each feature's distinct values, ascending, and entries of shape (n_features + 1, n), sorted by them.

    Rows with equal values keep their order; missing values, NaN, are last, with the place after the last value's.
    The additional last line of entries has all rows in their original order.
    """
    n_features, n = columns.shape
    values, room, entries = [], np.empty(n), np.zeros((n_features + 1, n), ENTRY)
    entries["row"][-1] = np.arange(n)
    places, nexts = np.empty(n, dtype=np.int64), np.empty(n + 2, dtype=np.int64)
    for feature, column in enumerate(columns):
        n_values = fill_column(column, np.argsort(column), room, entries[feature], places, nexts)
        values.append(room[:n_values].copy())
    return values, entries

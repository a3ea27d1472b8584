"""The sorted columns of a table, from which a tree is grown."""

import numpy as np
import numpy.typing as npt

from feature_extractors._compiled import creating
from streamfs.classifiers._evaluate import Array

Entries = npt.NDArray[np.void]

ENTRY = np.dtype([("row", np.int32), ("place", np.int32)])
"""A row in a sorted column, and the place of its value among the column's distinct values."""


@creating
def _fill(column: Array, by_value: npt.NDArray[np.intp], values: Array, entries: Entries) -> int:
    """Write a column's distinct values and its entries, given its rows by value; return the number of values."""
    n_values, places = 0, np.empty(len(column), dtype=np.int32)
    for position in range(len(column)):
        value = column[by_value[position]] + 0.0  # which makes 0.0 of -0.0
        is_missing = np.isnan(value)
        if not is_missing and (n_values == 0 or value != values[n_values - 1]):
            values[n_values] = value
            n_values += 1
        places[by_value[position]] = n_values if is_missing else n_values - 1
    nexts = np.zeros(n_values + 2, dtype=np.int64)
    for place in places:
        nexts[place + 1] += 1
    for later in range(1, n_values + 1):
        nexts[later] += nexts[later - 1]
    for row in range(len(column)):
        place = places[row]
        entries["row"][nexts[place]], entries["place"][nexts[place]] = row, place
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
    for feature, column in enumerate(columns):
        n_values = _fill(column, np.argsort(column), room, entries[feature])
        values.append(room[:n_values].copy())
    return values, entries

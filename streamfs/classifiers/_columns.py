"""The columns of a table, sorted: what a tree is grown from."""

import numpy as np
import numpy.typing as npt
from numba import njit

from streamfs.classifiers._evaluate import Array

Entries = npt.NDArray[np.void]

ENTRY = np.dtype([("row", np.int32), ("place", np.int32)])
"""A row in a sorted column, and the place of its value among the values that the column has."""


@njit(cache=True, nogil=True)
def _fill(column: Array, by_value: npt.NDArray[np.intp], values: Array, entries: Entries) -> int:
    """Write the values and the entries of a column, given its rows by value; return how many values it has."""
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
    """Return the values of each feature, each once, ascending; and its rows, sorted by them.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
        Values; NaN is missing.

    Returns
    -------
    list of n_features ndarrays
        The values.
    ndarray of `ENTRY`, shape (n_features + 1, n)
        Rows with equal values stand as they come, and those whose value is missing, with the place after the last
        value's, at the end. The last feature is none: all rows as they come.
    """
    n_features, n = columns.shape
    values, room, entries = [], np.empty(n), np.zeros((n_features + 1, n), ENTRY)
    entries["row"][-1] = np.arange(n)
    for feature, column in enumerate(columns):
        n_values = _fill(column, np.argsort(column), room, entries[feature])
        values.append(room[:n_values].copy())
    return values, entries

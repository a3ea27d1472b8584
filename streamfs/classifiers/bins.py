"""Bins of numeric columns, for trees that are fitted to histograms."""

import numpy as np

from feature_extractors.arrays import Array

MOST_BINS = 255
"""Bins of a column; missing values have another one."""


def edges_of(column: Array, weights: Array) -> Array:
    """Return the thresholds between the bins of a column: a value belongs to the first that it does not exceed.

    Few values have a bin each, with thresholds half way between them. Of more, thresholds are quantiles of the
    weighted values: the inverse of their distribution, averaged where it jumps.

    Examples
    --------
    >>> edges_of(np.array([3.0, 1.0, np.nan, 3.0]), np.ones(4)).tolist()
    [2.0]
    """
    known = ~np.isnan(column)
    order = np.argsort(column[known], kind="stable")
    values, up_to = column[known][order], np.cumsum(weights[known][order])
    distinct = np.unique(values)
    if len(distinct) <= MOST_BINS:
        return _half_way(distinct[:-1], distinct[1:])
    shares = np.linspace(0, 100, MOST_BINS + 1)[1:-1] / 100 * up_to[-1]
    last = len(values) - 1
    place = np.minimum(np.searchsorted(up_to, shares), last)
    jumps = up_to[place] - shares <= np.finfo(np.float64).eps
    following = values[np.minimum(place + 1, last)]
    return np.unique(np.where(jumps, _half_way(values[place], following), values[place]))


def binned(column: Array, edges: Array) -> Array:
    """Return the bin of each value, from 0; NaN is missing."""
    return np.where(np.isnan(column), np.nan, np.searchsorted(edges, column))


def _half_way(lower: Array, upper: Array) -> Array:
    return np.asarray(0.5 * lower + 0.5 * upper)

"""Compiled search for nearest hits and misses.

Exact and plain: distances are summed feature by feature in order, and the lowest index wins among equals. Each
row's search is its own, so the result is the same for any number of threads.
"""

import numpy as np
from numba import njit, prange


@njit(cache=True, nogil=True)
def difference(a, b, low, span, gap):
    """How far apart two values of one feature are, from 0 to 1; NaN is missing.

    Numeric features have the range `span` above `low`, and `gap` is NaN; nominal ones of V values have the gap
    1 - 1/V, which stands in where a value is missing.
    """
    if gap >= 0.0:
        if np.isnan(a) or np.isnan(b):
            return gap
        return 0.0 if a == b else 1.0
    apart = abs(a - b) / span
    if not np.isnan(apart):
        return apart
    if np.isnan(a) and np.isnan(b):
        return 1.0
    known = ((b if np.isnan(a) else a) - low) / span
    return max(known, 1.0 - known)


@njit(cache=True, nogil=True)
def _distance(values, scales, power, i, j):
    """Sum of the differences of two rows, feature by feature."""
    total = 0.0
    for f in range(values.shape[1]):
        d = difference(values[i, f], values[j, f], scales[f, 0], scales[f, 1], scales[f, 2])
        total += d if power == 1 else d * d
    return total


@njit(cache=True, nogil=True, parallel=True)
def extend_nearest(values, scales, power, classes, groups, start, stop, nearest, distances):
    """Bring every row's nearest hit and miss up to date with the new rows from `start` to `stop`.

    Parameters
    ----------
    values : float64[:, ::1]
        One row an instance.
    scales : float64[:, ::1]
        Low, span and gap of each feature, as `difference` takes them.
    power : int
        Power of each difference.
    classes, groups : int64[::1]
        Class of each row; rows of one group are no neighbours of each other.
    start, stop : int
        Rows before `start` know each other already.
    nearest : int64[:, ::1]
        Rows of the nearest hit and miss, -1 where there is none yet; changed in place.
    distances : float64[:, ::1]
        Their distances; changed in place.
    """
    for i in prange(stop):
        for j in range(start if i < start else 0, stop):
            if groups[i] != groups[j]:
                miss = 1 if classes[i] != classes[j] else 0
                d = _distance(values, scales, power, i, j)
                if d < distances[i, miss]:
                    distances[i, miss] = d
                    nearest[i, miss] = j


@njit(cache=True, nogil=True, parallel=True)
def probe_nearest(values, scales, power, classes, groups, probes, probe_scales, nearest, distances):
    """Find nearest hits and misses with one more feature at the end, for each of several such features apart.

    `probes` has shape (n_rows, n_probes); `nearest` and `distances` have shape (n_rows, 2, n_probes).
    """
    n_rows, n_probes = probes.shape
    for i in prange(n_rows):
        for j in range(n_rows):
            if groups[i] != groups[j]:
                miss = 1 if classes[i] != classes[j] else 0
                base = _distance(values, scales, power, i, j)
                for p in range(n_probes):
                    low, span, gap = probe_scales[p]
                    d = difference(probes[i, p], probes[j, p], low, span, gap)
                    total = base + (d if power == 1 else d * d)
                    if total < distances[i, miss, p]:
                        distances[i, miss, p] = total
                        nearest[i, miss, p] = j


@njit(cache=True, nogil=True)
def mean_gain(values, scales, power, nearest, chosen, weights):
    """Add up equation 2 over the chosen rows: how much farther the miss is than the hit, feature by feature.

    Rows that lack a hit or a miss are left out of the sum and of its divisor.
    """
    n_used = 0
    for i in chosen:
        hit = nearest[i, 0]
        miss = nearest[i, 1]
        if hit >= 0 and miss >= 0:
            n_used += 1
            for f in range(values.shape[1]):
                low, span, gap = scales[f]
                far = difference(values[i, f], values[miss, f], low, span, gap)
                near = difference(values[i, f], values[hit, f], low, span, gap)
                weights[f] += far - near if power == 1 else far * far - near * near
    if n_used > 0:
        for f in range(values.shape[1]):
            weights[f] /= n_used

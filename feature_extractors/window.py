"""Means and variances of the last `window` values.

Two stacks (Tangwongsan and others, PVLDB 8, 2015): the window is a suffix of the block of `window` values
before, whose suffixes are summed up once when the block ends, and a prefix of the current block. Suffixes are
measured from the last value of their block, prefixes from the first: values that the window holds. So joining
the two by Chan's formula loses no digits, whatever has left the window; the work a sample is constant on average.
"""

import math

from numba import cfunc, njit

from feature_extractors.base import STEP, Kind, Parameter

WINDOW = Parameter("window", low=2, high=1_000_000, whole=True)

SEEN, IN_BLOCK, ORIGIN, ORIGIN_BEFORE, MEAN_, SQUARES, LISTS = range(7)
"""Places of the state. Three lists of `window` floats follow: values of the block, suffixes' means and squares."""


def _state_size(window: float) -> int:
    return LISTS + 3 * int(window)


@njit(cache=True, nogil=True)
def _end_block(state, window):
    """Sum up the suffixes of the block that is full, and start an empty one."""
    origin = state[LISTS + window - 1]
    mean = 0.0
    squares = 0.0
    for k in range(1, window + 1):
        value = state[LISTS + window - k] - origin
        d = value - mean
        mean += d / k
        squares += d * (value - mean)
        state[LISTS + 2 * window - k] = mean
        state[LISTS + 3 * window - k] = squares
    state[ORIGIN_BEFORE] = origin
    state[IN_BLOCK] = 0.0
    state[MEAN_] = 0.0
    state[SQUARES] = 0.0


@njit(cache=True, nogil=True)
def _push(state, x, window):
    """Add a value; return the window's count, mean from the origin and sum of squared deviations."""
    if state[IN_BLOCK] == window:
        _end_block(state, window)
    if state[IN_BLOCK] == 0.0:
        state[ORIGIN] = x
    place = int(state[IN_BLOCK])
    state[SEEN] += 1.0
    state[IN_BLOCK] += 1.0
    state[LISTS + place] = x
    n = state[IN_BLOCK]
    value = x - state[ORIGIN]
    d = value - state[MEAN_]
    state[MEAN_] += d / n
    state[SQUARES] += d * (value - state[MEAN_])
    if state[SEEN] <= window or n == window:
        return n, state[MEAN_], state[SQUARES]
    n_before = window - n
    mean_before = state[LISTS + window + place + 1] + (state[ORIGIN_BEFORE] - state[ORIGIN])
    gap = state[MEAN_] - mean_before
    mean = mean_before + gap * n / window
    squares = state[LISTS + 2 * window + place + 1] + state[SQUARES] + gap * gap * n_before * n / window
    return float(window), mean, squares


@cfunc(STEP, cache=True)
def _mean(state, inputs, params, t):
    _, mean, _ = _push(state, inputs[0], int(params[0]))
    return state[ORIGIN] + mean


@cfunc(STEP, cache=True)
def _variance(state, inputs, params, t):
    n, _, squares = _push(state, inputs[0], int(params[0]))
    return squares / (n - 1.0) if n > 1.0 else math.nan


WINDOWED_MEAN = Kind("mean", 1, _mean, _state_size, (WINDOW,))
"""Mean of the last `window` values, of fewer at the beginning."""

WINDOWED_VARIANCE = Kind("variance", 1, _variance, _state_size, (WINDOW,))
"""Sample variance of the last `window` values, of fewer at the beginning; NaN before the second."""

"""Counts, last values, means and variances of all samples so far."""

import math

from numba import cfunc, njit

from feature_extractors.base import STEP, Kind, sized


@cfunc(STEP, cache=True)
def _count(state, inputs, params, t):
    state[0] += 1.0
    return state[0]


@cfunc(STEP, cache=True)
def _last(state, inputs, params, t):
    return inputs[0]


@njit(cache=True, nogil=True)
def _update(state, x):
    """Welford's update of count, origin, mean from the origin and sum of squared deviations."""
    if state[0] == 0.0:
        state[1] = x
    state[0] += 1.0
    d = x - state[1] - state[2]
    state[2] += d / state[0]
    state[3] += d * (x - state[1] - state[2])


@cfunc(STEP, cache=True)
def _mean(state, inputs, params, t):
    _update(state, inputs[0])
    return state[1] + state[2]


@cfunc(STEP, cache=True)
def _variance(state, inputs, params, t):
    _update(state, inputs[0])
    return state[3] / (state[0] - 1.0) if state[0] > 1.0 else math.nan


COUNT = Kind("count", 0, _count, sized(1))
"""Samples since the episode began, missing readings among them; reads no column, so it costs nothing."""

LAST = Kind("last", 1, _last, sized(0))
"""The newest value."""

MEAN = Kind("mean", 1, _mean, sized(4))
"""Mean of all values so far."""

VARIANCE = Kind("variance", 1, _variance, sized(4))
"""Sample variance of all values so far; NaN before the second."""

"""Where a column is heading: its slope over time, and its exponentially weighted mean."""

import math

from numba import cfunc

from feature_extractors import _welford
from feature_extractors.base import STEP, Kind, Parameter, sized


@cfunc(STEP, cache=True)
def _slope(state, inputs, params, t):
    _welford.update(state, 0, t, inputs[0])
    return state[_welford.XY] / state[_welford.XX] if state[_welford.XX] > 0.0 else math.nan


@cfunc(STEP, cache=True)
def _exponential_mean(state, inputs, params, t):
    if state[0] == 0.0:
        state[0] = 1.0
        state[1] = inputs[0]
    else:
        state[1] += params[0] * (inputs[0] - state[1])
    return state[1]


SLOPE = Kind("slope", 1, _slope, sized(_welford.STATE_SIZE))
"""Least-squares slope over time, in the column's unit a second; NaN before two distinct times."""

EXPONENTIAL_MEAN = Kind(
    "exponential_mean", 1, _exponential_mean, sized(2), (Parameter("alpha", default=0.1, low=1e-9, high=1.0),)
)
"""Exponentially weighted mean: a new value counts `alpha`; it starts at the first value."""

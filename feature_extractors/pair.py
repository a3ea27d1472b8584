"""How two columns go together."""

import math

from numba import cfunc

from feature_extractors import _welford
from feature_extractors.base import STEP, Kind, Parameter, sized


@cfunc(STEP, cache=True)
def _correlation(state, inputs, params, t):
    _welford.update(state, 0, inputs[0], inputs[1])
    return _welford.correlation(state, 0)


@cfunc(STEP, cache=True)
def _increment_correlation(state, inputs, params, t):
    if state[0] > 0.0:
        _welford.update(state, 3, inputs[0] - state[1], inputs[1] - state[2])
    state[0] += 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return _welford.correlation(state, 3)


@cfunc(STEP, cache=True)
def _mean_absolute_difference(state, inputs, params, t):
    state[0] += 1.0
    state[1] += (math.fabs(inputs[0] - inputs[1]) - state[1]) / state[0]
    return state[1]


@cfunc(STEP, cache=True)
def _flag_agreement(state, inputs, params, t):
    state[0] += 1.0
    if (inputs[0] > params[0]) == (inputs[1] > params[0]):
        state[1] += 1.0
    return state[1] / state[0]


CORRELATION = Kind("correlation", 2, _correlation, sized(_welford.STATE_SIZE))
"""Pearson's correlation; NaN until both columns have varied."""

INCREMENT_CORRELATION = Kind("increment_correlation", 2, _increment_correlation, sized(3 + _welford.STATE_SIZE))
"""Pearson's correlation of the columns' increments from sample to sample; NaN until both have varied."""

MEAN_ABSOLUTE_DIFFERENCE = Kind("mean_absolute_difference", 2, _mean_absolute_difference, sized(2))
"""Mean of the absolute difference."""

FLAG_AGREEMENT = Kind("flag_agreement", 2, _flag_agreement, sized(2), (Parameter("threshold", default=0.5),))
"""Share of samples at which both columns lie above the threshold, or neither."""

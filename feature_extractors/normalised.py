"""Values and slope of a column over the standard deviation so far: neither its level nor its scale matters."""

import math

from feature_extractors import _welford
from feature_extractors.base import kernel, kind, sized

EXTREME = _welford.STATE_SIZE
"""Place of the least or greatest value so far, counted from the first, after the sums."""


@kernel
def _over_deviation(state, number, place):
    """Return a number over the deviation of the values whose squares are summed at a place, 0 if that is 0."""
    deviation = math.sqrt(state[place] / max(state[_welford.N] - 1.0, 1.0))
    return number / deviation if deviation > 0.0 else 0.0 * number


@kernel
def _score(state, above_first):
    """Return how far a value, counted from the first, is from the mean so far, in standard deviations."""
    return _over_deviation(state, above_first - state[_welford.MEAN_X], _welford.XX)


@kind("normalised_last", 1, sized(_welford.STATE_SIZE))
def LAST(state, inputs, params, t):
    """The newest value minus the mean so far, over the standard deviation so far; 0 while all are equal."""
    _welford.update(state, 0, inputs[0], None)
    return _score(state, inputs[0] - state[_welford.X0])


@kind("normalised_min", 1, sized(EXTREME + 1))
def MIN(state, inputs, params, t):
    """The minimum so far minus the mean, over the standard deviation; 0 while all values are equal."""
    _welford.update(state, 0, inputs[0], None)
    state[EXTREME] = min(state[EXTREME], inputs[0] - state[_welford.X0])
    return _score(state, state[EXTREME])


@kind("normalised_max", 1, sized(EXTREME + 1))
def MAX(state, inputs, params, t):
    """The maximum so far minus the mean, over the standard deviation; 0 while all values are equal."""
    _welford.update(state, 0, inputs[0], None)
    state[EXTREME] = max(state[EXTREME], inputs[0] - state[_welford.X0])
    return _score(state, state[EXTREME])


@kind("normalised_slope", 1, sized(_welford.STATE_SIZE))
def SLOPE(state, inputs, params, t):
    """Least-squares slope over time, in standard deviations per second; NaN before two distinct times."""
    _welford.update(state, 0, t, inputs[0])
    return _over_deviation(state, _welford.slope(state, 0), _welford.YY)

"""Trend of a column: slopes, increments, the exponentially weighted mean."""

import math

from feature_extractors import _past, _sorted, _welford, _window
from feature_extractors._window import WINDOW
from feature_extractors.base import Parameter, kernel, kind, sized

SUMS = _past.delay_size(1)
"""Place of the sums of the increments, after the previous value."""


@kind("slope", 1, sized(_welford.STATE_SIZE))
def SLOPE(state, inputs, params, t):
    """Least-squares slope over time, in the column's unit per second; NaN before two distinct times."""
    _welford.update(state, 0, t, inputs[0])
    return _welford.slope(state, 0)


@kind("exponential_mean", 1, sized(2), (Parameter("alpha", default=0.1, low=1e-9, high=1.0),))
def EXPONENTIAL_MEAN(state, inputs, params, t):
    """Exponentially weighted mean: a new value has weight `alpha`; the mean starts at the first value."""
    if state[0] == 0.0:
        state[0] = 1.0
        state[1] = inputs[0]
    else:
        state[1] += params[0] * (inputs[0] - state[1])
    return state[1]


@kind("change", 1, sized(2))
def CHANGE(state, inputs, params, t):
    """The newest value minus the first."""
    if state[0] == 0.0:
        state[0] = 1.0
        state[1] = inputs[0]
    return inputs[0] - state[1]


@kernel
def _push_increment(state, x, window):
    """Add the increment from the previous value, and its absolute value, to the sums; 0 means no window."""
    d = x - _past.delayed(state, 0, x, 1)
    if math.isnan(d):
        return
    if window == 0:
        _welford.update(state, SUMS, d, math.fabs(d))
    else:
        _window.push(state, SUMS, d, math.fabs(d), window - 1)


@kernel
def _mean_absolute(state):
    if state[SUMS + _welford.N] == 0.0:
        return math.nan
    return state[SUMS + _welford.Y0] + state[SUMS + _welford.MEAN_Y]


@kind("mean_absolute_increment", 1, sized(SUMS + _welford.STATE_SIZE))
def MEAN_ABSOLUTE_INCREMENT(state, inputs, params, t):
    """Mean absolute increment from sample to sample; NaN before the first."""
    _push_increment(state, inputs[0], 0)
    return _mean_absolute(state)


@kernel
def _variance_of_increments(state):
    n = state[SUMS + _welford.N]
    return state[SUMS + _welford.XX] / (n - 1.0) if n > 1.0 else math.nan


@kind("increment_variance", 1, sized(SUMS + _welford.STATE_SIZE))
def INCREMENT_VARIANCE(state, inputs, params, t):
    """Sample variance of the increments from sample to sample; NaN before the second."""
    _push_increment(state, inputs[0], 0)
    return _variance_of_increments(state)


@kind("largest_increment", 1, sized(SUMS + 1))
def LARGEST_INCREMENT(state, inputs, params, t):
    """Largest absolute increment from sample to sample; NaN before the first."""
    size = math.fabs(inputs[0] - _past.delayed(state, 0, inputs[0], 1))
    if math.isnan(size):
        return math.nan
    state[SUMS] = max(state[SUMS], size)
    return state[SUMS]


@kind("slope", 1, _window.state_size, (WINDOW,))
def WINDOWED_SLOPE(state, inputs, params, t):
    """Least-squares slope of the last `window` values over time; NaN before two distinct times."""
    _window.push(state, 0, t, inputs[0], int(params[0]))
    return _welford.slope(state, 0)


@kind("change", 1, lambda window: _past.delay_size(window - 1), (WINDOW,))
def WINDOWED_CHANGE(state, inputs, params, t):
    """The newest value minus the oldest of the last `window`."""
    oldest = _past.delayed(state, 0, inputs[0], int(params[0]) - 1)
    return inputs[0] - (state[_past.VALUES] if math.isnan(oldest) else oldest)


def _sums_size(window: float) -> int:
    return SUMS + _window.state_size(window - 1)


@kind("mean_absolute_increment", 1, _sums_size, (WINDOW,))
def WINDOWED_MEAN_ABSOLUTE_INCREMENT(state, inputs, params, t):
    """Mean absolute increment among the last `window` values."""
    _push_increment(state, inputs[0], int(params[0]))
    return _mean_absolute(state)


@kind("increment_variance", 1, _sums_size, (WINDOW,))
def WINDOWED_INCREMENT_VARIANCE(state, inputs, params, t):
    """Sample variance of the increments among the last `window` values; NaN before the second."""
    _push_increment(state, inputs[0], int(params[0]))
    return _variance_of_increments(state)


@kind("largest_increment", 1, lambda window: SUMS + _sorted.state_size(window - 1), (WINDOW,))
def WINDOWED_LARGEST_INCREMENT(state, inputs, params, t):
    """Largest absolute increment among the last `window` values. The work is ~window per sample."""
    size = math.fabs(inputs[0] - _past.delayed(state, 0, inputs[0], 1))
    if math.isnan(size):
        return math.nan
    n = _sorted.push(state, SUMS, size, int(params[0]) - 1)
    return state[SUMS + _sorted.SORTED + n - 1]

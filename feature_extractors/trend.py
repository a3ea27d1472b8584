"""Trend of a column: slopes, increments, the exponentially weighted mean."""

import math

from feature_extractors import _past, _sorted, _welford, _window
from feature_extractors._window import WINDOW
from feature_extractors.base import Kind, Parameter, kernel, sized, step

SUMS = _past.delay_size(1)
"""Place of the sums of the increments, after the previous value."""


@step
def _slope(state, inputs, params, t):
    _welford.update(state, 0, t, inputs[0])
    return _welford.slope(state, 0)


@step
def _windowed_slope(state, inputs, params, t):
    _window.push(state, 0, t, inputs[0], int(params[0]))
    return _welford.slope(state, 0)


@step
def _exponential_mean(state, inputs, params, t):
    if state[0] == 0.0:
        state[0] = 1.0
        state[1] = inputs[0]
    else:
        state[1] += params[0] * (inputs[0] - state[1])
    return state[1]


@step
def _change(state, inputs, params, t):
    if state[0] == 0.0:
        state[0] = 1.0
        state[1] = inputs[0]
    return inputs[0] - state[1]


@step
def _windowed_change(state, inputs, params, t):
    oldest = _past.delayed(state, 0, inputs[0], int(params[0]) - 1)
    return inputs[0] - (state[_past.VALUES] if math.isnan(oldest) else oldest)


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


@kernel
def _variance_of_increments(state):
    n = state[SUMS + _welford.N]
    return state[SUMS + _welford.XX] / (n - 1.0) if n > 1.0 else math.nan


@step
def _mean_absolute_increment(state, inputs, params, t):
    _push_increment(state, inputs[0], 0)
    return _mean_absolute(state)


@step
def _windowed_mean_absolute_increment(state, inputs, params, t):
    _push_increment(state, inputs[0], int(params[0]))
    return _mean_absolute(state)


@step
def _increment_variance(state, inputs, params, t):
    _push_increment(state, inputs[0], 0)
    return _variance_of_increments(state)


@step
def _windowed_increment_variance(state, inputs, params, t):
    _push_increment(state, inputs[0], int(params[0]))
    return _variance_of_increments(state)


@step
def _largest_increment(state, inputs, params, t):
    size = math.fabs(inputs[0] - _past.delayed(state, 0, inputs[0], 1))
    if math.isnan(size):
        return math.nan
    state[SUMS] = max(state[SUMS], size)
    return state[SUMS]


@step
def _windowed_largest_increment(state, inputs, params, t):
    size = math.fabs(inputs[0] - _past.delayed(state, 0, inputs[0], 1))
    if math.isnan(size):
        return math.nan
    n = _sorted.push(state, SUMS, size, int(params[0]) - 1)
    return state[SUMS + _sorted.SORTED + n - 1]


def _change_size(window: float) -> int:
    return _past.delay_size(window - 1)


def _sums_size(window: float) -> int:
    return SUMS + _window.state_size(window - 1)


def _sorted_size(window: float) -> int:
    return SUMS + _sorted.state_size(window - 1)


SLOPE = Kind("slope", 1, _slope, sized(_welford.STATE_SIZE))
"""Least-squares slope over time, in the column's unit per second; NaN before two distinct times."""

EXPONENTIAL_MEAN = Kind(
    "exponential_mean", 1, _exponential_mean, sized(2), (Parameter("alpha", default=0.1, low=1e-9, high=1.0),)
)
"""Exponentially weighted mean: a new value has weight `alpha`; the mean starts at the first value."""

CHANGE = Kind("change", 1, _change, sized(2))
"""The newest value minus the first."""

MEAN_ABSOLUTE_INCREMENT = Kind(
    "mean_absolute_increment", 1, _mean_absolute_increment, sized(SUMS + _welford.STATE_SIZE)
)
"""Mean absolute increment from sample to sample; NaN before the first."""

INCREMENT_VARIANCE = Kind("increment_variance", 1, _increment_variance, sized(SUMS + _welford.STATE_SIZE))
"""Sample variance of the increments from sample to sample; NaN before the second."""

LARGEST_INCREMENT = Kind("largest_increment", 1, _largest_increment, sized(SUMS + 1))
"""Largest absolute increment from sample to sample; NaN before the first."""

WINDOWED_SLOPE = Kind("slope", 1, _windowed_slope, _window.state_size, (WINDOW,))
"""Least-squares slope of the last `window` values over time; NaN before two distinct times."""

WINDOWED_CHANGE = Kind("change", 1, _windowed_change, _change_size, (WINDOW,))
"""The newest value minus the oldest of the last `window`."""

WINDOWED_MEAN_ABSOLUTE_INCREMENT = Kind(
    "mean_absolute_increment", 1, _windowed_mean_absolute_increment, _sums_size, (WINDOW,)
)
"""Mean absolute increment among the last `window` values."""

WINDOWED_INCREMENT_VARIANCE = Kind("increment_variance", 1, _windowed_increment_variance, _sums_size, (WINDOW,))
"""Sample variance of the increments among the last `window` values; NaN before the second."""

WINDOWED_LARGEST_INCREMENT = Kind("largest_increment", 1, _windowed_largest_increment, _sorted_size, (WINDOW,))
"""Largest absolute increment among the last `window` values. The work is ~window per sample."""

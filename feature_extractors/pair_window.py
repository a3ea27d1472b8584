"""Relations of two columns over the last `window` samples, or fewer at the beginning.

The work per sample is constant on average, except that of `regression_residual`, which grows with the window.
"""

import math

from feature_extractors import _past, _welford, _window
from feature_extractors._past import LAG
from feature_extractors._window import WINDOW
from feature_extractors.base import Kind, kernel, step
from feature_extractors.pair import THRESHOLD, deviation_difference, direction, relative_difference


@step
def _correlation(state, inputs, params, t):
    _window.push(state, 0, inputs[0], inputs[1], int(params[0]))
    return _welford.correlation(state, 0)


@step
def _lagged_correlation(state, inputs, params, t):
    lag = int(params[0])
    n_pairs = int(params[1]) - lag
    sums = _past.VALUES + lag
    leader = _past.delayed(state, 0, inputs[0], lag)
    if n_pairs > 0 and not math.isnan(leader):
        _window.push(state, sums, leader, inputs[1], n_pairs)
    return _welford.correlation(state, sums)


def _lagged_size(lag: float, window: float) -> int:
    return _past.delay_size(lag) + _window.state_size(max(window - lag, 0))


@step
def _increment_correlation(state, inputs, params, t):
    if state[0] > 0.0:
        _window.push(state, 3, inputs[0] - state[1], inputs[1] - state[2], int(params[0]) - 1)
    state[0] = 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return _welford.correlation(state, 3)


def _increments_size(window: float) -> int:
    return 3 + _window.state_size(window - 1)


@kernel
def _share(state, at, agrees, window):
    """Add an outcome to the newest `window`; return the share that agrees. A delay follows the count."""
    entering = 1.0 if agrees else 0.0
    leaving = _past.delayed(state, at + 1, entering, window)
    state[at] += entering if math.isnan(leaving) else entering - leaving
    return state[at] / state[at + 1]


@step
def _increment_sign_agreement(state, inputs, params, t):
    share = math.nan
    if state[0] > 0.0:
        agrees = direction(state[1], inputs[0]) == direction(state[2], inputs[1])
        share = _share(state, 3, agrees, int(params[0]) - 1)
    state[0] = 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return share


def _signs_size(window: float) -> int:
    return 4 + _past.delay_size(window - 1)


@step
def _flag_agreement(state, inputs, params, t):
    agrees = (inputs[0] > params[0]) == (inputs[1] > params[0])
    return _share(state, 0, agrees, int(params[1]))


def _flags_size(threshold: float, window: float) -> int:
    return 1 + _past.delay_size(window)


@step
def _mean_absolute_difference(state, inputs, params, t):
    _window.push(state, 0, math.fabs(inputs[0] - inputs[1]), None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@step
def _mean_relative_difference(state, inputs, params, t):
    _window.push(state, 0, relative_difference(inputs[0], inputs[1]), None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@step
def _mean_difference(state, inputs, params, t):
    _window.push(state, 0, inputs[0] - inputs[1], None, int(params[0]))
    return math.fabs(state[_welford.X0] + state[_welford.MEAN_X])


@step
def _mean_signed_difference(state, inputs, params, t):
    _window.push(state, 0, inputs[0] - inputs[1], None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@step
def _deviation_difference(state, inputs, params, t):
    _window.push(state, 0, inputs[0], inputs[1], int(params[0]))
    return deviation_difference(state, 0)


@step
def _regression_slope(state, inputs, params, t):
    _window.push(state, 0, inputs[0], inputs[1], int(params[0]))
    return _welford.slope(state, 0)


@step
def _regression_residual(state, inputs, params, t):
    window = int(params[0])
    ys = window + 1
    sums = 2 * ys
    n = _past.keep(state, 0, inputs[0], window)
    _past.keep(state, ys, inputs[1], window)
    _window.push(state, sums, inputs[0], inputs[1], window)
    steepness = _welford.slope(state, sums)
    squares = 0.0
    for k in range(1, n + 1):
        dx = state[k] - state[sums + _welford.X0] - state[sums + _welford.MEAN_X]
        dy = state[ys + k] - state[sums + _welford.Y0] - state[sums + _welford.MEAN_Y]
        squares += (dy - steepness * dx) ** 2
    return math.sqrt(squares / n)


def _residual_size(window: float) -> int:
    return 2 * (int(window) + 1) + _window.state_size(window)


WINDOWED_CORRELATION = Kind("correlation", 2, _correlation, _window.state_size, (WINDOW,))
"""Pearson's correlation; NaN unless both columns vary within the window."""

WINDOWED_LAGGED_CORRELATION = Kind("lagged_correlation", 2, _lagged_correlation, _lagged_size, (LAG, WINDOW))
"""Correlation of the second column with the first `lag` samples earlier, for pairs within the window."""

WINDOWED_INCREMENT_CORRELATION = Kind(
    "increment_correlation", 2, _increment_correlation, _increments_size, (WINDOW,)
)
"""Pearson's correlation of the increments within the window."""

WINDOWED_INCREMENT_SIGN_AGREEMENT = Kind(
    "increment_sign_agreement", 2, _increment_sign_agreement, _signs_size, (WINDOW,)
)
"""Share of the increments within the window with both columns rising, falling or constant."""

WINDOWED_MEAN_ABSOLUTE_DIFFERENCE = Kind(
    "mean_absolute_difference", 2, _mean_absolute_difference, _window.state_size, (WINDOW,)
)
"""Mean of the absolute difference within the window."""

WINDOWED_MEAN_RELATIVE_DIFFERENCE = Kind(
    "mean_relative_difference", 2, _mean_relative_difference, _window.state_size, (WINDOW,)
)
"""Mean of the absolute difference within the window as a share of the sum of the absolute values."""

WINDOWED_MEAN_DIFFERENCE = Kind("mean_difference", 2, _mean_difference, _window.state_size, (WINDOW,))
"""Absolute difference of the columns' means over the window."""

WINDOWED_MEAN_SIGNED_DIFFERENCE = Kind(
    "mean_signed_difference", 2, _mean_signed_difference, _window.state_size, (WINDOW,)
)
"""Mean of the first column over the window minus that of the second."""

WINDOWED_DEVIATION_DIFFERENCE = Kind(
    "deviation_difference", 2, _deviation_difference, _window.state_size, (WINDOW,)
)
"""Absolute difference of the sample standard deviations over the window; NaN before the second sample."""

WINDOWED_REGRESSION_SLOPE = Kind("regression_slope", 2, _regression_slope, _window.state_size, (WINDOW,))
"""Slope of the least-squares line of the second column on the first; NaN unless the first varies."""

WINDOWED_REGRESSION_RESIDUAL = Kind("regression_residual", 2, _regression_residual, _residual_size, (WINDOW,))
"""Root mean squared residual of that line. All residuals are recomputed per sample: the work is ~window."""

WINDOWED_FLAG_AGREEMENT = Kind("flag_agreement", 2, _flag_agreement, _flags_size, (THRESHOLD, WINDOW))
"""Share of the samples in the window with both columns above the threshold, or neither."""

"""Relations of two columns over the last `window` samples, or fewer at the beginning.

The work per sample is constant on average, except that of `regression_residual`, which grows with the window.
"""

import math

from feature_extractors import _past, _welford, _window
from feature_extractors._past import LAG
from feature_extractors._window import WINDOW
from feature_extractors.base import kernel, kind
from feature_extractors.pair import THRESHOLD, deviation_difference, direction, relative_difference


@kind("correlation", 2, _window.state_size, (WINDOW,))
def WINDOWED_CORRELATION(state, inputs, params, t):
    """Pearson's correlation; NaN unless both columns vary within the window."""
    _window.push(state, 0, inputs[0], inputs[1], int(params[0]))
    return _welford.correlation(state, 0)


@kind(
    "lagged_correlation",
    2,
    lambda lag, window: _past.delay_size(lag) + _window.state_size(max(window - lag, 0)),
    (LAG, WINDOW),
)
def WINDOWED_LAGGED_CORRELATION(state, inputs, params, t):
    """Correlation of the second column with the first `lag` samples earlier, for pairs within the window."""
    lag = int(params[0])
    n_pairs = int(params[1]) - lag
    sums = _past.VALUES + lag
    leader = _past.delayed(state, 0, inputs[0], lag)
    if n_pairs > 0 and not math.isnan(leader):
        _window.push(state, sums, leader, inputs[1], n_pairs)
    return _welford.correlation(state, sums)


@kind("increment_correlation", 2, lambda window: 3 + _window.state_size(window - 1), (WINDOW,))
def WINDOWED_INCREMENT_CORRELATION(state, inputs, params, t):
    """Pearson's correlation of the increments within the window."""
    if state[0] > 0.0:
        _window.push(state, 3, inputs[0] - state[1], inputs[1] - state[2], int(params[0]) - 1)
    state[0] = 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return _welford.correlation(state, 3)


@kernel
def _share(state, at, agrees, window):
    """Append an outcome; return the share that agrees of the newest `window`. A delay follows the count."""
    entering = 1.0 if agrees else 0.0
    leaving = _past.delayed(state, at + 1, entering, window)
    state[at] += entering if math.isnan(leaving) else entering - leaving
    return state[at] / state[at + 1]


@kind("increment_sign_agreement", 2, lambda window: 4 + _past.delay_size(window - 1), (WINDOW,))
def WINDOWED_INCREMENT_SIGN_AGREEMENT(state, inputs, params, t):
    """Share of the increments within the window with both columns rising, falling or constant."""
    share = math.nan
    if state[0] > 0.0:
        agrees = direction(state[1], inputs[0]) == direction(state[2], inputs[1])
        share = _share(state, 3, agrees, int(params[0]) - 1)
    state[0] = 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return share


@kind("mean_absolute_difference", 2, _window.state_size, (WINDOW,))
def WINDOWED_MEAN_ABSOLUTE_DIFFERENCE(state, inputs, params, t):
    """Mean of the absolute difference within the window."""
    _window.push(state, 0, math.fabs(inputs[0] - inputs[1]), None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@kind("mean_relative_difference", 2, _window.state_size, (WINDOW,))
def WINDOWED_MEAN_RELATIVE_DIFFERENCE(state, inputs, params, t):
    """Mean of the absolute difference within the window as a share of the sum of the absolute values."""
    _window.push(state, 0, relative_difference(inputs[0], inputs[1]), None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@kind("mean_difference", 2, _window.state_size, (WINDOW,))
def WINDOWED_MEAN_DIFFERENCE(state, inputs, params, t):
    """Absolute difference of the columns' means over the window."""
    _window.push(state, 0, inputs[0] - inputs[1], None, int(params[0]))
    return math.fabs(state[_welford.X0] + state[_welford.MEAN_X])


@kind("mean_signed_difference", 2, _window.state_size, (WINDOW,))
def WINDOWED_MEAN_SIGNED_DIFFERENCE(state, inputs, params, t):
    """Mean of the first column over the window minus that of the second."""
    _window.push(state, 0, inputs[0] - inputs[1], None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@kind("deviation_difference", 2, _window.state_size, (WINDOW,))
def WINDOWED_DEVIATION_DIFFERENCE(state, inputs, params, t):
    """Absolute difference of the sample standard deviations over the window; NaN before the second sample."""
    _window.push(state, 0, inputs[0], inputs[1], int(params[0]))
    return deviation_difference(state, 0)


@kind("regression_slope", 2, _window.state_size, (WINDOW,))
def WINDOWED_REGRESSION_SLOPE(state, inputs, params, t):
    """Slope of the least-squares line of the second column on the first; NaN unless the first varies."""
    _window.push(state, 0, inputs[0], inputs[1], int(params[0]))
    return _welford.slope(state, 0)


@kind("regression_residual", 2, lambda window: 2 * (int(window) + 1) + _window.state_size(window), (WINDOW,))
def WINDOWED_REGRESSION_RESIDUAL(state, inputs, params, t):
    """Root mean squared residual of that line. All residuals are recomputed per sample: the work is ~window."""
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


@kind("flag_agreement", 2, lambda threshold, window: 1 + _past.delay_size(window), (THRESHOLD, WINDOW))
def WINDOWED_FLAG_AGREEMENT(state, inputs, params, t):
    """Share of the samples in the window with both columns above the threshold, or neither."""
    agrees = (inputs[0] > params[0]) == (inputs[1] > params[0])
    return _share(state, 0, agrees, int(params[1]))

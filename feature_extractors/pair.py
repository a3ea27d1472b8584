"""Relations of two columns, over all samples so far."""

import math

from feature_extractors import _past, _welford
from feature_extractors._past import LAG
from feature_extractors.base import Parameter, kernel, kind, sized

THRESHOLD = Parameter("threshold", default=0.5)


@kind("correlation", 2, sized(_welford.STATE_SIZE))
def CORRELATION(state, inputs, params, t):
    """Pearson's correlation; NaN until both columns have varied."""
    _welford.update(state, 0, inputs[0], inputs[1])
    return _welford.correlation(state, 0)


@kind("lagged_correlation", 2, lambda lag: _welford.STATE_SIZE + _past.delay_size(lag), (LAG,))
def LAGGED_CORRELATION(state, inputs, params, t):
    """Pearson's correlation of the second column with the first `lag` samples ago; NaN until both have varied."""
    leader = _past.delayed(state, _welford.STATE_SIZE, inputs[0], int(params[0]))
    if not math.isnan(leader):
        _welford.update(state, 0, leader, inputs[1])
    return _welford.correlation(state, 0)


@kind("increment_correlation", 2, sized(3 + _welford.STATE_SIZE))
def INCREMENT_CORRELATION(state, inputs, params, t):
    """Pearson's correlation of the columns' increments from sample to sample; NaN until both have varied."""
    if state[0] > 0.0:
        _welford.update(state, 3, inputs[0] - state[1], inputs[1] - state[2])
    state[0] += 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return _welford.correlation(state, 3)


@kernel
def direction(before, after):
    """Return the sign of the step from a value to the next: -1, 0 or 1."""
    if after > before:
        return 1.0
    return -1.0 if after < before else 0.0


@kind("increment_sign_agreement", 2, sized(4))
def INCREMENT_SIGN_AGREEMENT(state, inputs, params, t):
    """Share of the increments with both columns rising, falling or constant; NaN before the first increment."""
    if state[0] > 0.0 and direction(state[1], inputs[0]) == direction(state[2], inputs[1]):
        state[3] += 1.0
    state[0] += 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return state[3] / (state[0] - 1.0) if state[0] > 1.0 else math.nan


@kind("mean_absolute_difference", 2, sized(2))
def MEAN_ABSOLUTE_DIFFERENCE(state, inputs, params, t):
    """Mean of the absolute difference."""
    state[0] += 1.0
    state[1] += (math.fabs(inputs[0] - inputs[1]) - state[1]) / state[0]
    return state[1]


@kernel
def relative_difference(first, second):
    """Return the absolute difference of two values over the sum of their absolute values; 0 if both are 0."""
    whole = math.fabs(first) + math.fabs(second)
    return math.fabs(first - second) / whole if whole > 0.0 else 0.0


@kind("mean_relative_difference", 2, sized(2))
def MEAN_RELATIVE_DIFFERENCE(state, inputs, params, t):
    """Mean of the absolute difference as a share of the sum of the absolute values, 0 if both are 0.

    Terms of the Canberra distance (Lance and Williams, Aust. Comput. J. 1, 1967): twice the brightness is the same
    difference by day and by night.
    """
    state[0] += 1.0
    state[1] += (relative_difference(inputs[0], inputs[1]) - state[1]) / state[0]
    return state[1]


@kernel
def _mean_of_differences(state, difference):
    """Add a difference to a mean, kept relative to the first one; return the mean."""
    if state[0] == 0.0:
        state[1] = difference
    state[0] += 1.0
    state[2] += (difference - state[1] - state[2]) / state[0]
    return state[1] + state[2]


@kind("mean_difference", 2, sized(3))
def MEAN_DIFFERENCE(state, inputs, params, t):
    """Absolute difference of the columns' means."""
    return math.fabs(_mean_of_differences(state, inputs[0] - inputs[1]))


@kind("mean_signed_difference", 2, sized(3))
def MEAN_SIGNED_DIFFERENCE(state, inputs, params, t):
    """Mean of the first column minus that of the second: the effect of sensor offsets is constant."""
    return _mean_of_differences(state, inputs[0] - inputs[1])


@kernel
def deviation_difference(state, at):
    """Return the difference of the deviations of the sums at place `at`; NaN before the second pair."""
    if state[at + _welford.N] < 2.0:
        return math.nan
    difference = math.sqrt(state[at + _welford.XX]) - math.sqrt(state[at + _welford.YY])
    return math.fabs(difference) / math.sqrt(state[at + _welford.N] - 1.0)


@kind("deviation_difference", 2, sized(_welford.STATE_SIZE))
def DEVIATION_DIFFERENCE(state, inputs, params, t):
    """Absolute difference of the columns' sample standard deviations; NaN before the second sample."""
    _welford.update(state, 0, inputs[0], inputs[1])
    return deviation_difference(state, 0)


@kind("regression_slope", 2, sized(_welford.STATE_SIZE))
def REGRESSION_SLOPE(state, inputs, params, t):
    """Slope of the least-squares line of the second column on the first; NaN until the first has varied."""
    _welford.update(state, 0, inputs[0], inputs[1])
    return _welford.slope(state, 0)


RESIDUALS = _welford.STATE_SIZE
"""Place of the sum of squared residuals, after the sums for the line."""


@kind("regression_residual", 2, sized(_welford.STATE_SIZE + 1))
def REGRESSION_RESIDUAL(state, inputs, params, t):
    """Root mean squared residual of the line of `regression_slope`; NaN until the first column has varied.

    Sums the squares of recursive residuals (Brown, Durbin and Evans, J. R. Stat. Soc. B 37, 1975): no term is
    negative, so no digits cancel if the points are nearly on a line.
    """
    dx = inputs[0] - state[_welford.X0] - state[_welford.MEAN_X]
    dy = inputs[1] - state[_welford.Y0] - state[_welford.MEAN_Y]
    root, xy = math.sqrt(state[_welford.XX]), state[_welford.XY]
    _welford.update(state, 0, inputs[0], inputs[1])
    n = state[_welford.N]
    if root > 0.0:
        length = math.hypot(math.sqrt(n / (n - 1.0)), dx / root)  # divided first: no square overflows
        state[RESIDUALS] += (dy / length - xy / root * (dx / root / length)) ** 2
    elif state[_welford.XX] == 0.0:
        state[RESIDUALS] = state[_welford.YY]
    return math.sqrt(state[RESIDUALS] / n) if state[_welford.XX] > 0.0 else math.nan


@kind("flag_agreement", 2, sized(2), (THRESHOLD,))
def FLAG_AGREEMENT(state, inputs, params, t):
    """Share of samples with both columns above the threshold, or neither."""
    state[0] += 1.0
    state[1] += 1.0 * ((inputs[0] > params[0]) == (inputs[1] > params[0]))  # no branch: it is unpredictable
    return state[1] / state[0]


@kernel
def _flag(before, value, threshold, hysteresis):
    """Return the new flag; within the hysteresis of the threshold it does not change."""
    if value > threshold + hysteresis:
        return 1.0
    if value < threshold - hysteresis:
        return 0.0
    return before


@kind("flag_agreement", 2, sized(4), (THRESHOLD, Parameter("hysteresis", low=0.0)))
def STEADY_FLAG_AGREEMENT(state, inputs, params, t):
    """The same for flags that change only if a column is more than `hysteresis` beyond the threshold."""
    for k in range(2):
        if state[0] == 0.0:
            state[2 + k] = 1.0 if inputs[k] > params[0] else 0.0
        else:
            state[2 + k] = _flag(state[2 + k], inputs[k], params[0], params[1])
    state[0] += 1.0
    if state[2] == state[3]:
        state[1] += 1.0
    return state[1] / state[0]

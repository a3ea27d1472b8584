"""Relations of two columns, over all samples so far."""

import math

from feature_extractors import _past, _welford
from feature_extractors._past import LAG
from feature_extractors.base import Kind, Parameter, kernel, sized, step

THRESHOLD = Parameter("threshold", default=0.5)


@step
def _correlation(state, inputs, params, t):
    _welford.update(state, 0, inputs[0], inputs[1])
    return _welford.correlation(state, 0)


@step
def _lagged_correlation(state, inputs, params, t):
    leader = _past.delayed(state, _welford.STATE_SIZE, inputs[0], int(params[0]))
    if not math.isnan(leader):
        _welford.update(state, 0, leader, inputs[1])
    return _welford.correlation(state, 0)


def _lagged_size(lag: float) -> int:
    return _welford.STATE_SIZE + _past.delay_size(lag)


@step
def _increment_correlation(state, inputs, params, t):
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


@step
def _increment_sign_agreement(state, inputs, params, t):
    if state[0] > 0.0 and direction(state[1], inputs[0]) == direction(state[2], inputs[1]):
        state[3] += 1.0
    state[0] += 1.0
    state[1] = inputs[0]
    state[2] = inputs[1]
    return state[3] / (state[0] - 1.0) if state[0] > 1.0 else math.nan


@step
def _mean_absolute_difference(state, inputs, params, t):
    state[0] += 1.0
    state[1] += (math.fabs(inputs[0] - inputs[1]) - state[1]) / state[0]
    return state[1]


@kernel
def relative_difference(first, second):
    """Return the absolute difference of two values over the sum of their absolute values; 0 if both are 0."""
    whole = math.fabs(first) + math.fabs(second)
    return math.fabs(first - second) / whole if whole > 0.0 else 0.0


@step
def _mean_relative_difference(state, inputs, params, t):
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


@step
def _mean_difference(state, inputs, params, t):
    return math.fabs(_mean_of_differences(state, inputs[0] - inputs[1]))


@step
def _mean_signed_difference(state, inputs, params, t):
    return _mean_of_differences(state, inputs[0] - inputs[1])


@kernel
def deviation_difference(state, at):
    """Return the difference of the deviations of the sums at place `at`; NaN before the second pair."""
    if state[at + _welford.N] < 2.0:
        return math.nan
    difference = math.sqrt(state[at + _welford.XX]) - math.sqrt(state[at + _welford.YY])
    return math.fabs(difference) / math.sqrt(state[at + _welford.N] - 1.0)


@step
def _deviation_difference(state, inputs, params, t):
    _welford.update(state, 0, inputs[0], inputs[1])
    return deviation_difference(state, 0)


@step
def _regression_slope(state, inputs, params, t):
    _welford.update(state, 0, inputs[0], inputs[1])
    return _welford.slope(state, 0)


RESIDUALS = _welford.STATE_SIZE
"""Place of the sum of squared residuals, after the sums for the line."""


@step
def _regression_residual(state, inputs, params, t):
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


@step
def _flag_agreement(state, inputs, params, t):
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


@step
def _steady_flag_agreement(state, inputs, params, t):
    for k in range(2):
        if state[0] == 0.0:
            state[2 + k] = 1.0 if inputs[k] > params[0] else 0.0
        else:
            state[2 + k] = _flag(state[2 + k], inputs[k], params[0], params[1])
    state[0] += 1.0
    if state[2] == state[3]:
        state[1] += 1.0
    return state[1] / state[0]


CORRELATION = Kind("correlation", 2, _correlation, sized(_welford.STATE_SIZE))
"""Pearson's correlation; NaN until both columns have varied."""

LAGGED_CORRELATION = Kind("lagged_correlation", 2, _lagged_correlation, _lagged_size, (LAG,))
"""Pearson's correlation of the second column with the first `lag` samples earlier; NaN until both have varied."""

INCREMENT_CORRELATION = Kind("increment_correlation", 2, _increment_correlation, sized(3 + _welford.STATE_SIZE))
"""Pearson's correlation of the columns' increments from sample to sample; NaN until both have varied."""

INCREMENT_SIGN_AGREEMENT = Kind("increment_sign_agreement", 2, _increment_sign_agreement, sized(4))
"""Share of the increments with both columns rising, falling or constant; NaN before the first increment."""

MEAN_ABSOLUTE_DIFFERENCE = Kind("mean_absolute_difference", 2, _mean_absolute_difference, sized(2))
"""Mean of the absolute difference."""

MEAN_RELATIVE_DIFFERENCE = Kind("mean_relative_difference", 2, _mean_relative_difference, sized(2))
"""Mean of the absolute difference as a share of the sum of the absolute values, 0 if both are 0.

Terms of the Canberra distance (Lance and Williams, Aust. Comput. J. 1, 1967): twice the brightness is the same
difference by day and by night.
"""

MEAN_DIFFERENCE = Kind("mean_difference", 2, _mean_difference, sized(3))
"""Absolute difference of the columns' means."""

MEAN_SIGNED_DIFFERENCE = Kind("mean_signed_difference", 2, _mean_signed_difference, sized(3))
"""Mean of the first column minus that of the second: the effect of sensor offsets is constant."""

DEVIATION_DIFFERENCE = Kind("deviation_difference", 2, _deviation_difference, sized(_welford.STATE_SIZE))
"""Absolute difference of the columns' sample standard deviations; NaN before the second sample."""

REGRESSION_SLOPE = Kind("regression_slope", 2, _regression_slope, sized(_welford.STATE_SIZE))
"""Slope of the least-squares line of the second column on the first; NaN until the first has varied."""

REGRESSION_RESIDUAL = Kind("regression_residual", 2, _regression_residual, sized(_welford.STATE_SIZE + 1))
"""Root mean squared residual of the line of `regression_slope`; NaN until the first column has varied.

Sums the squares of recursive residuals (Brown, Durbin and Evans, J. R. Stat. Soc. B 37, 1975): no term is
negative, so no digits cancel if the points are nearly on a line.
"""

FLAG_AGREEMENT = Kind("flag_agreement", 2, _flag_agreement, sized(2), (THRESHOLD,))
"""Share of samples with both columns above the threshold, or neither."""

STEADY_FLAG_AGREEMENT = Kind(
    "flag_agreement", 2, _steady_flag_agreement, sized(4), (THRESHOLD, Parameter("hysteresis", low=0.0))
)
"""The same for flags that change only if a column is more than `hysteresis` beyond the threshold."""

"""Running sums of the second to fourth powers of deviations from the mean.

Pebay's updates (Sandia report SAND2008-6212, 2008), on differences from the first value in units of the power of
two just above the largest of them: exact at any offset, and no fourth power overflows or underflows.
"""

import math

from feature_extractors.base import kernel

N, X0, EXPONENT, MEAN, M2, M3, M4 = range(7)
"""Places of the state: count, origin, exponent of the unit; mean from the origin, sums of powers, in this unit."""

STATE_SIZE = 7


@kernel
def update(state, at, x):
    """Add a value to the sums that start at place `at` of the state."""
    if state[at + N] == 0.0:
        state[at + X0] = x
    difference = x - state[at + X0]
    _fit_unit(state, at, difference)
    state[at + N] += 1.0
    n = state[at + N]
    d = math.ldexp(difference, -int(state[at + EXPONENT])) - state[at + MEAN]
    share = d / n
    square = d * share * (n - 1.0)
    state[at + MEAN] += share
    state[at + M4] += square * share * share * (n * n - 3.0 * n + 3.0)
    state[at + M4] += share * (6.0 * share * state[at + M2] - 4.0 * state[at + M3])
    state[at + M3] += share * (square * (n - 2.0) - 3.0 * state[at + M2])
    state[at + M2] += square


@kernel
def _fit_unit(state, at, difference):
    """Enlarge the unit if the difference exceeds it; the first difference other than 0 sets it."""
    exponent = math.frexp(difference)[1]
    step = int(state[at + EXPONENT]) - exponent
    if difference != 0.0 and (step < 0 or state[at + M2] == 0.0):
        state[at + EXPONENT] = exponent
        state[at + MEAN] = math.ldexp(state[at + MEAN], step)
        state[at + M2] = math.ldexp(state[at + M2], 2 * step)
        state[at + M3] = math.ldexp(state[at + M3], 3 * step)
        state[at + M4] = math.ldexp(state[at + M4], 4 * step)


@kernel
def skewness(state, at):
    """Skewness g1 of the values so far; NaN before the third, and while all are equal."""
    if state[at + N] < 3.0 or state[at + M2] == 0.0:
        return math.nan
    return math.sqrt(state[at + N]) * state[at + M3] / state[at + M2] ** 1.5


@kernel
def kurtosis(state, at):
    """Excess kurtosis g2 of the values so far; NaN before the fourth, and while all are equal."""
    if state[at + N] < 4.0 or state[at + M2] == 0.0:
        return math.nan
    return state[at + N] * state[at + M4] / (state[at + M2] * state[at + M2]) - 3.0

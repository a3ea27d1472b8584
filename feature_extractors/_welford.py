"""Running means and sums of products, exact at any offset.

Welford's updates (Technometrics 4, 1962), on differences from the first pair, the origin.
"""

import math

from feature_extractors.base import kernel

N, X0, Y0, MEAN_X, MEAN_Y, XX, YY, XY = range(8)
"""Places of the state: count, origin, means from the origin, sums of squared deviations and of their product."""

STATE_SIZE = 8


@kernel
def update(state, at, x, y):
    """Add a pair to the sums that start at place `at` of the state; `y` is None if there is one column."""
    if state[at + N] == 0.0:
        state[at + X0] = x
        if y is not None:
            state[at + Y0] = y
    state[at + N] += 1.0
    n = state[at + N]
    dx = x - state[at + X0] - state[at + MEAN_X]
    state[at + MEAN_X] += dx / n
    state[at + XX] += dx * (x - state[at + X0] - state[at + MEAN_X])
    if y is not None:
        dy = y - state[at + Y0] - state[at + MEAN_Y]
        state[at + MEAN_Y] += dy / n
        rest_y = y - state[at + Y0] - state[at + MEAN_Y]
        state[at + YY] += dy * rest_y
        state[at + XY] += dx * rest_y


@kernel
def slope(state, at):
    """Return the slope of the least-squares line of y on x; NaN until x has varied."""
    return state[at + XY] / state[at + XX] if state[at + XX] > 0.0 else math.nan


@kernel
def correlation(state, at):
    """Return Pearson's correlation of the pairs so far; NaN until both have varied."""
    if state[at + XX] > 0.0 and state[at + YY] > 0.0:
        value = state[at + XY] / (math.sqrt(state[at + XX]) * math.sqrt(state[at + YY]))
        return min(1.0, max(-1.0, value))
    return math.nan

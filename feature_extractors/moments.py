"""Counts, last values and moments, of all samples so far and of the last `window`."""

import math

from feature_extractors import _past, _pebay, _welford, _window
from feature_extractors._window import WINDOW
from feature_extractors.base import Kind, kernel, sized, step


@step
def _count(state, inputs, params, t):
    state[0] += 1.0
    return state[0]


@step
def _last(state, inputs, params, t):
    return inputs[0]


@kernel
def _update(state, x):
    """Welford's update of count, origin, mean from the origin and sum of squared deviations."""
    if state[0] == 0.0:
        state[1] = x
    state[0] += 1.0
    d = x - state[1] - state[2]
    state[2] += d / state[0]
    state[3] += d * (x - state[1] - state[2])


@step
def _mean(state, inputs, params, t):
    _update(state, inputs[0])
    return state[1] + state[2]


@step
def _variance(state, inputs, params, t):
    _update(state, inputs[0])
    return state[3] / (state[0] - 1.0) if state[0] > 1.0 else math.nan


@step
def _energy(state, inputs, params, t):
    _update(state, inputs[0])
    mean = state[1] + state[2]
    return mean * mean + state[3] / state[0]


@step
def _skewness(state, inputs, params, t):
    _pebay.update(state, 0, inputs[0])
    return _pebay.skewness(state, 0)


@step
def _kurtosis(state, inputs, params, t):
    _pebay.update(state, 0, inputs[0])
    return _pebay.kurtosis(state, 0)


@step
def _windowed_mean(state, inputs, params, t):
    _window.push(state, 0, inputs[0], None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@step
def _windowed_variance(state, inputs, params, t):
    _window.push(state, 0, inputs[0], None, int(params[0]))
    return state[_welford.XX] / (state[_welford.N] - 1.0) if state[_welford.N] > 1.0 else math.nan


@step
def _windowed_energy(state, inputs, params, t):
    _window.push(state, 0, inputs[0], None, int(params[0]))
    mean = state[_welford.X0] + state[_welford.MEAN_X]
    return mean * mean + state[_welford.XX] / state[_welford.N]


@kernel
def _sum_powers(state, x, window):
    """Add a value to the window, and sum the powers of its values."""
    n = _past.keep(state, _pebay.STATE_SIZE, x, window)
    for place in range(_pebay.STATE_SIZE):
        state[place] = 0.0
    for k in range(n):
        _pebay.update(state, 0, state[_pebay.STATE_SIZE + 1 + k])


@step
def _windowed_skewness(state, inputs, params, t):
    _sum_powers(state, inputs[0], int(params[0]))
    return _pebay.skewness(state, 0)


@step
def _windowed_kurtosis(state, inputs, params, t):
    _sum_powers(state, inputs[0], int(params[0]))
    return _pebay.kurtosis(state, 0)


def _powers_size(window: float) -> int:
    return _pebay.STATE_SIZE + 1 + int(window)


COUNT = Kind("count", 0, _count, sized(1))
"""Samples since the episode began, including missing readings; it reads no column, so it costs nothing."""

LAST = Kind("last", 1, _last, sized(0))
"""The newest value."""

MEAN = Kind("mean", 1, _mean, sized(4))
"""Mean of all values so far."""

VARIANCE = Kind("variance", 1, _variance, sized(4))
"""Sample variance of all values so far; NaN before the second."""

ENERGY = Kind("energy", 1, _energy, sized(4))
"""Mean of the squares of all values so far."""

SKEWNESS = Kind("skewness", 1, _skewness, sized(_pebay.STATE_SIZE))
"""Skewness g1 of all values so far; NaN before the third, and while all are equal."""

KURTOSIS = Kind("kurtosis", 1, _kurtosis, sized(_pebay.STATE_SIZE))
"""Excess kurtosis g2 of all values so far; NaN before the fourth, and while all are equal."""

WINDOWED_MEAN = Kind("mean", 1, _windowed_mean, _window.state_size, (WINDOW,), state_version=2)
"""Mean of the last `window` values, or fewer at the beginning."""

WINDOWED_VARIANCE = Kind("variance", 1, _windowed_variance, _window.state_size, (WINDOW,), state_version=2)
"""Sample variance of the last `window` values, or fewer at the beginning; NaN before the second."""

WINDOWED_ENERGY = Kind("energy", 1, _windowed_energy, _window.state_size, (WINDOW,))
"""Mean of the squares of the last `window` values."""

WINDOWED_SKEWNESS = Kind("skewness", 1, _windowed_skewness, _powers_size, (WINDOW,))
"""Skewness of the last `window` values; NaN if `SKEWNESS` of them is. The work is ~window per sample."""

WINDOWED_KURTOSIS = Kind("kurtosis", 1, _windowed_kurtosis, _powers_size, (WINDOW,))
"""Excess kurtosis of the last `window` values; NaN if `KURTOSIS` of them is. The work is ~window per sample."""

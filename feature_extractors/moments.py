"""Counts, last values and moments, of all samples so far and of the last `window`."""

import math

from feature_extractors import _past, _pebay, _welford, _window
from feature_extractors._window import WINDOW
from feature_extractors.base import Parameter, kernel, kind, sized


@kind("count", 0, sized(1))
def COUNT(state, inputs, params, t):
    """Samples since the episode began, including missing readings; it reads no column, so it costs nothing."""
    state[0] += 1.0
    return state[0]


@kind("last", 1, sized(0))
def LAST(state, inputs, params, t):
    """The newest value."""
    return inputs[0]


@kind("last", 1, sized(0), (Parameter("lowest"),))
def LAST_UNLESS_LOWER(state, inputs, params, t):
    """The newest value; NaN if it is lower than `lowest`, as are codes of what has none."""
    return inputs[0] if inputs[0] >= params[0] else math.nan


@kernel
def _update(state, x):
    """Welford's update of count, origin, mean from the origin and sum of squared deviations."""
    if state[0] == 0.0:
        state[1] = x
    state[0] += 1.0
    d = x - state[1] - state[2]
    state[2] += d / state[0]
    state[3] += d * (x - state[1] - state[2])


@kind("mean", 1, sized(4))
def MEAN(state, inputs, params, t):
    """Mean of all values so far."""
    _update(state, inputs[0])
    return state[1] + state[2]


@kind("variance", 1, sized(4))
def VARIANCE(state, inputs, params, t):
    """Sample variance of all values so far; NaN before the second."""
    _update(state, inputs[0])
    return state[3] / (state[0] - 1.0) if state[0] > 1.0 else math.nan


@kind("energy", 1, sized(4))
def ENERGY(state, inputs, params, t):
    """Mean of the squares of all values so far."""
    _update(state, inputs[0])
    mean = state[1] + state[2]
    return mean * mean + state[3] / state[0]


@kind("skewness", 1, sized(_pebay.STATE_SIZE))
def SKEWNESS(state, inputs, params, t):
    """Skewness g1 of all values so far; NaN before the third, and while all are equal."""
    _pebay.update(state, 0, inputs[0])
    return _pebay.skewness(state, 0)


@kind("kurtosis", 1, sized(_pebay.STATE_SIZE))
def KURTOSIS(state, inputs, params, t):
    """Excess kurtosis g2 of all values so far; NaN before the fourth, and while all are equal."""
    _pebay.update(state, 0, inputs[0])
    return _pebay.kurtosis(state, 0)


@kind("mean", 1, _window.state_size, (WINDOW,), state_version=2)
def WINDOWED_MEAN(state, inputs, params, t):
    """Mean of the last `window` values, or fewer at the beginning."""
    _window.push(state, 0, inputs[0], None, int(params[0]))
    return state[_welford.X0] + state[_welford.MEAN_X]


@kind("variance", 1, _window.state_size, (WINDOW,), state_version=2)
def WINDOWED_VARIANCE(state, inputs, params, t):
    """Sample variance of the last `window` values, or fewer at the beginning; NaN before the second."""
    _window.push(state, 0, inputs[0], None, int(params[0]))
    return state[_welford.XX] / (state[_welford.N] - 1.0) if state[_welford.N] > 1.0 else math.nan


@kind("energy", 1, _window.state_size, (WINDOW,))
def WINDOWED_ENERGY(state, inputs, params, t):
    """Mean of the squares of the last `window` values."""
    _window.push(state, 0, inputs[0], None, int(params[0]))
    mean = state[_welford.X0] + state[_welford.MEAN_X]
    return mean * mean + state[_welford.XX] / state[_welford.N]


def _powers_size(window: float) -> int:
    return _pebay.STATE_SIZE + 1 + int(window)


@kernel
def _sum_powers(state, x, window):
    """Add a value to the window, and sum the powers of its values."""
    n = _past.keep(state, _pebay.STATE_SIZE, x, window)
    for place in range(_pebay.STATE_SIZE):
        state[place] = 0.0
    for k in range(n):
        _pebay.update(state, 0, state[_pebay.STATE_SIZE + 1 + k])


@kind("skewness", 1, _powers_size, (WINDOW,))
def WINDOWED_SKEWNESS(state, inputs, params, t):
    """Skewness of the last `window` values; NaN if `SKEWNESS` of them is; ~window work per sample."""
    _sum_powers(state, inputs[0], int(params[0]))
    return _pebay.skewness(state, 0)


@kind("kurtosis", 1, _powers_size, (WINDOW,))
def WINDOWED_KURTOSIS(state, inputs, params, t):
    """Excess kurtosis of the last `window` values; NaN if `KURTOSIS` of them is; ~window work per sample."""
    _sum_powers(state, inputs[0], int(params[0]))
    return _pebay.kurtosis(state, 0)

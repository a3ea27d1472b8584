"""Extremes and quantiles, of all samples so far and of the last `window`."""

from feature_extractors import _markers, _sorted
from feature_extractors._window import WINDOW
from feature_extractors.base import Parameter, kernel, kind, sized

Q = Parameter("q", default=0.5, low=0.001, high=0.999)


@kernel
def _update(state, x):
    """Update minimum and maximum."""
    if state[0] == 0.0:
        state[0] = 1.0
        state[1] = x
        state[2] = x
    state[1] = min(state[1], x)
    state[2] = max(state[2], x)


@kind("min", 1, sized(3))
def MIN(state, inputs, params, t):
    """The minimum so far."""
    _update(state, inputs[0])
    return state[1]


@kind("max", 1, sized(3))
def MAX(state, inputs, params, t):
    """The maximum so far."""
    _update(state, inputs[0])
    return state[2]


@kind("range", 1, sized(3))
def RANGE(state, inputs, params, t):
    """The maximum so far minus the minimum."""
    _update(state, inputs[0])
    return state[2] - state[1]


@kernel
def _time_of_record(state, x, t):
    """Update the maximum and its time; return the time."""
    if state[0] == 0.0 or x > state[1]:
        state[0] = 1.0
        state[1] = x
        state[2] = t
    return state[2]


@kind("time_of_max", 1, sized(3))
def TIME_OF_MAX(state, inputs, params, t):
    """Time of the first maximum so far, in seconds."""
    return _time_of_record(state, inputs[0], t)


@kind("time_of_min", 1, sized(3))
def TIME_OF_MIN(state, inputs, params, t):
    """Time of the first minimum so far, in seconds."""
    return _time_of_record(state, -inputs[0], t)


@kind("quantile", 1, sized(_markers.STATE_SIZE), (Q,))
def QUANTILE(state, inputs, params, t):
    """Quantile `q` of all values so far: exact up to the fifth, then estimated by the P2 algorithm."""
    above_first = _markers.update(state, 0, inputs[0], params[0])
    return state[_markers.X0] + above_first


@kind("interquartile_range", 1, sized(2 * _markers.STATE_SIZE))
def INTERQUARTILE_RANGE(state, inputs, params, t):
    """Upper minus lower quartile, both as `QUANTILE`."""
    low = _markers.update(state, 0, inputs[0], 0.25)
    return _markers.update(state, _markers.STATE_SIZE, inputs[0], 0.75) - low


@kind("min", 1, _sorted.state_size, (WINDOW,))
def WINDOWED_MIN(state, inputs, params, t):
    """The minimum of the last `window` values. The work is ~window per sample, as for all below."""
    _sorted.push(state, 0, inputs[0], int(params[0]))
    return state[_sorted.SORTED]


@kind("max", 1, _sorted.state_size, (WINDOW,))
def WINDOWED_MAX(state, inputs, params, t):
    """The maximum of the last `window` values."""
    n = _sorted.push(state, 0, inputs[0], int(params[0]))
    return state[_sorted.SORTED + n - 1]


@kind("range", 1, _sorted.state_size, (WINDOW,))
def WINDOWED_RANGE(state, inputs, params, t):
    """The maximum of the last `window` values minus the minimum."""
    n = _sorted.push(state, 0, inputs[0], int(params[0]))
    return state[_sorted.SORTED + n - 1] - state[_sorted.SORTED]


@kind("quantile", 1, lambda q, window: _sorted.state_size(window), (Q, WINDOW))
def WINDOWED_QUANTILE(state, inputs, params, t):
    """Quantile `q` of the last `window` values, interpolated linearly."""
    n = _sorted.push(state, 0, inputs[0], int(params[1]))
    return _sorted.quantile(state, _sorted.SORTED, n, params[0], 0.0)


@kind("interquartile_range", 1, _sorted.state_size, (WINDOW,))
def WINDOWED_INTERQUARTILE_RANGE(state, inputs, params, t):
    """Upper minus lower quartile, both as `WINDOWED_QUANTILE`."""
    n = _sorted.push(state, 0, inputs[0], int(params[0]))
    middle = state[_sorted.SORTED + n // 2]
    low = _sorted.quantile(state, _sorted.SORTED, n, 0.25, middle)
    return _sorted.quantile(state, _sorted.SORTED, n, 0.75, middle) - low

"""Extremes and quantiles, of all samples so far and of the last `window`."""

from feature_extractors import _markers, _sorted
from feature_extractors._window import WINDOW
from feature_extractors.base import Kind, Parameter, kernel, sized, step

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


@step
def _min(state, inputs, params, t):
    _update(state, inputs[0])
    return state[1]


@step
def _max(state, inputs, params, t):
    _update(state, inputs[0])
    return state[2]


@step
def _range(state, inputs, params, t):
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


@step
def _time_of_max(state, inputs, params, t):
    return _time_of_record(state, inputs[0], t)


@step
def _time_of_min(state, inputs, params, t):
    return _time_of_record(state, -inputs[0], t)


@step
def _quantile(state, inputs, params, t):
    above_first = _markers.update(state, 0, inputs[0], params[0])
    return state[_markers.X0] + above_first


@step
def _interquartile_range(state, inputs, params, t):
    low = _markers.update(state, 0, inputs[0], 0.25)
    return _markers.update(state, _markers.STATE_SIZE, inputs[0], 0.75) - low


@step
def _windowed_min(state, inputs, params, t):
    _sorted.push(state, 0, inputs[0], int(params[0]))
    return state[_sorted.SORTED]


@step
def _windowed_max(state, inputs, params, t):
    n = _sorted.push(state, 0, inputs[0], int(params[0]))
    return state[_sorted.SORTED + n - 1]


@step
def _windowed_range(state, inputs, params, t):
    n = _sorted.push(state, 0, inputs[0], int(params[0]))
    return state[_sorted.SORTED + n - 1] - state[_sorted.SORTED]


@step
def _windowed_quantile(state, inputs, params, t):
    n = _sorted.push(state, 0, inputs[0], int(params[1]))
    return _sorted.quantile(state, _sorted.SORTED, n, params[0], 0.0)


@step
def _windowed_interquartile_range(state, inputs, params, t):
    n = _sorted.push(state, 0, inputs[0], int(params[0]))
    middle = state[_sorted.SORTED + n // 2]
    low = _sorted.quantile(state, _sorted.SORTED, n, 0.25, middle)
    return _sorted.quantile(state, _sorted.SORTED, n, 0.75, middle) - low


def _quantile_size(q: float, window: float) -> int:
    return _sorted.state_size(window)


MIN = Kind("min", 1, _min, sized(3))
"""The minimum so far."""

MAX = Kind("max", 1, _max, sized(3))
"""The maximum so far."""

RANGE = Kind("range", 1, _range, sized(3))
"""The maximum so far minus the minimum."""

TIME_OF_MAX = Kind("time_of_max", 1, _time_of_max, sized(3))
"""Time of the first maximum so far, in seconds."""

TIME_OF_MIN = Kind("time_of_min", 1, _time_of_min, sized(3))
"""Time of the first minimum so far, in seconds."""

QUANTILE = Kind("quantile", 1, _quantile, sized(_markers.STATE_SIZE), (Q,))
"""Quantile `q` of all values so far: exact up to the fifth, then estimated by the P2 algorithm."""

INTERQUARTILE_RANGE = Kind("interquartile_range", 1, _interquartile_range, sized(2 * _markers.STATE_SIZE))
"""Upper minus lower quartile, both as `QUANTILE`."""

WINDOWED_MIN = Kind("min", 1, _windowed_min, _sorted.state_size, (WINDOW,))
"""The minimum of the last `window` values. The work is ~window per sample, as for all below."""

WINDOWED_MAX = Kind("max", 1, _windowed_max, _sorted.state_size, (WINDOW,))
"""The maximum of the last `window` values."""

WINDOWED_RANGE = Kind("range", 1, _windowed_range, _sorted.state_size, (WINDOW,))
"""The maximum of the last `window` values minus the minimum."""

WINDOWED_QUANTILE = Kind("quantile", 1, _windowed_quantile, _quantile_size, (Q, WINDOW))
"""Quantile `q` of the last `window` values, interpolated linearly."""

WINDOWED_INTERQUARTILE_RANGE = Kind(
    "interquartile_range", 1, _windowed_interquartile_range, _sorted.state_size, (WINDOW,)
)
"""Upper minus lower quartile, both as `WINDOWED_QUANTILE`."""

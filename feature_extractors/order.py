"""The least, the greatest, and the distance between them."""

from numba import cfunc, njit

from feature_extractors.base import STEP, Kind, sized


@njit(cache=True, nogil=True)
def _update(state, x):
    """Keep the least and the greatest value."""
    if state[0] == 0.0:
        state[0] = 1.0
        state[1] = x
        state[2] = x
    state[1] = min(state[1], x)
    state[2] = max(state[2], x)


@cfunc(STEP, cache=True)
def _min(state, inputs, params, t):
    _update(state, inputs[0])
    return state[1]


@cfunc(STEP, cache=True)
def _max(state, inputs, params, t):
    _update(state, inputs[0])
    return state[2]


@cfunc(STEP, cache=True)
def _range(state, inputs, params, t):
    _update(state, inputs[0])
    return state[2] - state[1]


MIN = Kind("min", 1, _min, sized(3))
"""The least value so far."""

MAX = Kind("max", 1, _max, sized(3))
"""The greatest value so far."""

RANGE = Kind("range", 1, _range, sized(3))
"""The greatest value so far less the least."""

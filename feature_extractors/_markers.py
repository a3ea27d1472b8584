"""A quantile of all values so far, estimated by five markers.

The P2 algorithm (Jain & Chlamtac, CACM 28, 1985): markers at the minimum and the maximum, at the quantile, and
half way to either; each moves by at most one rank per sample, along a parabola through its neighbours. Up to the
fifth value the markers are the values. All are relative to the first value, so they are exact at any offset.
"""

import math

from feature_extractors import _sorted
from feature_extractors.base import kernel

N, X0, HEIGHTS, RANKS, STATE_SIZE = 0, 1, 2, 7, 12
"""Places of the state: count, origin, five heights in ascending order, and their ranks, from 1."""


@kernel
def update(state, at, x, q):
    """Add a value to the markers that start at place `at` of the state; return quantile `q` minus the origin."""
    n = int(state[at + N])
    heights, ranks = at + HEIGHTS, at + RANKS
    if n == 0:
        state[at + X0] = x
    state[at + N] += 1.0
    if n < 5:
        state[ranks + n] = n + 1.0
        state[heights + n] = x - state[at + X0]
        _sorted.settle(state, heights, n, n + 1)
        return _sorted.quantile(state, heights, n + 1, q, 0.0)
    _count(state, heights, ranks, x - state[at + X0])
    _move(state, heights + 1, ranks + 1, 1.0 + n * (q / 2.0))
    _move(state, heights + 2, ranks + 2, 1.0 + n * q)
    _move(state, heights + 3, ranks + 3, 1.0 + n * ((1.0 + q) / 2.0))
    return state[heights + 2]


@kernel
def _count(state, heights, ranks, x):
    """Extend the outer markers to a value, and increment the ranks of the markers above it."""
    state[heights] = min(state[heights], x)
    state[heights + 4] = max(state[heights + 4], x)
    for k in range(1, 4):
        if x < state[heights + k]:
            state[ranks + k] += 1.0
    state[ranks + 4] += 1.0


@kernel
def _move(state, height, rank, desired):
    """Move a marker by one rank towards the desired one, if it is at least one away and the rank is free."""
    ahead = desired - state[rank]
    up = state[rank + 1] - state[rank]
    down = state[rank] - state[rank - 1]
    if not ((ahead >= 1.0 and up > 1.0) or (ahead <= -1.0 and down > 1.0)):
        return
    d = math.copysign(1.0, ahead)
    rise = (down + d) * (state[height + 1] - state[height]) / up
    fall = (up - d) * (state[height] - state[height - 1]) / down
    parabolic = state[height] + d / (up + down) * (rise + fall)
    if state[height - 1] < parabolic < state[height + 1]:
        state[height] = parabolic
    else:
        to = int(d)
        state[height] += d * (state[height + to] - state[height]) / (state[rank + to] - state[rank])
    state[rank] += d

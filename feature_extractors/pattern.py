"""Patterns of a column: responses to fixed kernels, which see the shape of a curve.

The 84 kernels of Dempster, Schmidt and Webb (MiniRocket, KDD 2021, arXiv 2012.08791) have nine taps: three weigh
2, the others -1, so that a response does not depend on the level. The number of a kernel says which three are
heavy, and the dilation how many values apart the taps are.

Responses are summed from differences from the newest value, and so are exact at any offset. The taps before it lie
side by side in the state, whatever the dilation: a response reads two cache lines of the ring at most.
"""

import math
from itertools import combinations

import numpy as np

from feature_extractors import _welford
from feature_extractors.base import Parameter, kernel, kind

N_TAPS = 9
TURNS = N_TAPS - 1

HEAVY_TAPS = tuple(combinations(range(N_TAPS), 3))
"""The taps of weight 2 of each kernel, counted from the oldest."""

WEIGHTS = np.array([2 * [2.0 if tap in heavy else -1.0 for tap in range(TURNS)] for heavy in HEAVY_TAPS])
"""The weights of all taps but the newest, twice in a row, so that those of any turn lie side by side."""

KERNEL = Parameter("kernel", low=0, high=len(HEAVY_TAPS) - 1, whole=True)
DILATION = Parameter("dilation", low=1, high=1_250, whole=True)
BIAS = Parameter("bias")

NEAR = 1e-9
"""A response is above a bias if it is by this share of what it is summed from: rounding does not decide."""

N, SLOT, FOUND, RING = range(4)
"""Places of the state: count, slot of the next value, what was found so far, and a ring of 8 `dilation` values:
value i is in turn ``i // dilation % 8`` of phase ``i % dilation``. The sums of a normalised pattern follow."""


def size(kernel: float, dilation: float, **_bias: float) -> int:
    """Return the number of floats of a pattern."""
    return RING + TURNS * int(dilation)


def normalised_size(kernel: float, dilation: float, **_bias: float) -> int:
    """Return the number of floats of a normalised pattern."""
    return size(kernel, dilation) + _welford.STATE_SIZE


@kernel
def _respond(state, x, number, dilation):
    """Add a value; return the response and the size of what it is summed from, or NaN and 0 before the first."""
    slot = int(state[SLOT])
    turn = slot % TURNS
    response, extent = math.nan, 0.0
    if state[N] >= TURNS * dilation:
        response = 0.0
        for k in range(TURNS):
            d = state[RING + slot - turn + k] - x
            response += WEIGHTS[number, TURNS - turn + k] * d
            extent += math.fabs(d)
    state[N] += 1.0
    state[RING + slot] = x
    slot += TURNS
    state[SLOT] = slot if slot < TURNS * dilation else (turn + 1) % TURNS
    return response, extent


@kernel
def _deviation(state, x, dilation):
    """Add a value to the sums; return the standard deviation of all values so far, 0 of one."""
    sums = RING + TURNS * dilation
    _welford.update(state, sums, x, None)
    return math.sqrt(state[sums + _welford.XX] / max(state[sums + _welford.N] - 1.0, 1.0))


@kernel
def _greatest(state, response, dilation):
    """Keep the greatest response and return it."""
    if state[N] <= TURNS * dilation:
        return math.nan
    if state[N] == TURNS * dilation + 1.0 or response > state[FOUND]:
        state[FOUND] = response
    return state[FOUND]


@kernel
def _share_above(state, response, extent, dilation, bias):
    """Count the response if it is above the bias; return the share of those that were."""
    if state[N] <= TURNS * dilation:
        return math.nan
    if response - bias > NEAR * extent:
        state[FOUND] += 1.0
    return state[FOUND] / (state[N] - TURNS * dilation)


@kind("pattern_max", 1, size, (KERNEL, DILATION))
def MAX(state, inputs, params, t):
    """Greatest response of a kernel so far; NaN before 8 `dilation` + 1 values."""
    dilation = int(params[1])
    response, _ = _respond(state, inputs[0], int(params[0]), dilation)
    return _greatest(state, response, dilation)


@kind("pattern_share", 1, size, (KERNEL, DILATION, BIAS))
def SHARE(state, inputs, params, t):
    """Share of the responses so far that are above `bias`; NaN before the first."""
    dilation = int(params[1])
    response, extent = _respond(state, inputs[0], int(params[0]), dilation)
    return _share_above(state, response, extent, dilation, params[2])


@kind("normalised_pattern_max", 1, normalised_size, (KERNEL, DILATION))
def NORMALISED_MAX(state, inputs, params, t):
    """Greatest response so far over the standard deviation of all values so far; 0 while they are equal."""
    dilation = int(params[1])
    deviation = _deviation(state, inputs[0], dilation)
    response, _ = _respond(state, inputs[0], int(params[0]), dilation)
    greatest = _greatest(state, response, dilation)
    return greatest / deviation if deviation > 0.0 else 0.0 * greatest


@kind("normalised_pattern_share", 1, normalised_size, (KERNEL, DILATION, BIAS))
def NORMALISED_SHARE(state, inputs, params, t):
    """Share of the responses so far that are above `bias` standard deviations of the values up to each."""
    dilation = int(params[1])
    deviation = _deviation(state, inputs[0], dilation)
    response, extent = _respond(state, inputs[0], int(params[0]), dilation)
    if deviation > 0.0:
        response, extent = response / deviation, extent / deviation
    else:
        response, extent = 0.0 * response, 0.0
    return _share_above(state, response, extent, dilation, params[2])

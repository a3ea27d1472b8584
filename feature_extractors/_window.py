"""Running sums of the last `window` pairs, exact at any offset and after any outlier.

Two stacks (Tangwongsan and others, PVLDB 8, 2015): the window is a suffix of the previous block of `window` pairs,
whose suffixes are summed once when the block ends, and a prefix of the current block. Suffixes are relative to the
last pair of their block, prefixes to the first, which are pairs in the window. So joining the two by Chan's
formula loses no digits, whatever has left the window. The work per sample is constant on average.

In a step::

    _window.push(state, at, x, y, window)
    return _welford.correlation(state, at)

The sums of the window start at place `at` of the state and have the layout and meaning of those of `_welford`,
whose functions apply to them. `window` is a whole number, at least 1; a feature of one column pushes None for `y`.
The state takes `state_size(window)` floats.
"""

from feature_extractors import _welford
from feature_extractors._welford import MEAN_X, MEAN_Y, X0, XX, XY, Y0, YY, N
from feature_extractors.base import Parameter, kernel

WINDOW = Parameter("window", low=2, high=1_000_000, whole=True)

PREFIX = _welford.STATE_SIZE
HAS_BEFORE, X0_BEFORE, Y0_BEFORE, SLOTS = range(2 * PREFIX, 2 * PREFIX + 4)
"""Places after the window's own sums: those of the current block, whether there is a previous one, its last pair,
and `window` slots. A slot holds a pair of the current block, or the sums of a suffix of the previous one."""

SLOT_SIZE = 5


def state_size(window: float) -> int:
    """Return the number of floats of the sums of a window."""
    return SLOTS + SLOT_SIZE * int(window)


@kernel
def push(state, at, x, y, window):
    """Add a pair to the window and update its sums, at place `at` of the state."""
    prefix = at + PREFIX
    if state[prefix + N] == window:
        _end_block(state, at, y, window)
    slot = at + SLOTS + SLOT_SIZE * int(state[prefix + N])
    state[slot] = x
    if y is not None:
        state[slot + 1] = y
    _welford.update(state, prefix, x, y)
    _copy(state, prefix, at, y)
    if state[at + HAS_BEFORE] == 1.0 and state[at + N] < window:
        _join(state, at, slot + SLOT_SIZE, y, window)


@kernel
def _end_block(state, at, y, window):
    """Sum the suffixes of the full block, and start an empty one."""
    prefix = at + PREFIX
    _clear(state, prefix)
    for k in range(window - 1, -1, -1):
        slot = at + SLOTS + SLOT_SIZE * k
        _welford.update(state, prefix, state[slot], None if y is None else state[slot + 1])
        state[slot] = state[prefix + MEAN_X]
        state[slot + 2] = state[prefix + XX]
        if y is not None:
            state[slot + 1] = state[prefix + MEAN_Y]
            state[slot + 3] = state[prefix + YY]
            state[slot + 4] = state[prefix + XY]
    state[at + HAS_BEFORE] = 1.0
    state[at + X0_BEFORE] = state[prefix + _welford.X0]
    state[at + Y0_BEFORE] = state[prefix + _welford.Y0]
    _clear(state, prefix)


@kernel
def _clear(state, at):
    for k in range(_welford.STATE_SIZE):
        state[at + k] = 0.0


@kernel
def _copy(state, start, at, y):
    state[at + N] = state[start + N]
    state[at + X0] = state[start + X0]
    state[at + MEAN_X] = state[start + MEAN_X]
    state[at + XX] = state[start + XX]
    if y is not None:
        state[at + Y0] = state[start + Y0]
        state[at + MEAN_Y] = state[start + MEAN_Y]
        state[at + YY] = state[start + YY]
        state[at + XY] = state[start + XY]


@kernel
def _join(state, at, suffix, y, window):
    """Add the sums of the suffix of the previous block that completes the window."""
    share = state[at + N] / window
    weight = share * (window - state[at + N])
    mean_x = state[suffix] + (state[at + X0_BEFORE] - state[at + X0])
    gap_x = state[at + MEAN_X] - mean_x
    state[at + N] = window
    state[at + MEAN_X] = mean_x + gap_x * share
    state[at + XX] += state[suffix + 2] + gap_x * gap_x * weight
    if y is not None:
        mean_y = state[suffix + 1] + (state[at + Y0_BEFORE] - state[at + Y0])
        gap_y = state[at + MEAN_Y] - mean_y
        state[at + MEAN_Y] = mean_y + gap_y * share
        state[at + YY] += state[suffix + 3] + gap_y * gap_y * weight
        state[at + XY] += state[suffix + 4] + gap_x * gap_y * weight

"""Shape of a column's curve: mean crossings, turns, peaks, and the length of rises and falls."""

from feature_extractors import _past
from feature_extractors._window import WINDOW
from feature_extractors.base import kernel, kind, sized

FINE = 2.0**600
"""Factor applied to deviations from a mean, so that the smallest are not rounded; exact up to 1e100."""

NEAR = 1e-9
"""A value within this share of the range of the mean is on neither side of it."""

SIDE, CROSSINGS, N, X0, MEAN, LOW, HIGH = range(7)
"""Places of the state of mean crossings; the moments are relative to the first value."""

SEEN, BEFORE, DIRECTION, NUMBER, MOST, RING = range(6)
"""Places of the state of the others: whether there is a previous value, that value, the direction or length of the
current run, the number of runs or peaks, the length of the longest run, and, in a window, its values."""


@kernel
def _take_side(state, deviation, spread):
    """Count a crossing if the deviation from the mean has changed sides."""
    if abs(deviation) > NEAR * spread:
        side = 1.0 if deviation > 0.0 else -1.0
        if state[SIDE] == -side:
            state[CROSSINGS] += 1.0
        state[SIDE] = side


@kind("mean_crossings", 1, sized(HIGH + 1))
def MEAN_CROSSINGS(state, inputs, params, t):
    """Number of times a value was on the other side of the mean so far than its predecessor."""
    if state[N] == 0.0:
        state[X0] = inputs[0]
    state[N] += 1.0
    d = (inputs[0] - state[X0]) * FINE
    state[MEAN] += (d - state[MEAN]) / state[N]
    state[LOW] = min(state[LOW], d)
    state[HIGH] = max(state[HIGH], d)
    _take_side(state, d - state[MEAN], state[HIGH] - state[LOW])
    return state[CROSSINGS]


@kernel
def _direction(state, x):
    """Return the sign of the increment from the previous value, 0 for the first value."""
    direction = 0.0
    if state[SEEN] == 1.0 and x != state[BEFORE]:
        direction = 1.0 if x > state[BEFORE] else -1.0
    state[SEEN] = 1.0
    state[BEFORE] = x
    return direction


@kernel
def _count_runs(state, x):
    """Count a run of increments of one sign when it begins."""
    direction = _direction(state, x)
    if direction not in (0.0, state[DIRECTION]):
        state[DIRECTION] = direction
        state[NUMBER] += 1.0


@kind("sign_runs", 1, sized(RING))
def SIGN_RUNS(state, inputs, params, t):
    """Number of runs of increments of one sign; those of 0 are skipped."""
    _count_runs(state, inputs[0])
    return state[NUMBER]


@kernel
def _measure_run(state, x, wanted):
    """Update the length of the longest run of increments of the wanted sign."""
    state[DIRECTION] = state[DIRECTION] + 1.0 if _direction(state, x) == wanted else 0.0
    state[MOST] = max(state[MOST], state[DIRECTION])


@kind("longest_rise", 1, sized(RING))
def LONGEST_RISE(state, inputs, params, t):
    """Largest number of consecutive increments above 0."""
    _measure_run(state, inputs[0], 1.0)
    return state[MOST]


@kind("longest_fall", 1, sized(RING))
def LONGEST_FALL(state, inputs, params, t):
    """Largest number of consecutive increments below 0."""
    _measure_run(state, inputs[0], -1.0)
    return state[MOST]


@kernel
def _count_peaks(state, x):
    """Count a peak at a fall if the last increment other than 0 was a rise."""
    direction = _direction(state, x)
    if direction == -1.0 and state[DIRECTION] == 1.0:
        state[NUMBER] += 1.0
    if direction != 0.0:
        state[DIRECTION] = direction


@kind("peaks", 1, sized(RING))
def PEAKS(state, inputs, params, t):
    """Number of local maxima, each counted at the fall after it; a plateau is one."""
    _count_peaks(state, inputs[0])
    return state[NUMBER]


@kind("mean_crossings", 1, lambda window: N + 1 + int(window), (WINDOW,))
def WINDOWED_MEAN_CROSSINGS(state, inputs, params, t):
    """Number of times the last `window` values cross their mean. The work is ~window per sample."""
    n = _past.keep(state, N, inputs[0], int(params[0]))
    oldest = state[N + 1]
    total, low, high = 0.0, 0.0, 0.0
    for k in range(n):
        d = (state[N + 1 + k] - oldest) * FINE
        total += d
        low = min(low, d)
        high = max(high, d)
    state[SIDE] = 0.0
    state[CROSSINGS] = 0.0
    for k in range(n):
        _take_side(state, (state[N + 1 + k] - oldest) * FINE - total / n, high - low)
    return state[CROSSINGS]


def _ring_size(window: float) -> int:
    return RING + 1 + int(window)


@kernel
def _begin(state, x, window):
    """Add a value to a window and reset the state about it; return the number of values."""
    n = _past.keep(state, RING, x, window)
    for place in range(RING):
        state[place] = 0.0
    return n


@kind("sign_runs", 1, _ring_size, (WINDOW,))
def WINDOWED_SIGN_RUNS(state, inputs, params, t):
    """Number of runs of increments of one sign among the last `window` values. The work is ~window per sample."""
    for k in range(_begin(state, inputs[0], int(params[0]))):
        _count_runs(state, state[RING + 1 + k])
    return state[NUMBER]


@kind("longest_rise", 1, _ring_size, (WINDOW,))
def WINDOWED_LONGEST_RISE(state, inputs, params, t):
    """Largest number of consecutive rises in the last `window` values. The work is ~window per sample."""
    for k in range(_begin(state, inputs[0], int(params[0]))):
        _measure_run(state, state[RING + 1 + k], 1.0)
    return state[MOST]


@kind("longest_fall", 1, _ring_size, (WINDOW,))
def WINDOWED_LONGEST_FALL(state, inputs, params, t):
    """Largest number of consecutive falls in the last `window` values. The work is ~window per sample."""
    for k in range(_begin(state, inputs[0], int(params[0]))):
        _measure_run(state, state[RING + 1 + k], -1.0)
    return state[MOST]


@kind("peaks", 1, _ring_size, (WINDOW,))
def WINDOWED_PEAKS(state, inputs, params, t):
    """Number of local maxima within the last `window` values. The work is ~window per sample."""
    for k in range(_begin(state, inputs[0], int(params[0]))):
        _count_peaks(state, state[RING + 1 + k])
    return state[NUMBER]

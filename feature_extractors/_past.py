"""The past of a column: the value some samples ago, and the newest values in order."""

import math

from feature_extractors.base import Parameter, kernel

LAG = Parameter("lag", default=1, low=1, high=10_000, whole=True)

N, PLACE, VALUES = range(3)
"""Places of the state of a delay: count, place of the next value, and a ring of the last `lag` values."""


def delay_size(lag: float) -> int:
    """Return the number of floats of a delay."""
    return VALUES + int(lag)


@kernel
def delayed(state, at, x, lag):
    """Add a value; return the one `lag` samples earlier, or NaN while the first stays at `at` + `VALUES`."""
    place = int(state[at + PLACE])
    slot = at + VALUES + place
    before = state[slot] if state[at + N] == lag else math.nan
    state[slot] = x
    state[at + N] = min(state[at + N] + 1.0, lag)
    state[at + PLACE] = place + 1 if place + 1 < lag else 0
    return before


@kernel
def keep(state, at, x, window):
    """Add a value to the newest `window`, oldest first from `at` on (window + 1 floats); return their number."""
    n = int(state[at])
    if n < window:
        n += 1
        state[at] = n
    else:
        for k in range(at + 1, at + window):
            state[k] = state[k + 1]
    state[at + n] = x
    return n

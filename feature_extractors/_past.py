"""The past of one column: the value some samples ago, and the newest values in order."""

import math

from feature_extractors.base import Parameter, kernel

LAG = Parameter("lag", default=1, low=1, high=10_000, whole=True)

N, PLACE, VALUES = range(3)
"""Places of the state of a delay: count, where the next value goes, and the last `lag` values in turn."""


def delay_size(lag: float) -> int:
    """Number of floats that a delay takes."""
    return VALUES + int(lag)


@kernel
def delayed(state, at, x, lag):
    """Add a value; return the one of `lag` samples before, NaN while there is none.

    Until there is one, the first value stays at place `at` + `VALUES`.
    """
    place = int(state[at + PLACE])
    slot = at + VALUES + place
    before = state[slot] if state[at + N] == lag else math.nan
    state[slot] = x
    state[at + N] = min(state[at + N] + 1.0, lag)
    state[at + PLACE] = place + 1 if place + 1 < lag else 0
    return before


@kernel
def keep(state, at, x, window):
    """Add a value to the newest `window`; return how many there are.

    They stand after place `at` of the state, the oldest first: window + 1 floats. The work is ~window a sample.
    """
    n = int(state[at])
    if n < window:
        n += 1
        state[at] = n
    else:
        for k in range(at + 1, at + window):
            state[k] = state[k + 1]
    state[at + n] = x
    return n

"""The last `window` values of one column, sorted, and quantiles of sorted values."""

from feature_extractors.base import kernel

N, PLACE, SORTED = range(3)
"""Places of the state: count, place of the next value, and the sorted values; a ring of the same follows."""


def state_size(window: float) -> int:
    """Return the number of floats of a sorted window."""
    return SORTED + 2 * int(window)


@kernel
def push(state, at, x, window):
    """Add a value at `at` + `SORTED`, replacing the oldest one if the window is full; return their number."""
    n, place = int(state[at + N]), int(state[at + PLACE])
    first, turn = at + SORTED, at + SORTED + window + place
    k = 0
    if n < window:
        k = n
        n += 1
        state[at + N] = n
    else:
        while state[first + k] != state[turn]:
            k += 1
    state[turn] = x
    state[at + PLACE] = place + 1 if place + 1 < window else 0
    state[first + k] = x
    settle(state, first, k, n)
    return n


@kernel
def settle(state, at, k, n):
    """Move the k-th of `n` values, of which all others are sorted, to its place."""
    x = state[at + k]
    while k > 0 and state[at + k - 1] > x:
        state[at + k] = state[at + k - 1]
        k -= 1
    while k < n - 1 and state[at + k + 1] < x:
        state[at + k] = state[at + k + 1]
        k += 1
    state[at + k] = x


@kernel
def quantile(state, at, n, q, origin):
    """Interpolate the quantile `q` of `n` sorted values at place `at` of the state, minus an origin."""
    place = (n - 1) * q
    low = int(place)
    high = min(low + 1, n - 1)
    return state[at + low] - origin + (place - low) * (state[at + high] - state[at + low])

"""The stopping rule: whether an episode ends at a tick, and with which label."""

from typing import Any

from numba import carray

from feature_extractors._driver import inlined
from streamfs.base._memory import pointer
from streamfs.engine._arena import THRESHOLD

NO_LABEL, GOING_ON = -1, -2
"""Instead of a class: the episode ends without one, or continues."""


@inlined
def decide(arena: Any, tick: int, label: int, confidence: float) -> int:
    """Return the class that ends the episode, `NO_LABEL` at the time limit, or `GOING_ON`."""
    thresholds = carray(pointer(arena.thresholds), arena.n_thresholds, THRESHOLD)
    place, n_left = 0, arena.n_thresholds
    while n_left > 1:  # the last threshold whose tick is not later, without branches
        half = n_left // 2
        place += half * (thresholds[place + half].tick <= tick)
        n_left -= half
    if confidence >= thresholds[place].level:
        return label
    return NO_LABEL if tick == arena.limit else GOING_ON

"""Stopping: whether an episode ends at a tick, and with which label."""

from typing import Any

from feature_extractors._compiled import carray, inlined, pointer
from streamfs.engine._arena import THRESHOLD
from streamfs.procedure.stopping import Action

NO_LABEL, GOING_ON, GIVEN_UP = -1, -2, -3
"""Instead of a class: the episode ends without one at the time limit, continues, or is given up."""

WAIT, DECIDE, GIVE_UP = map(int, Action)


@inlined
def decide_by_threshold(arena: Any, tick: int, label: int, confidence: float) -> int:
    """Return the class that ends the episode by the tick's threshold and floor, as `decide_by_action` does."""
    thresholds = carray(pointer(arena.thresholds), arena.n_thresholds, THRESHOLD)
    place, n_left = 0, arena.n_thresholds
    while n_left > 1:  # the last threshold whose tick is not later, without branches
        half = n_left // 2
        place += half * (thresholds[place + half].tick <= tick)
        n_left -= half
    action = WAIT
    if confidence >= thresholds[place].level:
        action = DECIDE
    elif confidence < thresholds[place].floor:
        action = GIVE_UP
    return int(decide_by_action(arena, tick, label, action))


@inlined
def decide_by_action(arena: Any, tick: int, label: int, action: int) -> int:
    """Return the class that ends the episode by a rule's action, `GIVEN_UP`, `NO_LABEL` or `GOING_ON`."""
    if action == DECIDE:
        return label
    if action == GIVE_UP:
        return GIVEN_UP
    return NO_LABEL if tick == arena.limit else GOING_ON

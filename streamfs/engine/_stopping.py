"""The stopping rule: whether an episode ends at a tick, and with which label."""

from typing import Any

from feature_extractors._driver import inlined

NO_LABEL, GOING_ON = -1, -2
"""Instead of a class: the episode ends without one, or continues."""


@inlined
def decide(arena: Any, tick: int, label: int, confidence: float) -> int:
    """Return the class that ends the episode, `NO_LABEL` at the time limit, or `GOING_ON`."""
    if confidence >= arena.confidence:
        return label
    return NO_LABEL if tick == arena.limit else GOING_ON

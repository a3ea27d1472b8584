"""Why a stream is not decided, in words."""

from collections.abc import Mapping, Sequence
from math import ceil, isfinite
from typing import Any

from streamfs.page.tables import DECIDED, WAITING, NewestReading
from streamfs.page.words import lasted, percent


def threshold(model: Mapping[str, Any], tick: int) -> float | None:
    """Return the confidence that decides at a tick; None if none does, or another rule decides.

    Examples
    --------
    >>> threshold({"thresholds": [[2, 6], [0.9, 0.7]]}, 5)
    0.9
    """
    if model["thresholds"] is None:
        return None
    levels = [level for first, level in zip(*model["thresholds"], strict=True) if first <= tick]
    return float(levels[-1]) if levels else None


def why(
    model: Mapping[str, Any], status: int, tick: int, confidence: float, readings: Sequence[NewestReading]
) -> list[str]:
    """Return what an undecided stream waits for; nothing of one that is decided."""
    if status == DECIDED:
        return []
    lacks = [_lack(reading, model["period"]) for reading in readings if reading.state]
    if status == WAITING:
        return lacks or ["its episode opens with the next tick at which every channel has a value"]
    left = model["time_limit"] - tick
    at = f"tick {tick} of {model['time_limit']}; without a label it ends in {lasted(left * model['period'])}"
    return [_short(model, tick, confidence), at, *lacks]


def _lack(reading: NewestReading, period: float) -> str:
    where = f"{reading.channel} of {reading.node}" if reading.node else reading.channel
    if reading.age < 0:
        return f"{where} has never come"
    return f"{where} is {lasted(reading.age * period)} old, and serves for {lasted(reading.most * period)}"


def _short(model: Mapping[str, Any], tick: int, confidence: float) -> str:
    """Return how far the confidence is from deciding."""
    if model["thresholds"] is None:
        return f"what decides is: {model['rule']}"
    needed, first = threshold(model, tick), model["thresholds"][0][0]
    if needed is None:
        return f"nothing is decided before tick {first}"
    if not isfinite(confidence):
        return f"it has no confidence yet, and {percent(needed)} are needed"
    return f"its confidence is {_floor(confidence)} %, and {percent(needed)} are needed"


def _floor(share: float) -> str:
    """Return a share in percent that is not rounded up to a threshold that it does not reach."""
    return f"{(ceil(1000 * share) - 1) / 10:g}"

"""Report policies applied by the gateway, tick by tick, to readings of devices that cannot apply them."""

import numpy as np

from feature_extractors.report import Policy
from streamfs.base._compiled import kernel
from streamfs.gateway.core._waiting import HELD, NONE

POLICY = np.dtype([("value", "f8"), ("kind", "i4"), ("block", "i4")])
"""A policy: its value, its kind, and the ticks of its blocks."""

EVERY, MEAN, FLAG, DELTA, QUANTISED = range(5)
_KINDS = {"every": EVERY, "mean": MEAN, "flag": FLAG, "delta": DELTA, "quantised": QUANTISED}


def packed(policy: Policy) -> tuple[float, int, int]:
    """Return a policy as a `POLICY`."""
    kind = _KINDS[policy.kind]
    return policy.value, kind, int(policy.value) if kind in (EVERY, MEAN) else 1


@kernel
def thin(cell, policy, tick, repeat):
    """Let a cell show at a tick what its policy makes of the raw value, as a node that begins when it has one.

    A raw value counts at its own tick, or until the next if it is held, for `repeat` ticks. The policy begins
    once, not with each episode.
    """
    age = tick - cell.raw_tick
    if (age == 0 or (cell.holds & HELD and 0 < age <= repeat)) and cell.raw == cell.raw:
        _take(cell, policy, tick, cell.raw, repeat)
    if policy.kind == MEAN and cell.phase != NONE and (tick - cell.phase) % policy.block == policy.block - 1:
        if cell.count > 0:
            cell.value = cell.sum / cell.count
            cell.tick = tick
        cell.sum = 0.0
        cell.count = 0


@kernel
def _take(cell, policy, tick, value, repeat):
    """Take the raw value of a tick."""
    begins = cell.phase == NONE
    if begins:
        cell.phase = tick % policy.block
        cell.sum = 0.0
        cell.count = 0
    if policy.kind == MEAN:
        cell.sum += value
        cell.count += 1
    elif policy.kind == EVERY:
        if (tick - cell.phase) % policy.block == 0:
            cell.value = value
            cell.tick = tick
    else:
        said = _said(policy, value)
        step = policy.value if policy.kind == DELTA else 0.0
        if begins or not abs(said - cell.value) <= step:
            cell.value = said
            cell.tick = tick
        elif tick - cell.tick >= repeat:
            cell.tick = tick


@kernel
def _said(policy, value):
    """Return what a node would send of a value."""
    if policy.kind == FLAG:
        return 1.0 if value > policy.value else 0.0
    if policy.kind == QUANTISED:
        return np.rint(value / policy.value) * policy.value + 0.0
    return value

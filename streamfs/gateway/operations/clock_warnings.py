"""What to do about clocks that are wrong."""

from collections.abc import Sequence

from streamfs.gateway.core.node_clocks import NodeClock

MOST_NAMED = 10
"""Nodes that warnings name."""

_QUARTER = 900.0  # seconds; time zones differ by multiples of it
_NEAR = 30.0  # seconds
_LARGEST_ZONE = 14.5 * 3600  # seconds
_MOST_STEP = 1.0  # seconds


def clock_warnings(clocks: Sequence[NodeClock], step: float) -> list[str]:
    """Return warnings that name the worst nodes, and one if the wall clock has stepped by seconds.

    >>> clock_warnings([NodeClock("sensor-3", 3600.4, 0.0, 0)], 0.0)
    ['the clock of sensor-3 is 3600 s ahead, near a whole hour or a part of it: set its time_zone']
    """
    warnings = [_warning(clock) for clock in clocks[:MOST_NAMED]]
    if len(clocks) > MOST_NAMED:
        warnings.append(f"the clocks of {len(clocks) - MOST_NAMED} further nodes are wrong")
    if abs(step) > _MOST_STEP:
        warnings.append(
            f"the wall clock was set by {step:.0f} s while the gateway ran, which goes on with its own clock; "
            "restart it to follow the wall clock"
        )
    return warnings


def _warning(clock: NodeClock) -> str:
    name, ahead, set_back, n_future = clock
    if n_future:
        return f"{n_future} readings of {name} were left out: far ahead of its others; look at its clock"
    if set_back:
        its = "its streams go on, and their decisions have its time"
        return f"the clock of {name} was set back by {set_back:.0f} s; {its}"
    side = "ahead" if ahead > 0 else "behind"
    is_zone = abs(ahead) < _LARGEST_ZONE and abs(ahead - _QUARTER * round(ahead / _QUARTER)) < _NEAR
    advice = ", near a whole hour or a part of it: set its time_zone" if is_zone else "; set it"
    return f"the clock of {name} is {abs(ahead):.0f} s {side}{advice}"

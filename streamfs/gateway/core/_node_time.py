"""The time of a node: which of its stamps are believed, and how far its silence lets its time run on.

A node's delay is arrival minus stamp: the offset of its clock, and what a reading takes on its way. The lowest
delay follows the offset: it is that of the newest messages, and rises while there is none, so that a clock that
drifts or is set is followed. The spread is how far delays lie above it: large in a node that sends batches of old
samples, small in a prompt one.
"""

from math import floor

import numpy as np

from streamfs.base._compiled import inlined

NODE = np.dtype(
    [
        ("joules", "f8"),
        ("messages", "i8"),
        ("bytes", "i8"),
        ("heard", "f8"),  # arrival of its newest message, seconds since 1970; NaN before the first
        ("newest", "f8"),  # greatest stamp that is believed, seconds; NaN before the first
        ("live", "f8"),  # arrival of that reading
        ("lowest", "f8"),  # lowest delay of this window of messages and the one before, seconds; NaN while unknown
        ("recent", "f8"),  # lowest delay of this window
        ("n_recent", "i8"),  # messages of this window
        ("level", "f8"),  # the lowest delay, to half a tick, ...
        ("level_at", "f8"),  # ... since this arrival
        ("spread", "f8"),  # highest delay minus the lowest, seconds, fading from message to message
        ("n_heard", "i8"),  # messages whose readings have moved its time on
        ("suspect", "f8"),  # the newest stamp that is not believed, seconds
        ("suspected", "f8"),  # its arrival
        ("n_suspects", "i8"),  # messages in a row whose stamps are not believed, and agree with each other
        ("shift", "f8"),  # seconds by which its clock was set back, in whole ticks, ...
        ("shifted", "f8"),  # ... from this time on; ...
        ("former", "f8"),  # ... before it, these
        ("behind", "f8"),  # the newest stamp that is behind by more than the lateness, seconds
        ("behind_at", "f8"),  # its arrival
        ("n_behind", "i8"),  # messages in a row whose stamps are behind, and go with the time of their arrival
        ("n_readings", "i8"),  # all
        ("n_late", "i8"),  # those of a tick that a stream had emitted, once for each such stream
        ("n_duplicate", "i8"),  # those that had come before
        ("n_future", "i8"),  # those left out since their stamps were too far ahead
        ("n_overflow", "i8"),  # those dropped since too many waited, once for each such stream
    ]
)

WINDOW = 32
"""Messages of a window."""

DRIFT = 1e-3
"""Seconds by which the lowest delay rises in a second of silence: more than any quartz drifts."""

FADING = 0.9
"""What is left of the spread after a message."""

N_KNOWN = 8
"""Messages after which a node's delays are known."""

AGREEING = 3
"""Samples in a row whose stamps are believed, however far ahead or behind, if they agree."""


TOLERABLE = 10
"""Ticks by which a clock may be set back without a remark: its node catches up soon."""


@inlined
def is_same_sample(grid, gain, gone):
    """Return whether a reading and the one before, later by these stamps and arrivals, tell of a clock but once.

    They are of the same message, or of two channels that a node sends at a time, each in a message of its own.
    """
    return gone == 0.0 or abs(gain) <= grid.period / 2


@inlined
def is_believed(grid, node, stamp, arrival):
    """Return whether a stamp is not too far ahead of the node's others, or agrees with others that were too."""
    if node.lowest != node.lowest or stamp <= max(arrival - node.lowest, node.newest) + grid.ahead:
        node.n_suspects = 0
        return True
    if node.n_suspects > 0 and is_same_sample(grid, stamp - node.suspect, arrival - node.suspected):
        return False
    agrees = 0 < stamp - node.suspect <= arrival - node.suspected + grid.ahead
    node.n_suspects = node.n_suspects + 1 if node.n_suspects > 0 and agrees else 1
    node.suspect = stamp
    node.suspected = arrival
    if node.n_suspects < AGREEING:
        return False
    node.n_suspects = 0
    node.newest = node.lowest = np.nan
    return True


@inlined
def shift_at(node, time):
    """Return the seconds by which a node's clock was set back before a time."""
    return node.shift if time >= node.shifted else node.former


@inlined
def set_back(grid, node, time, arrival):
    """Return by how many seconds, in whole ticks, a node's clock turns out to have been set back; mostly 0.

    It has if stamps that are behind go with the time of their arrival: those of old readings that come at once do
    not.
    """
    if time > node.newest:
        node.n_behind = 0
    if not time <= node.newest - max(grid.lateness, TOLERABLE * grid.period) - node.spread:
        return 0.0
    gain, gone = time - node.behind, arrival - node.behind_at
    if node.n_behind > 0 and is_same_sample(grid, gain, gone):
        return 0.0
    agrees = 0 < gain <= 2 * gone and abs(gain - gone) <= grid.period / 2 + node.spread
    node.n_behind = node.n_behind + 1 if node.n_behind > 0 and agrees else 1
    node.behind = time
    node.behind_at = arrival
    if node.n_behind < AGREEING:
        return 0.0
    node.n_behind = 0
    return max(0.0, floor((node.newest + arrival - node.live - time) / grid.period + 0.5)) * grid.period


@inlined
def move_on(grid, node, time, arrival):
    """Let a reading, at a time that is believed, move its node's time on."""
    delay = arrival - time
    if time <= node.newest:
        return
    if node.lowest != node.lowest:
        node.lowest = node.recent = delay
        node.spread = 0.0
        node.n_heard = node.n_recent = 1
        node.level = np.inf
    elif arrival == node.live:  # the same message
        node.spread += max(0.0, node.lowest - delay)
    else:
        if node.n_recent == WINDOW:
            node.lowest, node.recent, node.n_recent = node.recent, delay, 0
        node.lowest += DRIFT * max(0.0, arrival - node.live)
        node.spread *= FADING
        node.n_heard += 1
        node.n_recent += 1
    node.recent = min(node.recent, delay)
    node.lowest = min(node.lowest, delay)
    node.spread = max(node.spread, delay - node.lowest)
    if abs(node.lowest - node.level) > grid.period / 2:
        node.level = node.lowest
        node.level_at = arrival
    node.newest = time
    node.live = arrival


@inlined
def present(grid, node):
    """Return the time of a node that has been heard: its newest stamp, and what its silence has lasted since.

    Silence counts after the node's patience: twice the spread of its delays, and at least what the options say.
    """
    patience = max(2 * node.spread, grid.least_patience if node.n_heard >= N_KNOWN else grid.grace)
    return node.newest + max(0.0, grid.silence - node.live - patience)


@inlined
def lead(grid, node, other, arrival, known):
    """Return by how many ticks a node's clock is ahead of another's; as known unless both show otherwise.

    Neither may have changed its lowest delay for some ticks: that of a node that sends what it has kept falls.
    """
    if not (node.lowest == node.lowest and other.lowest == other.lowest):
        return known
    if arrival - max(node.level_at, other.level_at) < TOLERABLE * grid.period:
        return known
    ahead = other.lowest - node.lowest
    tolerance = max(grid.lateness, TOLERABLE * grid.period) + node.spread + other.spread
    if abs(ahead - known * grid.period) <= tolerance:
        return known
    return np.int64(floor(ahead / grid.period + 0.5))

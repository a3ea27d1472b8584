"""What has come before: the numbers of the readings of a slot, which is one channel of one node."""

import numpy as np

from streamfs.base._compiled import inlined, kernel
from streamfs.gateway.core._said import says_otherwise
from streamfs.gateway.core._waiting import FOREVER, MANY, NONE

UNMARKED = -FOREVER

SLOT = np.dtype(
    [
        ("mark", "i8"),  # highest sequence number, or tick if there are no numbers
        ("seen", "u8"),  # bits of the 64 numbers up to the mark that have come
        ("newest", "f8"),  # stamp of the newest reading, seconds
        ("cell", "i4"),  # the first of the cells that it feeds, or NONE
        ("numbered", "u1"),  # whether the mark is a sequence number
        ("stamped", "u1"),  # whether its newest reading had a stamp
        ("row", "u2"),  # of what it said under its numbers, counted from 1; 0 without one
    ],
    align=True,
)


@inlined
def is_news(slot, sequence, tick, time, is_stamped, differs):
    """Return whether a reading is new, by its number or without one by its tick, and whether its node restarts.

    A number that has come before with a newer stamp means that the node has restarted its count, and so does one
    before which more than `MANY` are missing, or one without a stamp whose message differs from the former.
    """
    is_numbered = sequence != NONE
    number = sequence if is_numbered else tick
    behind = slot.mark - number
    if slot.mark == UNMARKED or is_numbered != (slot.numbered != 0):
        slot.numbered = is_numbered
        _mark(slot, number, np.uint64(1))
        return True, False
    if behind < 0:
        shift = np.uint64(-behind)
        seen = (slot.seen << shift) if -behind < 64 else np.uint64(0)
        _mark(slot, number, seen | np.uint64(1))
        return True, is_numbered and -behind > MANY + 1
    if is_numbered and (time > slot.newest if is_stamped else behind >= 64):
        _mark(slot, number, np.uint64(1))
        return True, True
    if behind >= 64:
        return False, False
    bit = np.uint64(1) << np.uint64(behind)
    if slot.seen & bit:
        if differs:
            _mark(slot, number, np.uint64(1))
        return differs, differs
    slot.seen = slot.seen | bit
    return True, False


@kernel
def _mark(slot, number, seen):
    slot.mark = number
    slot.seen = seen


@kernel
def has_come(slots, said, own, sequence, tick, time, is_stamped, value):
    """Return whether a reading is not new in the only slot of a copy, which is changed; `own` is its number."""
    differs = sequence != NONE and not is_stamped and says_otherwise(slots[0], said, own, sequence, value)
    is_new, _ = is_news(slots[0], sequence, tick, time, is_stamped, differs)
    return not is_new

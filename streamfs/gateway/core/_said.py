"""What a channel said under its last numbers: a device that numbers anew says something else, a broker the same.

Only channels of which a number has come twice, without a stamp, have a row of it: of most, nothing is remembered.
"""

import numpy as np

from streamfs.base._compiled import inlined

LAST = 64
"""Numbers that a row is about, each at its place modulo this."""

WIDTH = LAST + 1
"""Entries of a row: the numbers, and the slot whose row it is, as a value, with the age of now."""

MOST = 2**14
"""Rows, with which they have 17 MB; then the eldest is used again."""

SAID = np.dtype(
    [
        ("value", "f8"),  # with which the number came last; NaN if that is not known
        ("age", "i8"),  # in which it did; another begins with each number above all others, and each new count
    ]
)


@inlined
def has_row(slot, said, own):
    """Return whether a slot has a row that no other one has taken over."""
    return slot.row != 0 and said[slot.row * WIDTH - 1].value == own


@inlined
def says_otherwise(slot, said, own, sequence, value):
    """Return whether a number among the last of a slot came with another value, as far as is known."""
    behind = slot.mark - sequence
    if behind < 0 or behind >= LAST or not has_row(slot, said, own):
        return False
    known = said[(slot.row - 1) * WIDTH + (sequence & (LAST - 1))].value
    has_come = slot.seen & (np.uint64(1) << np.uint64(behind)) != 0
    return has_come and known == known and known != value


@inlined
def remember(grid, slot, said, own, sequence, value, is_new):
    """Remember what a slot says under a number; one whose reading is not new gets a row if it has none."""
    if not has_row(slot, said, own):
        if is_new:
            return
        slot.row = grid.n_said % MOST + 1
        grid.n_said += 1
        for place in range(WIDTH):
            said[(slot.row - 1) * WIDTH + place].value = np.nan
            said[(slot.row - 1) * WIDTH + place].age = -1
        said[slot.row * WIDTH - 1].value = own
        said[slot.row * WIDTH - 1].age = 0
    entry = said[(slot.row - 1) * WIDTH + (sequence & (LAST - 1))]
    entry.value = value
    entry.age = said[slot.row * WIDTH - 1].age


@inlined
def begin_age(slot, said, former, differs):
    """Begin another age of a slot that has a row; in a new count, what has come just before its first news has.

    The age that ends has numbers up to its highest, the `former` mark, and only its last ones.
    """
    now = said[slot.row * WIDTH - 1]
    if differs:
        number = slot.mark - 1
        while number >= 0 and number > former - LAST:
            if said[(slot.row - 1) * WIDTH + (number & (LAST - 1))].age == now.age:
                slot.seen = slot.seen | (np.uint64(1) << np.uint64(slot.mark - number))
            number -= 1
    now.age += 1

"""Readings that wait for their tick, and the value that is held.

A cell is one column of one stream. Its readings that wait for their tick are in a linked list of pages, by tick,
from one pool that all cells share: a resting cell costs its own record and nothing else. A page has room for the
readings of some consecutive ticks, so that readings that arrive together are found together.
"""

import numpy as np

from streamfs.base._compiled import inlined, kernel

FOREVER = 2**62
"""Ticks for which a value is held without end; its negative is a tick before all."""

NONE = -1
"""No sequence number, no slot, no link."""

MANY = 2**16
"""Maximum number of readings that are lost in one gap; beyond it a node counts anew, or its number is wild."""

CELL = np.dtype(
    [
        ("value", "f8"),  # of the newest reading that no longer waits
        ("tick", "i8"),  # of the same
        ("sequence", "i8"),  # of the same
        ("gap_end", "i8"),  # tick of the reading after a gap in the sequence; FOREVER without one
        ("lead", "i8"),  # ticks by which its node's clock is ahead of that of the stream's first node
        ("since", "i8"),  # an older value is not shown to a model that releases channels
        ("raw", "f8"),  # if it is thinned here: the newest that came ...
        ("raw_tick", "i8"),  # ... and its tick
        ("sum", "f8"),  # of the values of this block of ticks ...
        ("count", "i4"),  # ... and their number
        ("phase", "i4"),  # the tick at which its policy began, modulo its block; NONE before
        ("slot", "i4"),  # that feeds it, or NONE
        ("node", "i4"),  # of the slot
        ("next", "i4"),  # cell that the same slot feeds, or NONE
        ("head", "i4"),  # its first page, if any ...
        ("tail", "i4"),  # ... and its last
        ("holds", "u1"),  # whether a value outlasts its tick; and, as `THINNED` and `HELD` say, how it comes
    ],
    align=True,
)

THINNED, HELD = 2, 4
"""Bits of `holds`: values come raw, and are thinned here; they hold until the next comes."""

SHIFT = 2
TICKS = 1 << SHIFT
"""Ticks that share a page."""

PAGE = np.dtype(
    [
        ("number", "i8"),  # its first tick divided by `TICKS`
        ("next", "i4"),  # page of the same cell, or NONE
        ("waiting", "i4"),  # a bit for each tick with a reading
    ]
)

PENDING = np.dtype([("value", "f8"), ("first", "i8"), ("last", "i8")])
"""A value that waits for its tick, with the sequence numbers of the first and the last reading for it.

It is NaN for numbers alone: those of messages without a value.
"""


@inlined
def insert(grid, cell, pages, pending, free, sequence, tick, value):
    """Let a reading wait for its tick, with others of that tick; return whether it is the first of these."""
    link = _page_of(grid, cell, pages, free, tick >> SHIFT)
    page, place = pages[link], tick & (TICKS - 1)
    waits = pending[link * TICKS + place]
    is_first = not page.waiting & (1 << place)
    if is_first:
        page.waiting |= 1 << place
        waits.value = value
        waits.first = sequence
        waits.last = sequence
    else:
        _join(waits, sequence, value, cell.holds)
    if cell.head == link:
        _mark_gap(cell, pages, pending)
    return is_first


@inlined
def _page_of(grid, cell, pages, free, number):
    """Return the page of a cell for a tick, a new one if needed."""
    before, link = NONE, cell.head
    if link != NONE and pages[cell.tail].number <= number:
        link = cell.tail
    while link != NONE and pages[link].number < number:
        before, link = link, pages[link].next
    if link != NONE and pages[link].number == number:
        return link
    grid.n_free -= 1
    new = free[grid.n_free]
    pages[new].number = number
    pages[new].waiting = 0
    pages[new].next = link
    if before == NONE:
        cell.head = new
    else:
        pages[before].next = new
    if link == NONE:
        cell.tail = new
    return new


@kernel
def _join(waits, sequence, value, holds):
    """Merge two readings of one tick: a channel that holds its value shows the later, others the earlier."""
    is_later = sequence >= waits.last
    if waits.value != waits.value or (value == value and is_later == (holds != 0)):
        waits.value = value
    waits.first = min(waits.first, sequence)
    waits.last = max(waits.last, sequence)


@kernel
def newest_number(cell, pages, pending):
    """Return the number of the newest reading of a cell, waiting or not; NONE without one."""
    if cell.head == NONE:
        return cell.sequence
    place = TICKS - 1
    while not pages[cell.tail].waiting & (1 << place):
        place -= 1
    return pending[cell.tail * TICKS + place].last


@inlined
def take_until(grid, cell, pages, pending, free, tick):
    """Let the readings up to a tick become the newest of their cell; return how many did, and how many lack."""
    n_taken = n_lost = 0
    while cell.head != NONE and first_tick(pages[cell.head]) <= tick:
        page = pages[cell.head]
        place = _first_place(page)
        waits = pending[cell.head * TICKS + place]
        n_lost += _n_lost(cell, waits)
        is_value = waits.value == waits.value
        if is_value and cell.holds & THINNED:
            cell.raw = waits.value
            cell.raw_tick = page.number * TICKS + place
        elif is_value:
            cell.value = waits.value
            cell.tick = page.number * TICKS + place
        cell.sequence = waits.last
        page.waiting ^= 1 << place
        n_taken += 1
        if not page.waiting:
            _release(grid, cell, pages, free)
    if n_taken > 0:
        _mark_gap(cell, pages, pending)
    return n_taken, n_lost


@kernel
def _release(grid, cell, pages, free):
    """Free the first page of a cell."""
    free[grid.n_free] = cell.head
    grid.n_free += 1
    cell.head = pages[cell.head].next


@kernel
def _first_place(page):
    """Return the index of the earliest reading of a page."""
    place = 0
    while not page.waiting & (1 << place):
        place += 1
    return place


@kernel
def first_tick(page):
    """Return the tick of the earliest reading of a page."""
    return page.number * TICKS + _first_place(page)


@kernel
def _n_lost(cell, waits):
    """Return the readings lost between the newest that no longer waits and the next."""
    if cell.sequence == NONE or waits.first == NONE:
        return 0
    n_missing = waits.first - cell.sequence - 1
    return n_missing if 0 < n_missing <= MANY else 0


@inlined
def _mark_gap(cell, pages, pending):
    cell.gap_end = FOREVER
    if cell.head != NONE:
        place = _first_place(pages[cell.head])
        if _n_lost(cell, pending[cell.head * TICKS + place]) > 0:
            cell.gap_end = pages[cell.head].number * TICKS + place


@kernel
def drop_all(grid, cell, pages, free):
    """Drop the readings of a cell that wait; return how many there were."""
    n_dropped = 0
    while cell.head != NONE:
        for place in range(TICKS):
            n_dropped += pages[cell.head].waiting >> place & 1
        _release(grid, cell, pages, free)
    return n_dropped

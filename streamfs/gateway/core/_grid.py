"""The joiner's kernels: readings in, the values of channels at a tick out.

A slot is one channel of one node. Its readings that wait for their tick are in a linked list of pages, by tick,
from one pool that all slots share: a resting slot costs its own record and nothing else. A page has room for the
readings of some consecutive ticks, so that readings that arrive together are found together.
"""

from math import floor, isfinite

import numpy as np

from streamfs.base._compiled import inlined, kernel
from streamfs.base._memory import prefetch

FOREVER = 2**62
"""Ticks for which a value is held without end; its negative is a tick before all."""

NONE = -1
"""No sequence number, no slot, no link."""

UNMARKED = -FOREVER

MANY = 2**32
"""Maximum number of readings that count as lost in one gap, so that a wild sequence number does no harm."""

SLOT = np.dtype(
    [
        ("value", "f8"),  # of the newest reading that no longer waits
        ("tick", "i8"),  # of the same
        ("sequence", "i8"),  # of the same
        ("gap_end", "i8"),  # tick of the reading after a gap in the sequence; FOREVER without one
        ("mark", "i8"),  # highest sequence number, or tick if there are no numbers
        ("seen", "u8"),  # bits of the 64 numbers up to the mark that have come
        ("newest", "f8"),  # stamp of the newest reading, seconds
        ("tail", "i4"),  # its last page, if any
        ("holds", "u1"),  # whether a value outlasts its tick
        ("numbered", "u1"),  # whether the mark is a sequence number
    ],
    align=True,
)

SHIFT = 2
TICKS = 1 << SHIFT
"""Ticks that share a page."""

FETCHED = 4
"""Pages to prefetch from memory while one is processed."""

PAGE = np.dtype(
    [
        ("number", "i8"),  # its first tick divided by `TICKS`
        ("next", "i4"),  # page of the same slot, or NONE
        ("waiting", "i4"),  # a bit for each tick with a reading
    ]
)

PENDING = np.dtype([("value", "f8"), ("first", "i8"), ("last", "i8")])
"""A value that waits for its tick, with the sequence numbers of the first and the last reading for it."""

PART = np.dtype(
    [
        ("stamp", "f8"),  # of the first sample, seconds; NaN if the node has no clock
        ("step", "f8"),  # seconds from one sample to the next; NaN if samples have their own times
        ("arrival", "f8"),  # seconds since 1970
        ("joules", "f8"),  # of the message
        ("sequence", "i8"),  # of the message
        ("bytes", "i4"),  # of the message
        ("node", "i4"),
        ("slot", "i4"),  # NONE for a message that is only charged
        ("message", "i4"),  # its number among those that are taken together
        ("first", "i4"),  # its first sample ...
        ("end", "i4"),  # ... and the one after its last
    ]
)
"""What a message reports on one channel: one sample or many."""

NODE = np.dtype(
    [
        ("joules", "f8"),
        ("messages", "i8"),
        ("bytes", "i8"),
        ("heard", "f8"),  # event time of its newest reading, seconds
        ("offset", "f8"),  # seconds that its clock is behind ours, if its stamps are not valid
    ]
)

GRID = np.dtype(
    [
        ("period", "f8"),
        ("lateness", "f8"),
        ("overtaking", "f8"),
        ("ahead", "f8"),  # seconds that a stamp may be ahead of the newest
        ("patience", "f8"),  # the grace: seconds without news after which a stamp further ahead is accepted
        ("max_delay", "f8"),  # seconds that a stamp may be behind its arrival
        ("newest", "f8"),  # stamp, seconds; NaN before the first
        ("arrival", "f8"),  # of the newest news, seconds since 1970
        ("due", "i8"),  # the first tick for which readings are not late
        ("settled", "i8"),  # no reading of a channel for an earlier tick is still to come
        ("next_tick", "i8"),  # the next tick to emit; FOREVER before the first
        ("first", "i8"),  # earliest waiting tick before the first emission
        ("n_empty", "i8"),
        ("max_gap", "i8"),
        ("opened", "i8"),  # the message that is being taken, of those taken together
        ("frontier", "f8"),  # the newest stamp before it, seconds; it may run ahead of that, ...
        ("news", "f8"),  # ... and the arrival of the newest news before it
        ("n_pending", "i8"),  # readings
        ("max_pending", "i8"),
        ("n_free", "i8"),  # pages
        ("charged", "i8"),  # the message that was charged last, of those taken together
        ("judged_message", "i8"),  # the message ...
        ("judged_slot", "i8"),  # ... the slot ...
        ("judged_news", "i8"),  # ... and whether its sequence number there was new
        ("on_wall", "i8"),  # whether event time is the wall clock's
    ]
)

OF_MESSAGES = ("opened", "charged", "judged_message", "judged_slot", "judged_news")
"""Fields that mean nothing beyond the messages taken together."""

COUNTS = ("late", "duplicate", "crowded", "lost", "restarted", "skipped", "skewed", "future", "overflow")
LATE, DUPLICATE, CROWDED, LOST, RESTARTED, SKIPPED, SKEWED, FUTURE, OVERFLOW = range(len(COUNTS))

DONE, DUE, FULL = range(3)
"""Why `take` returns: nothing is left, a tick is due, or the pool is full."""


@kernel
def tick_of(time, period):
    """Return the tick that is nearest to a time."""
    return np.int64(floor(time / period + 0.5))


@kernel
def take(grid, slots, heads, pages, pending, free, nodes, counts, parts, values, times, cursor):
    """Take samples, in order, until a tick is due; return the reason, and leave in the cursor where to continue.

    The cursor holds the next part and sample. A sample that is not finite is missing. A message is charged if one
    of its samples is new, or all are missing.
    """
    g = grid[0]
    if cursor[0] == cursor[1] == 0:
        g.opened = g.charged = g.judged_message = NONE
    while cursor[0] < len(parts):
        part = parts[cursor[0]]
        if g.opened != part.message:
            g.opened = part.message
            g.frontier = g.newest
            g.news = g.arrival
        if cursor[1] == part.first and not _has_samples(part, values):
            _charge(g, nodes[part.node], part)
            cursor[1] = part.end
        for i in range(cursor[1], part.end):
            if not isfinite(values[i]):
                continue
            if g.n_free == 0 and g.n_pending < g.max_pending:
                cursor[1] = i
                return FULL
            step = part.step
            stamp = part.stamp + step * (i - part.first) if step == step else times[i]
            run = (i - part.first) * g.period
            if _add(g, slots, heads, pages, pending, free, nodes[part.node], counts, part, stamp, run, values[i]):
                _charge(g, nodes[part.node], part)
            if is_due(g):
                cursor[1] = i + 1
                return DUE
        cursor[0] += 1
        cursor[1] = part.end
    return DONE


@kernel
def _has_samples(part, values):
    """Return whether a part is to be put on the grid, and not only charged."""
    if part.slot != NONE:
        for i in range(part.first, part.end):
            if isfinite(values[i]):
                return True
    return False


@kernel
def _charge(g, node, part):
    """Charge a node for a message, once."""
    if g.charged != part.message:
        g.charged = part.message
        node.messages += 1
        node.bytes += part.bytes
        node.joules += part.joules


@kernel
def is_due(g):
    """Return whether there is a tick to emit."""
    return min(g.next_tick, g.first) < g.due


@inlined
def _add(g, slots, heads, pages, pending, free, node, counts, part, stamp, run, value):
    """Take one reading, and return whether it is new; its message has advanced by `run` seconds."""
    if g.n_pending >= g.max_pending:
        counts[OVERFLOW] += 1
        return True
    time, is_stamped = _time(g, node, counts, stamp, part.arrival)
    if not _is_within_reach(g, time, part.arrival, run):
        counts[FUTURE] += 1
        return True
    slot = slots[part.slot]
    tick = tick_of(time, g.period)
    if not _is_accepted(g, slot, counts, part, tick, time, is_stamped):
        counts[DUPLICATE] += 1
        return False
    g.arrival = part.arrival
    if not time <= g.newest:
        g.newest = time
        g.due = tick_of(time - g.lateness, g.period)
        g.settled = tick_of(time - g.overtaking, g.period)
    if not time <= slot.newest:
        slot.newest = time
    if not time <= node.heard:
        node.heard = time
    if g.next_tick == FOREVER:
        g.first = min(g.first, tick)
    elif tick < g.next_tick:
        counts[LATE] += 1
        if not slot.holds or tick < slot.tick:
            return True
    _insert(g, slot, heads, pages, pending, free, counts, part, tick, value)
    return True


@inlined
def _is_within_reach(g, time, arrival, run):
    """Return whether a stamp is accepted: not too far ahead of earlier messages, or after a silence.

    A message may advance by a tick with each sample, and jump ahead once, lest its samples carry each other away.
    """
    if time <= g.frontier + run + g.ahead:
        return True
    is_first = g.frontier != g.frontier
    if is_first or arrival > g.news + g.patience:
        g.frontier = time
        g.news = arrival
        return True
    return False


@inlined
def _time(g, node, counts, stamp, arrival):
    """Return the event time of a reading, and whether it is the node's own."""
    if stamp != stamp:
        return arrival, False
    if not g.on_wall:
        return stamp, True
    behind = arrival - stamp
    if -g.period <= behind <= g.max_delay:
        node.offset = 0.0
        return stamp, True
    counts[SKEWED] += 1
    if node.offset != 0.0 and abs(behind - node.offset) <= g.period:
        node.offset = min(behind, node.offset)
        return stamp + node.offset, True
    node.offset = behind
    return arrival, False


@inlined
def _is_accepted(g, slot, counts, part, tick, time, is_stamped):
    """Return whether a reading is new; those of one message share its sequence number and the result."""
    is_same = g.judged_message == part.message and g.judged_slot == part.slot
    if part.sequence == NONE or not is_same:
        g.judged_news = _is_news(slot, counts, part.sequence, tick, time, is_stamped)
        g.judged_message = part.message
        g.judged_slot = part.slot
    return g.judged_news != 0


@inlined
def _is_news(slot, counts, sequence, tick, time, is_stamped):
    """Return whether a reading has not come before, by its number, or without one by its tick."""
    is_numbered = sequence != NONE
    number = sequence if is_numbered else tick
    behind = slot.mark - number
    if slot.mark == UNMARKED or is_numbered != (slot.numbered != 0):
        slot.numbered = is_numbered
        return _mark(slot, number, np.uint64(1))
    if behind < 0:
        shift = np.uint64(-behind)
        seen = (slot.seen << shift) if -behind < 64 else np.uint64(0)
        return _mark(slot, number, seen | np.uint64(1))
    if is_numbered and (time > slot.newest if is_stamped else behind >= 64):
        counts[RESTARTED] += 1
        return _mark(slot, number, np.uint64(1))
    if behind >= 64:
        return False
    bit = np.uint64(1) << np.uint64(behind)
    if slot.seen & bit:
        return False
    slot.seen = slot.seen | bit
    return True


@kernel
def _mark(slot, number, seen):
    slot.mark = number
    slot.seen = seen
    return True


@inlined
def _insert(g, slot, heads, pages, pending, free, counts, part, tick, value):
    """Let a reading wait for its tick, with others of that tick."""
    link = _page_of(g, slot, heads, pages, pending, free, part.slot, tick >> SHIFT)
    page, place = pages[link], tick & (TICKS - 1)
    waits = pending[link * TICKS + place]
    if page.waiting & (1 << place):
        counts[CROWDED] += 1
        _join(waits, part.sequence, value, slot.holds)
    else:
        g.n_pending += 1
        page.waiting |= 1 << place
        waits.value = value
        waits.first = part.sequence
        waits.last = part.sequence
    if heads[part.slot] == link:
        _mark_gap(slot, link, pages, pending)


@inlined
def _page_of(g, slot, heads, pages, pending, free, index, number):
    """Return the page of a slot for a tick, a new one if needed."""
    before, link = NONE, heads[index]
    if link != NONE and pages[slot.tail].number <= number:
        link = slot.tail
    while link != NONE and pages[link].number < number:
        before, link = link, pages[link].next
    if link != NONE and pages[link].number == number:
        return link
    g.n_free -= 1
    new = free[g.n_free]
    if g.n_free > FETCHED:
        _prefetch_page(pages, pending, free[g.n_free - FETCHED])
    pages[new].number = number
    pages[new].waiting = 0
    pages[new].next = link
    if before == NONE:
        heads[index] = new
    else:
        pages[before].next = new
    if link == NONE:
        slot.tail = new
    return new


@kernel
def _prefetch_page(pages, pending, link):
    prefetch(pages.ctypes.data + link * pages.itemsize)
    first = pending.ctypes.data + link * TICKS * pending.itemsize
    prefetch(first)
    prefetch(first + (TICKS - 1) * pending.itemsize)


@kernel
def _join(waits, sequence, value, holds):
    """Merge two readings of one tick: a channel that holds its value shows the later, others the earlier."""
    is_later = sequence >= waits.last
    if is_later == (holds != 0):
        waits.value = value
    waits.first = min(waits.first, sequence)
    waits.last = max(waits.last, sequence)


@kernel
def _release(g, pages, free, link):
    """Free a page, and return the next one."""
    free[g.n_free] = link
    g.n_free += 1
    return pages[link].next


@kernel
def _first_place(page):
    """Return the index of the earliest reading of a page."""
    place = 0
    while not page.waiting & (1 << place):
        place += 1
    return place


@kernel
def _first_tick(page):
    return page.number * TICKS + _first_place(page)


@kernel
def _n_lost(slot, waits):
    """Return the readings lost between the newest that no longer waits and the next."""
    if slot.sequence == NONE or waits.first == NONE:
        return 0
    return min(max(waits.first - slot.sequence - 1, 0), MANY)


@inlined
def _mark_gap(slot, head, pages, pending):
    slot.gap_end = FOREVER
    if head != NONE:
        place = _first_place(pages[head])
        if _n_lost(slot, pending[head * TICKS + place]) > 0:
            slot.gap_end = pages[head].number * TICKS + place


@kernel
def emit(grid, slots, heads, pages, pending, free, counts, end):
    """Emit the next tick before the end, and return it; FOREVER if there is none."""
    g = grid[0]
    if g.next_tick == FOREVER:
        if g.first >= end:
            return FOREVER
        g.next_tick = g.first
        g.first = FOREVER
    while g.next_tick < end:
        tick = g.next_tick
        n_taken = _take_tick(g, slots, heads, pages, pending, free, counts, tick)
        g.n_empty = 0 if n_taken else g.n_empty + 1
        if g.n_empty <= g.max_gap:
            g.next_tick += 1
            return tick
        g.next_tick = min(_earliest(heads, pages), end)
        counts[SKIPPED] += g.next_tick - tick
    return FOREVER


@inlined
def _take_tick(g, slots, heads, pages, pending, free, counts, tick):
    """Let the readings that are due at a tick become the newest of their slots; return how many did."""
    n_waiting = g.n_pending
    if n_waiting == 0:
        return 0
    for index in range(len(heads)):
        soon = heads[min(index + FETCHED, len(heads) - 1)]
        if soon != NONE:
            _prefetch_page(pages, pending, soon)
        head = heads[index]
        if head == NONE or _first_tick(pages[head]) > tick:
            continue
        slot = slots[index]
        while head != NONE and _first_tick(pages[head]) <= tick:
            _take_first(g, slot, pages[head], head * TICKS, pending, counts)
            if not pages[head].waiting:
                head = _release(g, pages, free, head)
        heads[index] = head
        _mark_gap(slot, head, pages, pending)
    return n_waiting - g.n_pending


@inlined
def _take_first(g, slot, page, start, pending, counts):
    """Let the earliest reading of a page become the newest of its slot."""
    place = _first_place(page)
    waits = pending[start + place]
    counts[LOST] += _n_lost(slot, waits)
    slot.value = waits.value
    slot.tick = page.number * TICKS + place
    slot.sequence = waits.last
    page.waiting ^= 1 << place
    g.n_pending -= 1


@kernel
def _earliest(heads, pages):
    earliest = FOREVER
    for head in heads:
        if head != NONE:
            earliest = min(earliest, _first_tick(pages[head]))
    return earliest


@kernel
def show(slots, slots_of_row, rows, max_ages, tick, settled, samples):
    """Write the values of each row's slots at a tick to `samples`; NaN if nothing is held.

    Nothing is held over a gap that ends at the settled tick or before; a later one may still be filled.
    """
    for i in range(len(rows)):
        for column in range(len(max_ages)):
            slot = slots[slots_of_row[rows[i], column]]
            max_age = 0 if slot.gap_end <= settled else max_ages[column]
            samples[i, column] = slot.value if tick - slot.tick <= max_age else np.nan


@kernel
def forget(grid, slots, heads, pages, free, first, last):
    """Empty the slots from `first` up to `last`."""
    for index in range(first, last):
        link = heads[index]
        while link != NONE:
            for place in range(TICKS):
                grid[0].n_pending -= pages[link].waiting >> place & 1
            link = _release(grid[0], pages, free, link)
        heads[index] = NONE
        slots[index].value = np.nan
        slots[index].tick = -FOREVER
        slots[index].sequence = NONE
        slots[index].gap_end = FOREVER
        slots[index].mark = UNMARKED
        slots[index].seen = 0
        slots[index].newest = np.nan
        slots[index].tail = NONE

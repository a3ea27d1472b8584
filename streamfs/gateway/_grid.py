"""The kernels of the joiner: readings in, what each channel shows at a tick out.

A slot is one channel of one node. Readings that wait for their tick hang on it in a list, by tick, whose links lie
in one pool that all slots share: a resting slot costs its own record and nothing else.
"""

from math import floor

import numpy as np
from numba import njit

FOREVER = 2**62
"""Ticks for which a value is held that has no end; its negative is a tick before all."""

NONE = -1
"""No sequence number, no slot, no link."""

UNMARKED = -FOREVER

SLOT = np.dtype(
    [
        ("value", "f8"),  # of the newest reading that waits no more
        ("tick", "i8"),  # of the same
        ("sequence", "i8"),  # of the same
        ("gap_end", "i8"),  # tick of the reading behind a gap in the sequence; FOREVER without one
        ("mark", "i8"),  # highest sequence number, or tick where there are no numbers
        ("seen", "u8"),  # which of the 64 numbers up to the mark have come
        ("newest", "f8"),  # stamp of the newest reading, seconds
        ("tail", "i4"),  # last of the readings that wait
        ("holds", "u1"),  # whether a value outlasts its tick
        ("numbered", "u1"),  # whether the mark is a sequence number
    ],
    align=True,
)

PENDING = np.dtype([("tick", "i8"), ("value", "f8"), ("first", "i8"), ("last", "i8"), ("next", "i8")])

READING = np.dtype(
    [
        ("stamp", "f8"),  # seconds; NaN where the node has no clock
        ("arrival", "f8"),  # seconds since 1970
        ("value", "f8"),
        ("sequence", "i8"),  # of the message
        ("joules", "f8"),  # of the message
        ("bytes", "i4"),  # of the message
        ("node", "i4"),
        ("slot", "i4"),  # NONE for a message that is only to be paid
        ("message", "i4"),  # its number in the batch
    ],
    align=True,
)

NODE = np.dtype(
    [
        ("joules", "f8"),
        ("messages", "i8"),
        ("bytes", "i8"),
        ("heard", "f8"),  # event time of its newest reading, seconds
        ("offset", "f8"),  # seconds that its clock is behind ours, where it is not to be believed
    ]
)

GRID = np.dtype(
    [
        ("period", "f8"),
        ("lateness", "f8"),
        ("overtaking", "f8"),
        ("ahead", "f8"),  # seconds that a stamp may be ahead of the newest
        ("patience", "f8"),  # seconds without news after which a stamp further ahead is believed
        ("max_delay", "f8"),  # seconds that a stamp may be behind its arrival
        ("newest", "f8"),  # stamp, seconds; NaN before the first
        ("arrival", "f8"),  # of the newest news, seconds since 1970
        ("settled", "i8"),  # no reading that belongs to an earlier tick of a channel is still to come
        ("next_tick", "i8"),  # the first that was not emitted; FOREVER before the first
        ("first", "i8"),  # earliest tick that waits, before the first emission
        ("n_empty", "i8"),
        ("max_gap", "i8"),
        ("free", "i8"),  # first free link of the pool
        ("n_pending", "i8"),
        ("charged", "i8"),  # the message of the batch that was paid last
        ("judged_message", "i8"),  # the message of the batch, ...
        ("judged_slot", "i8"),  # ... the slot ...
        ("judged_news", "i8"),  # ... and whether its sequence number there was news
        ("on_wall", "i8"),  # whether event time is the wall clock's
    ]
)

OF_BATCH = ("charged", "judged_message", "judged_slot", "judged_news")

COUNTS = ("late", "duplicate", "crowded", "lost", "restarted", "skipped", "skewed", "future", "overflow")
LATE, DUPLICATE, CROWDED, LOST, RESTARTED, SKIPPED, SKEWED, FUTURE, OVERFLOW = range(len(COUNTS))

DONE, DUE, FULL = range(3)
"""Why `take` has come back: nothing is left, a tick is due, or the pool is full."""


@njit(cache=True)
def tick_of(time, period):
    """The tick that a time is nearest to."""
    return np.int64(floor(time / period + 0.5))


@njit(cache=True)
def take(grid, slots, heads, pool, nodes, counts, readings, start):
    """Take readings, in order, until a tick is due; return the next one's index and why it came back."""
    g = grid[0]
    for i in range(start, len(readings)):
        reading = readings[i]
        if reading.slot != NONE:
            if g.free == NONE:
                return i, FULL
            is_news = _add(g, slots, heads, pool, nodes[reading.node], counts, reading)
        else:
            is_news = True
        if is_news and g.charged != reading.message:
            g.charged = reading.message
            node = nodes[reading.node]
            node.messages += 1
            node.bytes += reading.bytes
            node.joules += reading.joules
        if is_due(g, tick_of(g.newest - g.lateness, g.period)):
            return i + 1, DUE
    return len(readings), DONE


@njit(cache=True)
def is_due(g, end):
    """Whether there is a tick to emit before the end."""
    return g.newest == g.newest and min(g.next_tick, g.first) < end


@njit(cache=True)
def _add(g, slots, heads, pool, node, counts, reading):
    """Take one reading, and say whether it is news."""
    time, is_stamped = _time(g, node, counts, reading)
    if g.newest == g.newest and time > g.newest + g.ahead and reading.arrival <= g.arrival + g.patience:
        counts[FUTURE] += 1
        return True
    slot = slots[reading.slot]
    tick = tick_of(time, g.period)
    if not _judge(g, slot, counts, reading, tick, time, is_stamped):
        counts[DUPLICATE] += 1
        return False
    g.arrival = reading.arrival
    if not time <= g.newest:
        g.newest = time
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
    _insert(g, slot, heads, pool, counts, reading, tick)
    _mark_gap(slot, heads[reading.slot], pool)
    return True


@njit(cache=True)
def _time(g, node, counts, reading):
    """The event time of a reading, and whether it is the node's own."""
    stamp = reading.stamp
    if stamp != stamp:
        return reading.arrival, False
    if not g.on_wall:
        return stamp, True
    behind = reading.arrival - stamp
    if -g.period <= behind <= g.max_delay:
        node.offset = 0.0
        return stamp, True
    counts[SKEWED] += 1
    if node.offset != 0.0 and abs(behind - node.offset) <= g.period:
        node.offset = min(behind, node.offset)
        return stamp + node.offset, True
    node.offset = behind
    return reading.arrival, False


@njit(cache=True)
def _judge(g, slot, counts, reading, tick, time, is_stamped):
    """Whether a reading is news; the readings of one message share its sequence number, and so the verdict."""
    is_same = g.judged_message == reading.message and g.judged_slot == reading.slot
    if reading.sequence == NONE or not is_same:
        g.judged_news = _is_news(slot, counts, reading.sequence, tick, time, is_stamped)
        g.judged_message = reading.message
        g.judged_slot = reading.slot
    return g.judged_news != 0


@njit(cache=True)
def _is_news(slot, counts, sequence, tick, time, is_stamped):
    """Whether a reading has not come before, by its number, or by its tick where it has none."""
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


@njit(cache=True)
def _mark(slot, number, seen):
    slot.mark = number
    slot.seen = seen
    return True


@njit(cache=True)
def _insert(g, slot, heads, pool, counts, reading, tick):
    """Let a reading wait for its tick, behind those of earlier ticks and with those of its own."""
    before, link = NONE, heads[reading.slot]
    if link != NONE and pool[slot.tail].tick < tick:
        before, link = slot.tail, NONE
    while link != NONE and pool[link].tick < tick:
        before, link = link, pool[link].next
    if link != NONE and pool[link].tick == tick:
        counts[CROWDED] += 1
        _join(pool[link], reading, slot.holds)
        return
    new = g.free
    g.free = pool[new].next
    g.n_pending += 1
    pool[new].tick = tick
    pool[new].value = reading.value
    pool[new].first = reading.sequence
    pool[new].last = reading.sequence
    pool[new].next = link
    if before == NONE:
        heads[reading.slot] = new
    else:
        pool[before].next = new
    if link == NONE:
        slot.tail = new


@njit(cache=True)
def _join(pending, reading, holds):
    """Two readings of one tick: a channel that holds its value shows the later one, any other the earlier."""
    is_later = reading.sequence >= pending.last
    if is_later == (holds != 0):
        pending.value = reading.value
    pending.first = min(pending.first, reading.sequence)
    pending.last = max(pending.last, reading.sequence)


@njit(cache=True)
def _n_lost(slot, head, pool):
    """Readings lost between the newest that waits no more and the next."""
    if head == NONE or slot.sequence == NONE or pool[head].first == NONE:
        return 0
    return max(pool[head].first - slot.sequence - 1, 0)


@njit(cache=True)
def _mark_gap(slot, head, pool):
    slot.gap_end = pool[head].tick if _n_lost(slot, head, pool) > 0 else FOREVER


@njit(cache=True)
def emit(grid, slots, heads, pool, counts, end):
    """Emit the next tick before the end, and return it; FOREVER if there is none."""
    g = grid[0]
    if g.next_tick == FOREVER:
        if g.first >= end:
            return FOREVER
        g.next_tick = g.first
        g.first = FOREVER
    while g.next_tick < end:
        tick = g.next_tick
        n_taken = _take_tick(g, slots, heads, pool, counts, tick)
        g.n_empty = 0 if n_taken else g.n_empty + 1
        if g.n_empty <= g.max_gap:
            g.next_tick += 1
            return tick
        g.next_tick = min(_earliest(heads, pool), end)
        counts[SKIPPED] += g.next_tick - tick
    return FOREVER


@njit(cache=True)
def _take_tick(g, slots, heads, pool, counts, tick):
    """Let the readings that are due at a tick become the newest of their slots; return how many did."""
    n_taken = 0
    if g.n_pending == 0:
        return 0
    for index in range(len(heads)):
        head = heads[index]
        if head == NONE or pool[head].tick > tick:
            continue
        slot = slots[index]
        while head != NONE and pool[head].tick <= tick:
            counts[LOST] += _n_lost(slot, head, pool)
            slot.value = pool[head].value
            slot.tick = pool[head].tick
            slot.sequence = pool[head].last
            after = pool[head].next
            pool[head].next = g.free
            g.free = head
            head = after
            n_taken += 1
        heads[index] = head
        _mark_gap(slot, head, pool)
    g.n_pending -= n_taken
    return n_taken


@njit(cache=True)
def _earliest(heads, pool):
    earliest = FOREVER
    for head in heads:
        if head != NONE:
            earliest = min(earliest, pool[head].tick)
    return earliest


@njit(cache=True)
def show(slots, slots_of_row, rows, max_ages, tick, settled, samples):
    """What each row's slots show at a tick; NaN where nothing is held.

    Nothing is held over a gap that ends at the settled tick or before; a later one may yet be filled.
    """
    for i in range(len(rows)):
        for column in range(len(max_ages)):
            slot = slots[slots_of_row[rows[i], column]]
            max_age = 0 if slot.gap_end <= settled else max_ages[column]
            samples[i, column] = slot.value if tick - slot.tick <= max_age else np.nan


@njit(cache=True)
def forget(grid, slots, heads, pool, first, last):
    """Empty the slots from first up to last."""
    for index in range(first, last):
        link = heads[index]
        while link != NONE:
            after = pool[link].next
            pool[link].next = grid[0].free
            grid[0].free = link
            grid[0].n_pending -= 1
            link = after
        heads[index] = NONE
        slots[index].value = np.nan
        slots[index].tick = -FOREVER
        slots[index].sequence = NONE
        slots[index].gap_end = FOREVER
        slots[index].mark = UNMARKED
        slots[index].seen = 0
        slots[index].newest = np.nan
        slots[index].tail = NONE

"""The joiner's kernels: readings and silence in, the ticks of streams out.

Every stream has its own time: that of the node of its nodes that is furthest behind. A reading is put into the
cells that its slot feeds, and each of their streams emits the ticks that have fallen due. So a tick is a function
of its own stream's readings, and of the silence that is proved.
"""

from math import floor, isfinite

import numpy as np

from streamfs.base._compiled import inlined, kernel
from streamfs.gateway.core._duplicates import is_news
from streamfs.gateway.core._node_time import is_believed, lead, move_on, present, set_back, shift_at
from streamfs.gateway.core._said import MOST, WIDTH, begin_age, has_row, remember, says_otherwise
from streamfs.gateway.core._thinned import thin
from streamfs.gateway.core._waiting import (
    FOREVER,
    HELD,
    NONE,
    THINNED,
    drop_all,
    first_tick,
    insert,
    newest_number,
    take_until,
)

STREAM = np.dtype(
    [
        ("time", "f8"),  # of the node that is furthest behind, seconds; -inf before it begins
        ("begun", "f8"),  # arrival of the first reading, seconds since 1970; NaN before
        ("next_tick", "i8"),  # the next tick to emit; before the first, the earliest that has a reading
        ("rest", "i8"),  # the first tick that is of use; FOREVER if the stream is decided for good
        ("n_empty", "i8"),  # ticks without a reading in a row
        ("n_waiting", "i4"),  # readings
        ("emits", "u1"),  # whether the first tick was emitted
        ("is_used", "u1"),
    ],
    align=True,
)

AWAKE = -FOREVER
"""`rest` of a stream that is not decided."""

ENTRY = np.dtype([("tick", "i8"), ("messages", "i8"), ("joules", "f8"), ("shift", "f8"), ("stream", "i8")])
"""A tick of a stream, what its nodes have spent until then, and by how much all their clocks were set back."""

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
        ("how", "i8"),  # `AS_SENT`, or `RAW` with or without `KEPT`
    ]
)
"""What a message reports on one channel: one sample or many."""

GRID = np.dtype(
    [
        ("period", "f8"),
        ("lateness", "f8"),
        ("overtaking", "f8"),
        ("ahead", "f8"),  # seconds that a stamp may be ahead of what the node's others suggest
        ("grace", "f8"),  # seconds of silence that do not count while a node's delays are not known ...
        ("least_patience", "f8"),  # ... and at least afterwards
        ("silence", "f8"),  # time up to which silence is proved, seconds since 1970
        ("max_gap", "i8"),
        ("repeat", "i8"),  # ticks for which a value holds unless it is said again
        ("thins", "i8"),  # whether any value came raw
        ("unstamped", "i8"),  # whether any reading had no stamp
        ("max_pending", "i8"),  # readings of a stream
        ("n_columns", "i8"),
        ("n_pending", "i8"),  # readings
        ("n_free", "i8"),  # pages
        ("n_said", "i8"),  # rows of what was said under numbers that were used so far
        ("fan", "i8"),  # cells that one slot feeds at most
        ("n_entries", "i8"),  # in the output
        ("cell", "i8"),  # the next whose stream is to emit its ticks, or NONE
        ("charged", "i8"),  # the message that was charged last, of those taken together
        ("known_message", "i8"),  # the message ...
        ("known_slot", "i8"),  # ... the slot ...
        ("known_news", "i8"),  # ... and whether its sequence number there was new
        ("compared", "i8"),  # the message that was compared with what was said under its number ...
        ("differs", "i8"),  # ... and whether it differs
    ]
)

PASSING = ("cell", "charged", "known_message", "known_slot", "known_news", "compared", "differs")
"""Fields that mean nothing beyond the messages taken together."""

COUNTS = (
    "late",
    "duplicate",
    "crowded",
    "lost",
    "restarted",
    "skipped",
    "future",
    "overflow",
    "shifted",
    "aligned",
)
LATE, DUPLICATE, CROWDED, LOST, RESTARTED, SKIPPED, FUTURE, OVERFLOW, SHIFTED, ALIGNED = range(len(COUNTS))

DONE, EMITTED, FULL = range(3)
"""Why a kernel returns: nothing is left, the output is full, or the pool is."""


@kernel
def tick_of(time, period):
    """Return the tick that is nearest to a time."""
    return np.int64(floor(time / period + 0.5))


@kernel
def take(held, output, parts, values, times, cursor):
    """Take samples, in order, with the ticks that fall due; return why, and leave in the cursor where to continue.

    The cursor holds the next part and sample. A sample that is not finite is missing. A message is charged if one
    of its samples is new, or all are missing.
    """
    grid, _, nodes, _, _, _, _, _, _, _, said = held
    g = grid[0]
    if cursor[0] == cursor[1] == 0 and g.cell == NONE:
        g.charged = g.known_message = g.compared = NONE
    while _emit_fed(held, output):
        if cursor[0] == len(parts):
            return DONE
        part = parts[cursor[0]]
        node = nodes[part.node]
        if cursor[1] == part.first and not _has_samples(part, values):
            if g.n_free < g.fan:
                return FULL
            _take_number(held, node, part)
            cursor[1] = part.end
        i = cursor[1]
        if i == part.end:
            cursor[0] += 1
            continue
        if isfinite(values[i]):
            if g.n_free < g.fan or (g.n_said * WIDTH == len(said) and g.n_said < MOST):
                return FULL
            differs = _differs(held, parts, cursor[0], values, times)
            _add(held, node, part, _stamp(part, times, i), values[i], differs)
        cursor[1] += 1
    return EMITTED


@kernel
def _has_samples(part, values):
    """Return whether a part is to be put on the grid, and not only charged."""
    if part.slot != NONE:
        for i in range(part.first, part.end):
            if isfinite(values[i]):
                return True
    return False


@inlined
def _stamp(part, times, i):
    """Return the stamp of a sample of a part; NaN without one."""
    return part.stamp + part.step * (i - part.first) if part.step == part.step else times[i]


@inlined
def _differs(held, parts, at, values, times):
    """Return whether a message, of which a part is given, differs from the former that had its number.

    One that was sent again does not, in no part; of a device that numbers anew, all are new if one is another.
    """
    grid, _, _, slots, _, _, _, _, _, _, said = held
    g, message = grid[0], parts[at].message
    if parts[at].slot == NONE or slots[parts[at].slot].row == 0:
        return False
    if g.compared != message:
        g.compared = message
        g.differs = _any_differs(slots, said, parts, at, values, times)
    return g.differs != 0


@kernel
def _any_differs(slots, said, parts, at, values, times):
    """Return whether a part of a message, from a given one on, differs from what was said under its number."""
    message = parts[at].message
    while at < len(parts) and parts[at].message == message:
        part = parts[at]
        i = part.first
        while i < part.end and not isfinite(values[i]):
            i += 1
        if i < part.end and part.slot != NONE and part.sequence != NONE:
            is_stamped = _stamp(part, times, i) == _stamp(part, times, i)
            if not is_stamped and says_otherwise(slots[part.slot], said, part.slot, part.sequence, values[i]):
                return True
        at += 1
    return False


@kernel
def _charge(g, node, part):
    """Charge a node for a message, once."""
    if g.charged != part.message:
        g.charged = part.message
        node.messages += 1
        node.bytes += part.bytes
        node.joules += part.joules


@inlined
def _add(held, node, part, stamp, value, differs):
    """Take one reading, and leave in the grid whose ticks it may let fall due."""
    grid, counts, _, slots, streams, cells, pages, pending, free, _, said = held
    g, slot = grid[0], slots[part.slot]
    is_stamped = stamp == stamp
    if not is_stamped:
        g.unstamped = 1
    time = stamp + node.shift if is_stamped else part.arrival
    node.heard = part.arrival
    node.n_readings += 1
    shift = set_back(g, node, time, part.arrival)
    if shift > 0:
        counts[SHIFTED] += 1
        time += shift
        node.shifted = time - g.period / 2
        node.former = node.shift
        node.shift += shift
    if not is_believed(g, node, time, part.arrival):
        counts[FUTURE] += 1
        node.n_future += 1
        _charge(g, node, part)
        return
    tick = tick_of(time, g.period)
    if not _is_accepted(g, slot, said, counts, part, tick, time, is_stamped, value, differs):
        counts[DUPLICATE] += 1
        node.n_duplicate += 1
        return
    _charge(g, node, part)
    slot.stamped = is_stamped
    if not time <= slot.newest:
        slot.newest = time
    move_on(g, node, time, part.arrival)
    g.cell = slot.cell
    index = slot.cell
    while index != NONE:
        number = index // g.n_columns
        _align(held, number, index, part.arrival)
        at = tick - cells[index].lead
        _put(g, counts, node, streams[number], cells[index], pages, pending, free, part, at, value)
        index = cells[index].next


@inlined
def _align(held, number, index, arrival):
    """Let a cell's node follow the clock of its stream's first node, if the two turn out to differ by far.

    What waits in its cells was put at wrong ticks, and is dropped.
    """
    grid, counts, nodes, _, streams, cells, pages, _, free, _, _ = held
    g = grid[0]
    first = number * g.n_columns
    while cells[first].slot == NONE:
        first += 1
    node = cells[index].node
    if node == cells[first].node:
        return
    known = cells[index].lead
    ahead = lead(g, nodes[node], nodes[cells[first].node], arrival, known)
    if ahead != known:
        counts[ALIGNED] += 1
        for other in range(number * g.n_columns, (number + 1) * g.n_columns):
            if cells[other].slot != NONE and cells[other].node == node:
                _move_cell(g, streams[number], cells[other], pages, free, ahead)


@kernel
def _move_cell(g, stream, cell, pages, free, ahead):
    """Set the lead of a cell's node: the value that it holds moves, what waits is dropped."""
    n_dropped = drop_all(g, cell, pages, free)
    g.n_pending -= n_dropped
    stream.n_waiting -= n_dropped
    if cell.tick > -FOREVER:
        cell.tick += cell.lead - ahead
    if cell.raw_tick > -FOREVER:
        cell.raw_tick += cell.lead - ahead
    cell.lead = ahead
    cell.sequence = NONE
    cell.gap_end = FOREVER


@inlined
def _is_accepted(g, slot, said, counts, part, tick, time, is_stamped, value, differs):
    """Return whether a reading is new; those of one message share its sequence number and the result."""
    is_same = g.known_message == part.message and g.known_slot == part.slot
    if part.sequence == NONE or not is_same:
        former, anew = slot.mark, differs and not is_stamped
        is_new, restarts = is_news(slot, part.sequence, tick, time, is_stamped, anew)
        if (restarts or slot.mark != former) and has_row(slot, said, part.slot):
            begin_age(slot, said, former, anew)
        if part.sequence != NONE and (slot.row != 0 or not (is_new or is_stamped)):
            remember(g, slot, said, part.slot, part.sequence, value, is_new)
        counts[RESTARTED] += restarts
        g.known_news = is_new
        g.known_message = part.message
        g.known_slot = part.slot
    return g.known_news != 0


@inlined
def _put(g, counts, node, stream, cell, pages, pending, free, part, tick, value):
    """Put a reading into a cell of a stream."""
    if part.how != cell.holds >> 1:
        cell.holds = (cell.holds & 1) | (part.how << 1)
        g.thins = 1
    if stream.begun != stream.begun:
        stream.begun = part.arrival
    if stream.n_waiting >= g.max_pending:
        counts[OVERFLOW] += 1
        node.n_overflow += 1
        return
    if not stream.emits:
        stream.next_tick = min(stream.next_tick, tick)
    elif tick < stream.next_tick:
        counts[LATE] += 1
        node.n_late += 1
        if not cell.holds or tick < max(cell.tick, cell.raw_tick):
            return
    if insert(g, cell, pages, pending, free, part.sequence, tick, value):
        stream.n_waiting += 1
        g.n_pending += 1
    else:
        counts[CROWDED] += 1


@kernel
def _take_number(held, node, part):
    """Take a message without a value: its number waits in the cells in which it is the next, and leaves no gap."""
    grid, _, _, slots, streams, cells, pages, pending, free, _, _ = held
    g = grid[0]
    if g.known_message != part.message:
        _charge(g, node, part)
    is_single = part.slot != NONE and part.sequence != NONE and part.step == 0.0
    time = part.stamp + node.shift if part.stamp == part.stamp else part.arrival
    if not is_single or not is_believed(g, node, time, part.arrival):
        return
    index = slots[part.slot].cell
    while index != NONE:
        stream, cell = streams[index // g.n_columns], cells[index]
        is_next = part.sequence == newest_number(cell, pages, pending) + 1 > 0
        if is_next and stream.n_waiting < g.max_pending:
            tick = tick_of(time, g.period) - cell.lead
            n_more = insert(g, cell, pages, pending, free, part.sequence, tick, np.nan)
            stream.n_waiting += n_more
            g.n_pending += n_more
        index = cell.next


@inlined
def _emit_fed(held, output):
    """Emit the ticks of the streams that the last reading has reached; return False once the output is full."""
    grid, _, nodes, _, streams, cells, _, _, _, _, _ = held
    g = grid[0]
    while g.cell != NONE:
        number = g.cell // g.n_columns
        _follow_nodes(g, streams[number], number, cells, nodes)
        if not _emit(held, output, number, tick_of(streams[number].time - g.lateness, g.period)):
            return False
        g.cell = cells[g.cell].next
    return True


@kernel
def let_time_pass(held, output, cursor):
    """Emit the ticks that fall due by proved silence; return why, with the next stream in the cursor."""
    grid, _, nodes, _, streams, cells, _, _, _, _, _ = held
    g = grid[0]
    while cursor[0] < len(streams):
        number = cursor[0]
        stream = streams[number]
        if stream.rest != FOREVER and stream.begun == stream.begun:
            _follow_nodes(g, stream, number, cells, nodes)
            if not _emit(held, output, number, tick_of(stream.time - g.lateness, g.period)):
                return EMITTED
        cursor[0] += 1
    return DONE


@kernel
def flush(held, output, numbers, cursor):
    """Emit the ticks of streams up to their newest stamps; return why, with the next place in the cursor."""
    grid, _, nodes, _, _, cells, _, _, _, _, _ = held
    g = grid[0]
    while cursor[0] < len(numbers):
        number, newest = numbers[cursor[0]], -np.inf
        for index in range(number * g.n_columns, (number + 1) * g.n_columns):
            if cells[index].slot != NONE and nodes[cells[index].node].newest > -np.inf:
                newest = max(newest, nodes[cells[index].node].newest - cells[index].lead * g.period)
        if newest > -np.inf and not _emit(held, output, number, tick_of(newest, g.period) + 1):
            return EMITTED
        cursor[0] += 1
    return DONE


@inlined
def _follow_nodes(g, stream, number, cells, nodes):
    """Let a stream's time follow the node that is furthest behind.

    A node that was never heard holds it until the grace has passed in silence since the stream's first reading.
    """
    waits = g.silence < stream.begun + g.grace
    time = np.inf
    for index in range(number * g.n_columns, (number + 1) * g.n_columns):
        if cells[index].slot != NONE:
            node = nodes[cells[index].node]
            if node.newest == node.newest:
                time = min(time, present(g, node) - cells[index].lead * g.period)
            elif waits:
                time = -np.inf
    if stream.time < time < np.inf:
        stream.time = time


@inlined
def _emit(held, output, number, end):
    """Emit the ticks of a stream before the end; return False once the output is full."""
    grid, counts, nodes, _, streams, cells, pages, pending, free, policies, _ = held
    g, stream = grid[0], streams[number]
    first, last = number * g.n_columns, (number + 1) * g.n_columns
    while stream.next_tick < end:
        if g.n_entries == len(output[0]):
            return False
        stream.emits = True
        tick, n_waiting = stream.next_tick, stream.n_waiting
        if n_waiting > 0:
            for index in range(first, last):
                n_taken, n_lost = take_until(g, cells[index], pages, pending, free, tick)
                stream.n_waiting -= n_taken
                counts[LOST] += n_lost
            g.n_pending -= n_waiting - stream.n_waiting
        if g.thins:
            _thin_all(g, cells, policies, first, last, tick)
        stream.n_empty = stream.n_empty + 1 if stream.n_waiting == n_waiting else 0
        stream.next_tick = tick + 1
        if stream.n_empty > g.max_gap:
            stream.next_tick = _next_waiting(cells, pages, first, last, end)
            counts[SKIPPED] += stream.next_tick - 1 - tick
        if stream.next_tick > stream.rest:
            _write(g, nodes, cells, output, number, stream.next_tick - 1)
    return True


@inlined
def _thin_all(g, cells, policies, first, last, tick):
    """Let the cells of a stream whose values come raw show what their policies make of these at a tick."""
    for index in range(first, last):
        if cells[index].holds & THINNED:
            thin(cells[index], policies[index - first], tick, g.repeat)


@kernel
def _next_waiting(cells, pages, first, last, end):
    """Return the first tick before the end that has a reading, or the end; policies begin anew after the gap."""
    tick = end
    for index in range(first, last):
        cells[index].phase = NONE
        if cells[index].head != NONE:
            tick = min(tick, first_tick(pages[cells[index].head]))
    return tick


@inlined
def _write(g, nodes, cells, output, number, tick):
    """Write a tick of a stream, with the values that its cells hold and the ticks that these are of."""
    entries, shown, sources = output
    entry = entries[g.n_entries]
    entry.tick = tick
    entry.stream = number
    entry.messages = 0
    entry.joules = 0.0
    entry.shift = np.inf
    first = number * g.n_columns
    for column in range(g.n_columns):
        cell = cells[first + column]
        shown[g.n_entries, column] = _value_at(g, nodes, cell, tick)
        sources[g.n_entries, column] = cell.tick
        is_other = cell.slot != NONE
        for index in range(first, first + column):
            is_other = is_other and (cells[index].slot == NONE or cells[index].node != cell.node)
        if is_other:
            entry.messages += nodes[cell.node].messages
            entry.joules += nodes[cell.node].joules
            entry.shift = min(entry.shift, shift_at(nodes[cell.node], tick * g.period))
    g.n_entries += 1


@inlined
def _value_at(g, nodes, cell, tick):
    """Return the value of a cell at a tick: nothing is held over a gap unless it may still be filled."""
    if cell.tick == tick:
        return cell.value
    if not cell.holds:
        return np.nan
    passed = tick_of(present(g, nodes[cell.node]) - g.overtaking, g.period) - cell.lead
    is_gap = cell.gap_end != FOREVER and cell.gap_end <= passed and (cell.holds & (THINNED | HELD)) != THINNED
    return np.nan if is_gap else cell.value


@kernel
def forget(held, number):
    """Empty the cells of a stream."""
    grid, _, _, _, streams, cells, pages, _, free, _, _ = held
    g = grid[0]
    for index in range(number * g.n_columns, (number + 1) * g.n_columns):
        n_dropped = drop_all(g, cells[index], pages, free)
        g.n_pending -= n_dropped
        streams[number].n_waiting -= n_dropped

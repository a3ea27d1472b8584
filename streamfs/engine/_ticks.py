"""The engine's kernels: place samples on ticks, run features and classifier, end episodes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors._compiled import carray, compiled, creating, inlined, pointer, prefetch
from feature_extractors._driver import BLOCK, ENTRY, run_block
from feature_extractors._loop import TASK_SIZE
from feature_extractors.arrays import Array, Integers
from feature_extractors.base import LARGEST
from streamfs.classifiers._forest import BLOCK as FOREST_BLOCK
from streamfs.engine._arena import ANSWER, COUNTERS, DECIDED, ENDED, FREE, MOVING, OPEN, STREAM, WAITING
from streamfs.engine._classify import ask_forest, ask_tree
from streamfs.engine._stopping import GOING_ON, NO_LABEL, decide_by_action, decide_by_threshold

Statuses = npt.NDArray[np.int8]

SAMPLES, NOT_FINITE, BEFORE_OPENING, LATE, DUPLICATE, AFTER_DECISION = range(len(COUNTERS))

OVERDUE = -1
"""The tick of a sample beyond the time limit; 0 is that of a sample without effect."""

STREAM_SIZE = STREAM.itemsize

LINE = 64
"""Bytes of a cache line."""

CACHED = 2**19
"""Bytes that a core's private cache holds at least."""


@inlined
def _streams(arena: Any) -> tuple[Any, Any, Any]:
    """Return the streams' statuses and records, and the counters."""
    status = carray(pointer(arena.status), arena.n_rows, np.int8)
    streams = carray(pointer(arena.streams), arena.n_rows, STREAM)
    return status, streams, carray(pointer(arena.counters), len(COUNTERS), np.int64)


@compiled(cache=True, nogil=True, forceinline=True)
def first_unknown(arenas: Any, rows: Integers) -> int:
    """Return the place of the first row that holds no stream; -1 if all hold one."""
    arena = arenas[0]
    status = _streams(arena)[0]
    for i in range(len(rows)):
        if not 0 <= rows[i] < arena.n_rows or status[rows[i]] == FREE:
            return i
    return -1


@inlined
def _is_complete(arena: Any, sample: Array) -> bool:
    """Return whether a sample has a value in every column open at tick 1; count readings that are not finite."""
    openings = carray(pointer(arena.openings), arena.n_columns, np.int64)
    is_complete = True
    for column in range(arena.n_columns):
        value = sample[column]
        if not abs(value) <= LARGEST:
            is_complete = is_complete and openings[column] > 1
            if abs(value) > LARGEST:
                _streams(arena)[2][NOT_FINITE] += 1
    return is_complete


@inlined
def _place(arena: Any, row: int, time: float, sample: Array) -> int:
    """Open the episode if it begins; return the sample's tick."""
    status, streams, counters = _streams(arena)
    stream = streams[row]
    if _is_complete(arena, sample) and status[row] == WAITING:
        status[row] = OPEN
        stream.start = time
        arena.earliest = min(arena.earliest, time)
    if status[row] != OPEN:
        counters[BEFORE_OPENING if status[row] == WAITING else AFTER_DECISION] += 1
        return 0
    elapsed = np.floor((time - stream.start) / arena.period + 0.5)
    tick = int(min(max(elapsed, -1.0), arena.limit)) + 1
    if tick > arena.limit:
        return OVERDUE
    if tick <= stream.tick:
        counters[DUPLICATE if tick == stream.tick else LATE] += 1
        return 0
    return tick


@inlined
def _time_out(arena: Any, row: int) -> int:
    """End an episode whose time limit passed before the sample."""
    status, streams, counters = _streams(arena)
    counters[AFTER_DECISION] += 1
    status[row] = DECIDED
    streams[row].tick = arena.limit
    return NO_LABEL


@inlined
def _settle(arena: Any, row: int, tick: int, confidence: float, label: int) -> int:
    """Record a stream's tick, the classifier's confidence, and whether the episode ends; return the label."""
    status, streams, _ = _streams(arena)
    streams[row].tick = tick
    streams[row].confidence = confidence
    status[row] = OPEN if label == GOING_ON else DECIDED
    return label


@inlined
def _end(arena: Any, n_ended: int, sample: int, label: int) -> int:
    """Record the end of an episode, unless it continues; return the number of ended episodes."""
    if label == GOING_ON:
        return n_ended
    ended = carray(pointer(arena.ended), n_ended + 1, ENDED)
    ended[n_ended].sample = sample
    ended[n_ended].label = label
    return n_ended + 1


@inlined
def _leave_out_closed(arena: Any, tick: int, sample: Array) -> None:
    """Let a sample have no value in the columns that open after a tick."""
    openings = carray(pointer(arena.openings), arena.n_columns, np.int64)
    for column in range(arena.n_columns):
        if tick < openings[column]:
            sample[column] = np.nan


@inlined
def _place_block(
    arena: Any, rows: Integers, times: Array, samples: Array, start: int, n_block: int
) -> tuple[int, int]:
    """Place samples until a block is full or a stream occurs again.

    Return the number of the next sample and of those, copied to the arena, that advance their streams.
    """
    status = _streams(arena)[0]
    ticks = carray(pointer(arena.ticks), n_block, np.int64)
    moving = carray(pointer(arena.rows), n_block, np.int64)
    seconds = carray(pointer(arena.seconds), n_block, np.float64)
    taken = carray(pointer(arena.samples), (n_block, arena.n_columns), np.float64)
    n_moving = 0
    stop = min(len(rows), start + n_block)
    for i in range(start, stop):
        if status[rows[i]] == MOVING:
            return i, n_moving
        tick = _place(arena, rows[i], times[i], samples[i])
        ticks[i - start] = tick
        if tick > 0:
            status[rows[i]] = MOVING
            moving[n_moving] = rows[i]
            seconds[n_moving] = (tick - 1) * arena.period
            for column in range(arena.n_columns):
                taken[n_moving, column] = samples[i, column]
            if tick < arena.last_opening:
                _leave_out_closed(arena, tick, taken[n_moving])
            n_moving += 1
        elif tick == OVERDUE:
            _time_out(arena, rows[i])
    return stop, n_moving


@inlined
def _fetch_block(arena: Any, rows: Integers, start: int, n_block: int) -> None:
    """Prefetch the memory that a block will touch, unless the cache holds everything."""
    width = 8 * arena.width
    if arena.n_rows * width < CACHED:
        return
    for i in range(start, min(len(rows), start + n_block)):
        prefetch(arena.streams + STREAM_SIZE * rows[i])
        first = arena.state + width * rows[i]
        for line in range(first - first % LINE, first + width, LINE):
            prefetch(line)


@inlined
def _run_block(arena: Any, n_moving: int, n_block: int) -> None:
    """Run the features' steps on the samples of a block that advance their streams."""
    table = carray(pointer(arena.table), arena.n_features, ENTRY)
    inputs = carray(pointer(arena.inputs), arena.n_inputs, np.int64)
    params = carray(pointer(arena.params), 1, np.float64)
    state = carray(pointer(arena.state), (arena.n_rows, arena.width), np.float64)
    rows = carray(pointer(arena.rows), n_block, np.int64)
    samples = carray(pointer(arena.samples), (n_block, arena.n_columns), np.float64)
    seconds = carray(pointer(arena.seconds), n_block, np.float64)
    room = carray(pointer(arena.scratch), arena.n_inputs + 1, np.float64)
    task = carray(pointer(arena.task), TASK_SIZE, np.int64)
    values = carray(pointer(arena.values), (n_block, arena.n_features), np.float64)
    for start in range(0, n_block, BLOCK):
        stop = min(n_moving, start + BLOCK)
        if start < stop:
            run_block(table, inputs, params, state, rows, samples, seconds, start, stop, room, task, values)


@inlined
def _settle_block(arena: Any, rows: Integers, start: int, stop: int, n_ended: int, n_block: int) -> int:
    """Settle the streams that a block has advanced; return the batch's number of ended episodes."""
    ticks = carray(pointer(arena.ticks), n_block, np.int64)
    answers = carray(pointer(arena.answers), n_block, ANSWER)
    at = 0
    for i in range(start, stop):
        tick = ticks[i - start]
        if tick > 0:
            answer = answers[at]
            label = decide_by_threshold(arena, tick, answer.label, answer.confidence)
            n_ended = _end(arena, n_ended, i, _settle(arena, rows[i], tick, answer.confidence, label))
            at += 1
        elif tick == OVERDUE:
            n_ended = _end(arena, n_ended, i, NO_LABEL)
    return n_ended


@inlined
def _take(arena: Any, rows: Integers, times: Array, samples: Array, n_block: int, ask: Any) -> int:
    """Take samples in order, block after block: run the steps, ask the classifier, settle.

    Return the number of ended episodes. `n_block` is a constant.
    """
    _streams(arena)[2][SAMPLES] += len(rows)
    start = n_ended = 0
    while start < len(rows):
        _fetch_block(arena, rows, start + n_block, n_block)
        stop, n_moving = _place_block(arena, rows, times, samples, start, n_block)
        if n_moving > 0:
            _run_block(arena, n_moving, n_block)
            ask(arena, n_moving)
        n_ended = _settle_block(arena, rows, start, stop, n_ended, n_block)
        start = stop
    return int(n_ended)


@inlined
def _take_many(arenas: Any, rows: Integers, times: Array, samples: Array, n_block: int, ask: Any) -> int:
    """Take samples; return the number of ended episodes, or -1 - i if row i is the first without a stream."""
    unknown = first_unknown(arenas, rows)
    return int(-1 - unknown) if unknown >= 0 else int(_take(arenas[0], rows, times, samples, n_block, ask))


@inlined
def _take_single(arenas: Any, n_block: int, ask: Any) -> int:
    """Take the arena's single sample; return the number of ended episodes."""
    arena = arenas[0]
    row = carray(pointer(arena.single_sample), 1, np.int64)
    time = carray(pointer(arena.single_sample + 8), 1, np.float64)
    sample = carray(pointer(arena.single_sample + 16), (1, arena.n_columns), np.float64)
    return int(_take(arena, row, time, sample, n_block, ask))


@creating
def take_by_tree(arenas: Any, rows: Integers, times: Array, samples: Array) -> int:
    """Take samples as `_take_many` does."""
    return int(_take_many(arenas, rows, times, samples, BLOCK, ask_tree))


@compiled(cache=True)
def take_one_by_tree(arenas: Any) -> int:
    """Take the single sample as `_take_single` does."""
    return int(_take_single(arenas, BLOCK, ask_tree))


@creating
def take_by_forest(arenas: Any, rows: Integers, times: Array, samples: Array) -> int:
    """Take samples as `_take_many` does."""
    return int(_take_many(arenas, rows, times, samples, FOREST_BLOCK, ask_forest))


@compiled(cache=True)
def take_one_by_forest(arenas: Any) -> int:
    """Take the single sample as `_take_single` does."""
    return int(_take_single(arenas, FOREST_BLOCK, ask_forest))


BY_TREE, BY_FOREST = (take_by_tree, take_one_by_tree), (take_by_forest, take_one_by_forest)
"""Kernels that take many samples, and the single one; those that are not used are not compiled."""


@creating
def place(arenas: Any, rows: Integers, times: Array, samples: Array, ticks: Integers) -> None:
    """Do the part of `_take` before the steps, for samples of distinct streams; write their ticks."""
    arena = arenas[0]
    _streams(arena)[2][SAMPLES] += len(rows)
    for i in range(len(rows)):
        ticks[i] = _place(arena, rows[i], times[i], samples[i])


@creating
def settle(arenas: Any, rows: Integers, ticks: Integers, probabilities: Array, actions: Integers) -> int:
    """Do the part of `_take` after classifier and stopping rule have answered for samples that advance streams."""
    arena = arenas[0]
    at = n_ended = 0
    for i in range(len(rows)):
        if ticks[i] > 0:
            best = np.argmax(probabilities[at])
            label = decide_by_action(arena, ticks[i], best, actions[at])
            n_ended = _end(arena, n_ended, i, _settle(arena, rows[i], ticks[i], probabilities[at, best], label))
            at += 1
        elif ticks[i] == OVERDUE:
            n_ended = _end(arena, n_ended, i, _time_out(arena, rows[i]))
    return n_ended


def rows_in(status: Statuses, wanted: int) -> Integers:
    """Return the rows, ascending, whose status has its bit set in `wanted`."""
    return np.flatnonzero(wanted >> status.astype(np.int64) & 1)


def overdue(arenas: Any, now: float) -> Integers:
    """Return the rows of open episodes whose time limit has passed; update `earliest`."""
    found = np.empty(arenas["n_rows"][0], dtype=np.int64)
    return found[: find_overdue(arenas, now, found)]


@creating
def find_overdue(arenas: Any, now: float, found: Integers) -> int:
    """Write the rows that `overdue` returns; return their number."""
    arena = arenas[0]
    status, streams, _ = _streams(arena)
    limit = arena.limit * arena.period
    if arena.earliest + limit > now:
        return 0
    n_found = 0
    earliest = np.inf
    for row in range(arena.n_rows):
        if status[row] == OPEN:
            if streams[row].start + limit <= now:
                found[n_found] = row
                n_found += 1
            else:
                earliest = min(earliest, streams[row].start)
    arena.earliest = earliest
    return n_found

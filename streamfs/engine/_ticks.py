"""The engine's kernels: what a sample does to its stream, from its arrival to the end of the episode."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import carray, njit

from feature_extractors._driver import BLOCK, ENTRY, inlined, run_block
from feature_extractors._loop import TASK_SIZE
from feature_extractors.base import LARGEST, Array
from streamfs.base._memory import LINE, pointer, prefetch
from streamfs.classifiers._evaluate import NODE, WAY, likeliest
from streamfs.engine._arena import COUNTERS, DECIDED, ENDED, FREE, MOVING, OPEN, STREAM, WAITING

Integers = npt.NDArray[np.int64]
Statuses = npt.NDArray[np.int8]

SAMPLES, NOT_FINITE, BEFORE_OPENING, LATE, DUPLICATE, AFTER_DECISION = range(len(COUNTERS))

OVERDUE = -1
"""The tick of a sample beyond the time limit; that of a sample that changes nothing is 0."""

STREAM_SIZE = STREAM.itemsize

CACHED = 2**19
"""Bytes that a processor's own cache holds, at least."""

NO_LABEL, GOING_ON = -1, -2
"""What may stand for a class: the episode ends without one, or goes on."""


@inlined
def _streams(plan: Any) -> tuple[Any, Any, Any]:
    """The streams' statuses, what else is kept of each, and the counters."""
    status = carray(pointer(plan.status), plan.n_rows, np.int8)
    streams = carray(pointer(plan.streams), plan.n_rows, STREAM)
    return status, streams, carray(pointer(plan.counters), len(COUNTERS), np.int64)


@njit(cache=True, nogil=True, inline="always")
def first_unknown(plans: Any, rows: Integers) -> int:
    """The first of some rows that holds no stream, by its place; -1 where there is none."""
    plan = plans[0]
    status = _streams(plan)[0]
    for i in range(len(rows)):
        if not 0 <= rows[i] < plan.n_rows or status[rows[i]] == FREE:
            return i
    return -1


@inlined
def _is_complete(plan: Any, sample: Array) -> bool:
    """Whether a sample has a value in every column; readings that cannot be are counted."""
    is_complete = True
    for value in sample:
        if not abs(value) <= LARGEST:
            is_complete = False
            if abs(value) > LARGEST:
                _streams(plan)[2][NOT_FINITE] += 1
    return is_complete


@inlined
def _place(plan: Any, row: int, time: float, sample: Array) -> int:
    """Open the episode if it begins, and return the sample's tick."""
    status, streams, counters = _streams(plan)
    stream = streams[row]
    if _is_complete(plan, sample) and status[row] == WAITING:
        status[row] = OPEN
        stream.start = time
        plan.earliest = min(plan.earliest, time)
    if status[row] != OPEN:
        counters[BEFORE_OPENING if status[row] == WAITING else AFTER_DECISION] += 1
        return 0
    elapsed = np.floor((time - stream.start) / plan.period + 0.5)
    tick = int(min(max(elapsed, -1.0), plan.limit)) + 1
    if tick > plan.limit:
        return OVERDUE
    if tick <= stream.tick:
        counters[DUPLICATE if tick == stream.tick else LATE] += 1
        return 0
    return tick


@inlined
def _time_out(plan: Any, row: int) -> int:
    """End an episode whose time was up before a sample came."""
    status, streams, counters = _streams(plan)
    counters[AFTER_DECISION] += 1
    status[row] = DECIDED
    streams[row].tick = plan.limit
    return NO_LABEL


@inlined
def _settle(plan: Any, row: int, tick: int, label: int, confidence: float) -> int:
    """Note what the classifier says of a stream; return the class if that ends the episode."""
    status, streams, _ = _streams(plan)
    streams[row].tick = tick
    streams[row].confidence = confidence
    is_confident = confidence >= plan.confidence
    is_over = is_confident or tick == plan.limit
    status[row] = DECIDED if is_over else OPEN
    if not is_over:
        return GOING_ON
    return label if is_confident else NO_LABEL


@inlined
def _end(plan: Any, n_ended: int, sample: int, label: int) -> int:
    """Note that a sample has ended an episode, if it has; return how many have."""
    if label == GOING_ON:
        return n_ended
    ended = carray(pointer(plan.ended), n_ended + 1, ENDED)
    ended[n_ended].sample = sample
    ended[n_ended].label = label
    return n_ended + 1


@inlined
def _place_block(plan: Any, rows: Integers, times: Array, samples: Array, start: int) -> tuple[int, int]:
    """Place samples until a block is full or a stream comes again.

    Return where that is, and how many samples move their streams on; these stand in the plan's room.
    """
    status = _streams(plan)[0]
    ticks = carray(pointer(plan.ticks), BLOCK, np.int64)
    moving = carray(pointer(plan.rows), BLOCK, np.int64)
    seconds = carray(pointer(plan.seconds), BLOCK, np.float64)
    taken = carray(pointer(plan.samples), (BLOCK, plan.n_columns), np.float64)
    n_moving = 0
    stop = min(len(rows), start + BLOCK)
    for i in range(start, stop):
        if status[rows[i]] == MOVING:
            return i, n_moving
        tick = _place(plan, rows[i], times[i], samples[i])
        ticks[i - start] = tick
        if tick > 0:
            status[rows[i]] = MOVING
            moving[n_moving] = rows[i]
            seconds[n_moving] = (tick - 1) * plan.period
            for column in range(plan.n_columns):
                taken[n_moving, column] = samples[i, column]
            n_moving += 1
        elif tick == OVERDUE:
            _time_out(plan, rows[i])
    return stop, n_moving


@inlined
def _fetch_block(plan: Any, rows: Integers, start: int) -> None:
    """Have the memory fetch what a block will touch, where no cache holds it all."""
    width = 8 * plan.width
    if plan.n_rows * width < CACHED:
        return
    for i in range(start, min(len(rows), start + BLOCK)):
        prefetch(plan.streams + STREAM_SIZE * rows[i])
        first = plan.state + width * rows[i]
        for line in range(first - first % LINE, first + width, LINE):
            prefetch(line)


@inlined
def _run_block(plan: Any, n_moving: int) -> None:
    """Run the features' steps on the samples of a block that move their streams on."""
    run_block(
        carray(pointer(plan.table), plan.n_features, ENTRY),
        carray(pointer(plan.inputs), plan.n_inputs, np.int64),
        carray(pointer(plan.params), 1, np.float64),
        carray(pointer(plan.state), (plan.n_rows, plan.width), np.float64),
        carray(pointer(plan.rows), BLOCK, np.int64),
        carray(pointer(plan.samples), (BLOCK, plan.n_columns), np.float64),
        carray(pointer(plan.seconds), BLOCK, np.float64),
        0,
        n_moving,
        carray(pointer(plan.room), plan.n_inputs + 1, np.float64),
        carray(pointer(plan.task), TASK_SIZE, np.int64),
        carray(pointer(plan.values), (BLOCK, plan.n_features), np.float64),
    )


@inlined
def _settle_block(plan: Any, rows: Integers, start: int, stop: int, n_ended: int) -> int:
    """Classify the streams that a block has moved on, and end episodes; return how many the batch has ended."""
    ticks = carray(pointer(plan.ticks), BLOCK, np.int64)
    values = carray(pointer(plan.values), (BLOCK, plan.n_features), np.float64)
    ways = carray(pointer(plan.ways), plan.n_nodes, WAY)
    nodes = carray(pointer(plan.nodes), plan.n_nodes, NODE)
    shares = carray(pointer(plan.shares), (plan.n_nodes, plan.n_classes), np.float64)
    stack = carray(pointer(plan.stack), plan.n_nodes, np.int64)
    weights = carray(pointer(plan.weights), plan.n_nodes, np.float64)
    result = carray(pointer(plan.result), (1, plan.n_classes), np.float64)
    depth, at = plan.depth, 0
    for i in range(start, stop):
        tick = ticks[i - start]
        if tick > 0:
            best, confidence = likeliest(ways, depth, nodes, shares, values, at, stack, weights, result)
            n_ended = _end(plan, n_ended, i, _settle(plan, rows[i], tick, best, confidence))
            at += 1
        elif tick == OVERDUE:
            n_ended = _end(plan, n_ended, i, NO_LABEL)
    return n_ended


@inlined
def _take(plan: Any, rows: Integers, times: Array, samples: Array) -> int:
    """Take samples in order: run the steps, evaluate the tree, end episodes; return how many."""
    _streams(plan)[2][SAMPLES] += len(rows)
    start = n_ended = 0
    while start < len(rows):
        _fetch_block(plan, rows, start + BLOCK)
        stop, n_moving = _place_block(plan, rows, times, samples, start)
        if n_moving > 0:
            _run_block(plan, n_moving)
        n_ended = _settle_block(plan, rows, start, stop, n_ended)
        start = stop
    return int(n_ended)


@njit(cache=True, nogil=True)
def take(plans: Any, rows: Integers, times: Array, samples: Array) -> int:
    """Take samples; return how many episodes are ended, or -1 - i if row i is the first that holds no stream."""
    unknown = first_unknown(plans, rows)
    return int(-1 - unknown) if unknown >= 0 else int(_take(plans[0], rows, times, samples))


@njit(cache=True)
def take_one(plans: Any) -> int:
    """Take the sample that the plan's letter brings; return how many episodes are ended."""
    plan = plans[0]
    row = carray(pointer(plan.letter), 1, np.int64)
    time = carray(pointer(plan.letter + 8), 1, np.float64)
    sample = carray(pointer(plan.letter + 16), (1, plan.n_columns), np.float64)
    return int(_take(plan, row, time, sample))


@njit(cache=True, nogil=True)
def place(plans: Any, rows: Integers, times: Array, samples: Array) -> Integers:
    """Do of `take` what comes before the steps, for samples of as many different streams; return their ticks."""
    plan = plans[0]
    _streams(plan)[2][SAMPLES] += len(rows)
    ticks = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        ticks[i] = _place(plan, rows[i], times[i], samples[i])
    return ticks


@njit(cache=True, nogil=True)
def settle(plans: Any, rows: Integers, ticks: Integers, probabilities: Array) -> int:
    """Do of `take` what comes after the classifier: it has answered for the samples that move their streams on."""
    plan = plans[0]
    at = n_ended = 0
    for i in range(len(rows)):
        if ticks[i] > 0:
            best = np.argmax(probabilities[at])
            label = _settle(plan, rows[i], ticks[i], best, probabilities[at, best])
            n_ended = _end(plan, n_ended, i, label)
            at += 1
        elif ticks[i] == OVERDUE:
            n_ended = _end(plan, n_ended, i, _time_out(plan, rows[i]))
    return n_ended


@njit(cache=True, nogil=True)
def rows_in(status: Statuses, wanted: int) -> Integers:
    """The rows, rising, whose status has its bit set in `wanted`."""
    found = np.empty(len(status), dtype=np.int64)
    n_found = 0
    for row in range(len(status)):
        found[n_found] = row
        n_found += wanted >> status[row] & 1
    return found[:n_found]


@njit(cache=True, nogil=True)
def overdue(plans: Any, now: float) -> Integers:
    """The rows of the open episodes whose time limit has passed; `earliest` becomes that of the others."""
    plan = plans[0]
    status, streams, _ = _streams(plan)
    limit = plan.limit * plan.period
    if plan.earliest + limit > now:
        return np.empty(0, dtype=np.int64)
    found = np.empty(np.sum(status == OPEN), dtype=np.int64)
    n_found = 0
    earliest = np.inf
    for row in range(plan.n_rows):
        if status[row] == OPEN:
            if streams[row].start + limit <= now:
                found[n_found] = row
                n_found += 1
            else:
                earliest = min(earliest, streams[row].start)
    plan.earliest = earliest
    return found[:n_found]

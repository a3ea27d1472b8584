"""The compiled driver: runs all features over samples, calling each step's loop by its address."""

from ctypes import CFUNCTYPE, c_void_p
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from feature_extractors._compiled import Primitive, address_in, creating, inlined
from feature_extractors._loop import (
    INPUTS,
    LAST,
    N_COLUMNS,
    N_FEATURES,
    OWN,
    PARAMS,
    ROOM,
    ROWS,
    SAMPLES,
    SECONDS,
    STRIDE,
    TASK_SIZE,
    VALUES,
    WIDTH,
    N,
)

BLOCK = 64
"""Number of samples that every feature processes before the next block: their rows stay in the nearest cache."""
MANY = 16
"""Least number of streams run side by side: while one step waits for its number, another can run."""


def layout_of(*layouts: object) -> tuple[str, type[np.int64]]:
    """Return a record field whose name changes with the layouts and sizes that kernels rely on.

    numba recompiles for a new type, but does not notice changed constants of other files, and stale kernels would
    read and write beyond their arrays.
    """
    return f"layout_{sha256(repr(layouts).encode()).hexdigest()[:12]}", np.int64


TASK = (LAST, OWN, WIDTH, ROWS, N, SAMPLES, N_COLUMNS, INPUTS, PARAMS, SECONDS, ROOM, VALUES, N_FEATURES, STRIDE)

ENTRY = np.dtype(
    [(name, np.int64) for name in ("address", "state", "first_input", "first_param")]
    + [layout_of(BLOCK, TASK, TASK_SIZE)]
)
"""A feature in the driver's table: the address of its loop, and the places of its state, inputs and parameters."""


@Primitive
def call_loop(address: int, task: int) -> None:
    """Call the loop at one integer address on the task at another."""
    CFUNCTYPE(None, c_void_p)(int(address))(int(task))


@inlined
def _run_every(table, inputs, params, state, rows, samples, seconds, start, n, stride, room, task, values, first):
    """Run every step on n samples; their values go to rows of `values`, both `stride` apart.

    A feature whose address is 0 has no compiled step, and keeps its last value. `room` and `task` are scratch.
    """
    task[WIDTH] = state.shape[1]
    task[ROWS], task[N], task[STRIDE] = address_in(rows, start), n, stride
    task[SAMPLES], task[N_COLUMNS] = address_in(samples, start * samples.shape[1]), samples.shape[1]
    task[SECONDS], task[ROOM] = address_in(seconds, start), address_in(room, 0)
    task[N_FEATURES] = table.shape[0]
    for j in range(table.shape[0]):
        entry = table[j]
        if entry.address == 0:
            for i in range(0, n * stride, stride):
                values[first + i, j] = state[rows[start + i], j]
            continue
        task[LAST], task[OWN] = address_in(state, j), address_in(state, entry.state)
        task[INPUTS], task[PARAMS] = address_in(inputs, entry.first_input), address_in(params, entry.first_param)
        task[VALUES] = address_in(values, first * table.shape[0] + j)
        call_loop(entry.address, address_in(task, 0))


@inlined
def run_block(table, inputs, params, state, rows, samples, seconds, start, stop, room, task, values):
    """Run every step on the samples from `start` up to `stop`; sample i belongs to the stream of row `rows[i]`."""
    n = stop - start
    _run_every(table, inputs, params, state, rows, samples, seconds, start, n, 1, room, task, values, start)


def scratch(inputs: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return scratch space for `run`."""
    return np.empty(len(inputs) + 1), np.empty(TASK_SIZE, dtype=np.int64)


@creating
def run(table, inputs, params, state, rows, samples, seconds, values, room, task):
    """Run every step on every sample, in order; the last two are scratch."""
    for start in range(0, rows.shape[0], BLOCK):
        stop = min(rows.shape[0], start + BLOCK)
        run_block(table, inputs, params, state, rows, samples, seconds, start, stop, room, task, values)


@creating
def run_side_by_side(table, inputs, params, state, rows, samples, seconds, values, room, task, n_ticks):
    """Run every step on every sample of streams of `n_ticks` ticks each, stored one after the other."""
    for stream in range(0, state.shape[0], BLOCK):
        n = min(state.shape[0] - stream, BLOCK)
        for start in range(stream * n_ticks, (stream + 1) * n_ticks):
            _run_every(
                table, inputs, params, state, rows, samples, seconds, start, n, n_ticks, room, task, values, start
            )

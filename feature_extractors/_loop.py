"""The loop of a step over many samples, which the driver calls by address.

It is compiled once per kind of feature, around its step, so that new sets of features need no compilation.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import Any

import numpy as np

from feature_extractors._compiled import Kernel, Primitive, carray, in_c, numba_side
from feature_extractors.base import LARGEST

TASK_SIZE = 14
LAST, OWN, WIDTH, ROWS, N, SAMPLES, N_COLUMNS = range(7)
INPUTS, PARAMS, SECONDS, ROOM, VALUES, N_FEATURES, STRIDE = range(7, TASK_SIZE)
"""Fields of a task: addresses of the last value and the own state in the first row of state, and a row's length;
the rows, and their number; the samples, and the length of one; indices of inputs; parameters; seconds; room for
inputs; the values, and the length of a row of them; and the distance from one sample to the next."""

ANY_LENGTH = 2**40
"""Length in Python of what a pointer points to: it is not known."""

step: Any
n_inputs: int  # `address_of` sets these two to those of the kind


@Primitive
def floats(address: int, n: int) -> Any:
    """Return a pointer to the n-th float64 after an address."""
    return carray(address + 8 * n, ANY_LENGTH, np.float64)


@Primitive
def integers(address: int) -> Any:
    """Return a pointer to integers."""
    return carray(address, ANY_LENGTH, np.int64)


@cache
def address_of(function: Callable[..., float], n_columns: int) -> int:
    """Return the address of a step function's loop in this process: that in C, else numba's."""
    loops = getattr(in_c(), "LOOPS", {})
    name = f"{function.__module__}.{function.__qualname__}/{n_columns}"
    return int(loops[name]) if name in loops else address_by_numba(function, n_columns)


@cache
def address_by_numba(function: Callable[..., float], n_columns: int) -> int:
    """Return the address of a loop that numba compiles, or loads from its cache."""
    place = function.__code__  # numba caches the loop next to the step while file and name are the same
    code = _loop.__code__.replace(co_filename=place.co_filename, co_firstlineno=place.co_firstlineno)
    loop = FunctionType(code, {**globals(), "step": Kernel(function, error_model="numpy"), "n_inputs": n_columns})
    loop.__module__ = function.__module__
    loop.__qualname__ = f"{function.__qualname__}_loop_{n_columns}_{_VERSION}"
    return int(numba_side().compiled_loop(loop))


def _loop(task: Any) -> None:
    """Run a step on samples in order; one with a missing input leaves state and last value unchanged."""
    stride = task[STRIDE]
    last, own, width = floats(task[LAST], 0), task[OWN], task[WIDTH]
    rows, inputs = integers(task[ROWS]), integers(task[INPUTS])
    params, seconds, room = floats(task[PARAMS], 0), floats(task[SECONDS], 0), floats(task[ROOM], 0)
    samples, n_columns = floats(task[SAMPLES], 0), task[N_COLUMNS]
    values, n_features = floats(task[VALUES], 0), task[N_FEATURES]
    for i in range(0, task[N] * stride, stride):
        at = rows[i] * width
        is_finite = True
        for k in range(n_inputs):  # noqa: F821 - declared above
            room[k] = samples[i * n_columns + inputs[k]]
            is_finite = is_finite and abs(room[k]) <= LARGEST
        value = step(floats(own, at), room, params, seconds[i]) if is_finite else last[at]  # noqa: F821 - the same
        last[at] = value
        values[i * n_features] = value


_PLACES = LAST, OWN, WIDTH, ROWS, N, SAMPLES, N_COLUMNS, INPUTS, PARAMS, SECONDS, ROOM, VALUES, N_FEATURES, STRIDE
_VERSION = sha256(repr((_loop.__code__.co_code, _loop.__code__.co_consts, _PLACES)).encode()).hexdigest()[:12]
"""Changes with the loop and with the fields of its task."""

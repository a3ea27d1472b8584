"""The loop of a step over many samples: what the driver calls by address.

It is compiled once for each kind of feature, around its step, so that no set of features needs compiling anew.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import cfunc, float64, int64, njit, types, void
from numba.extending import intrinsic

from feature_extractors.base import LARGEST

POINTER = types.CPointer(float64)
TASK = types.CPointer(int64)
LOOP = void(TASK)

TASK_SIZE = 14
LAST, OWN, WIDTH, ROWS, N, SAMPLES, N_COLUMNS = range(7)
INPUTS, PARAMS, SECONDS, ROOM, VALUES, N_FEATURES, STRIDE = range(7, TASK_SIZE)
"""Places of a task: where in the first row of state the last value and the own state are, and how long a row is;
the rows, and how many; the samples, and how long one is; which inputs; parameters; seconds; room for inputs; where
the values go, and how far apart these are; and how far it is from a sample to the next that is meant."""

step: Any
n_inputs: int  # these two are those of the kind whose loop it is: `address_of` puts them in


@intrinsic
def floats(_context: Any, address: Any, n: Any) -> Any:
    """Return a pointer to numbers, moved on by so many."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.gep(builder.inttoptr(args[0], ir.DoubleType().as_pointer()), [args[1]])

    return POINTER(address, n), codegen


@intrinsic
def integers(_context: Any, address: Any) -> Any:
    """Return a pointer to whole numbers."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

    return types.CPointer(int64)(address), codegen


@cache
def address_of(function: Callable[..., float], n_columns: int) -> int:
    """Return where the loop of a step function is, in this process; compiled, or fetched from numba's cache."""
    place = function.__code__  # numba keeps the loop beside the step, as long as that and its name do not change
    code = _loop.__code__.replace(co_filename=place.co_filename, co_firstlineno=place.co_firstlineno)
    loop = FunctionType(code, {**globals(), "step": njit(error_model="numpy")(function), "n_inputs": n_columns})
    loop.__module__ = function.__module__
    loop.__qualname__ = f"{function.__qualname__}_loop_{n_columns}_{_VERSION}"
    return int(cfunc(LOOP, cache=True, error_model="numpy")(loop).address)


def _loop(task: Any) -> None:
    """Run a step on samples in order; one without an input leaves the state and the last value as they are."""
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
"""Changes with the loop, and with where it finds what in its task."""

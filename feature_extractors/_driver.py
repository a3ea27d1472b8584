"""The compiled driver: calls steps by address, so that no set of features needs compiling anew."""

import numpy as np
from llvmlite import ir
from numba import float64, int64, njit, types
from numba.extending import intrinsic

from feature_extractors.base import LARGEST, POINTER


@intrinsic
def call_step(_context, address, state, inputs, params, t):
    """Call the step at an integer address."""

    def codegen(context, builder, signature, args):
        double = ir.DoubleType()
        pointer = ir.PointerType(double)
        function = ir.FunctionType(double, [pointer, pointer, pointer, double])
        return builder.call(builder.inttoptr(args[0], ir.PointerType(function)), args[1:])

    return float64(int64, POINTER, POINTER, POINTER, float64), codegen


@intrinsic
def pointer_to(_context, array, index):
    """Return the address of an element of a contiguous array, counted flat."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.gep(data, [args[1]])

    return POINTER(array, index), codegen


_PROGRAM = (int64[::1], int64[::1], int64[::1], int64[::1], float64[::1], int64[::1])
_BATCH = (
    types.Array(int64, 1, "C", readonly=True),
    types.Array(float64, 2, "C", readonly=True),
    types.Array(float64, 1, "C", readonly=True),
)


@njit(
    types.void(*_PROGRAM, float64[:, ::1], *_BATCH, float64[:, ::1]),
    cache=True,
    nogil=True,
)
def run(addresses, states, inputs, input_starts, params, param_starts, state, rows, samples, times, out):
    """Run every step on every sample, in order; sample i belongs to the stream of row `rows[i]`.

    A feature whose address is 0 has no compiled step, and keeps its last value.
    """
    n_features = addresses.shape[0]
    width = state.shape[1]
    gathered = np.empty((1, inputs.shape[0] + 1))
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(n_features):
            finite = addresses[j] != 0
            start = input_starts[j]
            for k in range(input_starts[j + 1] - start):
                value = samples[i, inputs[start + k]]
                gathered[0, k] = value
                finite = finite and abs(value) <= LARGEST
            if finite:
                state[row, j] = call_step(
                    addresses[j],
                    pointer_to(state, row * width + states[j]),
                    pointer_to(gathered, 0),
                    pointer_to(params, param_starts[j]),
                    times[i],
                )
            out[i, j] = state[row, j]

"""What numba does for kernels: the only file that compiles by it."""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import int64, types, void
from numba.core.registry import cpu_target
from numba.extending import intrinsic

FLOATS = types.CPointer(types.float64)
INTEGERS = types.CPointer(int64)

_BYTE, _LONG = ir.IntType(8), ir.IntType(64)
_WRITE, _KEEP, _DATA = 1, 3, 1  # flags: the line will be written, kept in all caches, and is not code

carray = numba.carray


def compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function that numba compiles at its first call."""
    return numba.njit(**options)(function)


def compiled_loop(function: Callable[[Any], None]) -> int:
    """Compile a loop over a task's samples, or load it from the cache; return its address."""
    return int(numba.cfunc(void(INTEGERS), cache=True, error_model="numpy")(function).address)


def type_of(name: str) -> Any:
    """Return the type that numba gives a function of this file."""
    return cpu_target.typing_context.resolve_value_type(globals()[name])


@intrinsic
def pointer(_context: Any, address: Any) -> Any:
    """Return an address as a pointer."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], _BYTE.as_pointer())

    return types.voidptr(int64), codegen


@intrinsic
def prefetch(_context: Any, address: Any) -> Any:
    """Prefetch the cache line at an address, which need not be valid."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        place, number = builder.inttoptr(args[0], _BYTE.as_pointer()), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], shape)
        builder.call(function, [place, *(number(flag) for flag in (_WRITE, _KEEP, _DATA))])
        return context.get_dummy_value()

    return void(int64), codegen


@intrinsic
def address_in(_context: Any, array: Any, index: Any) -> Any:
    """Return the address of an element of a contiguous array, by its flat index."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(builder.gep(data, [args[1]]), _LONG)

    return int64(array, index), codegen


@intrinsic
def call_loop(_context: Any, address: Any, task: Any) -> Any:
    """Call the loop at one integer address on the task at another."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        long_pointer = _LONG.as_pointer()
        function = ir.FunctionType(ir.VoidType(), [long_pointer])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), [builder.inttoptr(args[1], long_pointer)])
        return context.get_dummy_value()

    return void(address, task), codegen


@intrinsic
def floats(_context: Any, address: Any, n: Any) -> Any:
    """Return a pointer to the n-th float64 after an address."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.gep(builder.inttoptr(args[0], ir.DoubleType().as_pointer()), [args[1]])

    return FLOATS(address, n), codegen


@intrinsic
def integers(_context: Any, address: Any) -> Any:
    """Return a pointer to integers."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], _LONG.as_pointer())

    return INTEGERS(address), codegen

"""Memory by its address, within kernels."""

from typing import Any

from llvmlite import ir
from numba import int64, types
from numba.extending import intrinsic

LINE = 64
"""Bytes that a processor fetches at once."""

_WRITE, _KEEP, _DATA = 1, 3, 1  # what it is told: they will be written to, are for all caches, and are no code


@intrinsic
def pointer(_context: Any, address: Any) -> Any:  # noqa: ARG001 - numba goes by the names
    """Return an address as a pointer."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(int64), codegen


@intrinsic
def prefetch(_context: Any, address: Any) -> Any:  # noqa: ARG001 - numba goes by the names
    """Have the line at an address fetched, so that nobody waits for it later; it need not be there."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        place, number = builder.inttoptr(args[0], ir.IntType(8).as_pointer()), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], shape)
        builder.call(function, [place, *(number(told) for told in (_WRITE, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.void(int64), codegen

"""Access to memory by address, in kernels."""

from typing import Any

from llvmlite import ir
from numba import int64, types
from numba.extending import intrinsic

LINE = 64
"""Bytes of a cache line."""

_WRITE, _KEEP, _DATA = 1, 3, 1  # flags: the line will be written, kept in all caches, and is not code


@intrinsic
def pointer(_context: Any, address: Any) -> Any:  # noqa: ARG001 - numba requires these names
    """Return an address as a pointer."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(int64), codegen


@intrinsic
def prefetch(_context: Any, address: Any) -> Any:  # noqa: ARG001 - numba requires these names
    """Prefetch the cache line at an address, which need not be valid."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        place, number = builder.inttoptr(args[0], ir.IntType(8).as_pointer()), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], shape)
        builder.call(function, [place, *(number(flag) for flag in (_WRITE, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.void(int64), codegen

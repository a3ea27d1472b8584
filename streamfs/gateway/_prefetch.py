"""Asking the memory for what is needed soon, so that nobody waits for it then."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WRITE, _KEEP, _DATA = 1, 3, 1  # what the processor is told: it will be written to, in all caches, and is no code


@intrinsic
def prefetch(_context: Any, array: Any, index: Any) -> Any:
    """Have the element of an array fetched; nothing happens where there is none."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, args[0])
        word, number = ir.IntType(64), ir.IntType(32)
        position = context.cast(builder, args[1], signature.args[1], types.int64)
        place = builder.add(builder.ptrtoint(source.data, word), builder.mul(position, source.itemsize))
        pointer = builder.inttoptr(place, ir.IntType(8).as_pointer())
        shape = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], shape)
        builder.call(function, [pointer, *(number(told) for told in (_WRITE, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.none(array, index), codegen

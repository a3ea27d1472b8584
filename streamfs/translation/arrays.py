"""Translation of what kernels do with arrays: elements, rows and slices, records, and arrays at addresses."""

import ast
from typing import Any

import numpy as np

from feature_extractors._compiled import Primitive
from streamfs.translation.expressions import Expressions, Typed, bare, called
from streamfs.translation.values import (
    NONE,
    POINTER,
    WHOLE,
    Array,
    Results,
    Together,
    array_of,
)


class ArrayExpressions(Expressions):
    """Expressions of a function, with those of arrays."""

    def _array(self, node: ast.expr) -> Typed:
        """Return an array whose lengths are known."""
        found = self._expression(node)
        if not found.extents:
            raise self._refuse(node, "has no length")
        return found

    def _element(self, node: ast.Subscript) -> Typed:
        match node:
            case ast.Subscript(
                value=ast.Call(func=ast.Attribute(attr="frexp"), args=[x]), slice=ast.Constant(value=1)
            ):
                return Typed(f"exponent_of({self._expression(x).text})", WHOLE)
            case ast.Subscript(value=ast.Attribute(value=of, attr="shape"), slice=ast.Constant(value=int() as k)):
                return Typed(self._array(of).extents[k], WHOLE)
        before = self._n_changing
        whole = self._expression(node.value)
        if self._n_changing > before:
            raise self._refuse(node, "takes a part of what changes arrays")
        if isinstance(whole.kind, Array):
            return self._within(node, whole, node.slice)
        match node.slice:
            case ast.Constant(value=int() as k) if isinstance(whole.kind, Results | Together):
                return item_of(whole, k)
        raise self._refuse(node)

    def _within(self, node: ast.expr, array: Typed, place: ast.expr) -> Typed:
        """Return an element, a row or a slice of an array."""
        kind: Any = array.kind
        match place:
            case ast.Tuple(elts=[row, ast.Slice() as part]):
                return self._within(node, self._row(array, row), part)
            case ast.Tuple(elts=[first, *others]) if kind.n_dimensions == 1 + len(others):
                at = self._index(first, array)
                for axis, each in enumerate(others, 1):
                    at = f"({at})" if axis > 1 else at
                    at = f"{at} * {array.extents[axis]} + {self._index(each, array, axis)}"
                return Typed(f"{array.text}[{at}]", kind.item)
            case ast.Slice(lower=lower, upper=upper, step=None):
                return self._slice(array, lower, upper)
            case ast.Slice() | ast.Tuple():
                raise self._refuse(node)
        if kind.n_dimensions > 1:
            return self._row(array, place)
        return Typed(f"{array.text}[{bare(self._index(place, array))}]", kind.item)

    def _index(self, node: ast.expr, array: Typed, axis: int = 0) -> str:
        """Return an index, which is not negative, but for -1."""
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)) if array.extents:
                return f"({array.extents[axis]} - 1)"
            case ast.UnaryOp(operand=ast.Constant()):
                raise self._refuse(node, "counts from the end")
        return self._expression(node).text

    def _row(self, array: Typed, place: ast.expr) -> Typed:
        kind: Any = array.kind
        start = " * ".join([self._index(place, array), *array.extents[1:]])
        part = Array(kind.item, kind.n_dimensions - 1, kind.stored)
        return Typed(f"({array.text} + {start})", part, array.extents[1:])

    def _slice(self, array: Typed, lower: ast.expr | None, upper: ast.expr | None) -> Typed:
        """Return a part whose ends are not negative; as in Python it ends where the array ends."""
        low = "0" if lower is None else self._index(lower, array)
        high = array.extents[0] if upper is None else f"min_whole({self._index(upper, array)}, {array.extents[0]})"
        start = " * ".join([low, *array.extents[1:]])
        text = array.text if low == "0" else f"({array.text} + {start})"
        return Typed(text, array.kind, (high if low == "0" else f"({high} - {low})", *array.extents[1:]))

    def _call(self, node: ast.Call) -> Typed:
        function = self._look(node.func)
        if isinstance(function, Primitive):
            found: Typed = getattr(self, f"_{function.__name__}")(*node.args)
            return found
        if function is len:
            return self._length(node.args[0])
        if function is np.argmax:
            array = self._array(node.args[0])
            return Typed(f"argmax_of({bare(array.text)}, {array.extents[0]})", WHOLE)
        return super()._call(node)

    def _length(self, node: ast.expr) -> Typed:
        known = None if self._is_local(node) else self._look_up(node)
        return (
            Typed(str(len(known)), WHOLE)
            if isinstance(known, tuple)
            else Typed(self._array(node).extents[0], WHOLE)
        )

    def _look_up(self, node: ast.expr) -> Any:
        return self._look(node) if isinstance(node, ast.Name | ast.Attribute) else None

    # What kernels do with addresses

    def _pointer(self, address: ast.expr) -> Typed:
        return self._expression(address)

    def _carray(self, address: ast.expr, shape: ast.expr, dtype: ast.expr) -> Typed:
        sizes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
        kind = array_of(self._look(dtype), len(sizes), self._unit.struct)
        extents = tuple(self._expression(size).text for size in sizes)
        return Typed(f"(({kind.text} *)(uintptr_t){self._expression(address).text})", kind, extents)

    def _floats(self, address: ast.expr, n: ast.expr) -> Typed:
        text = f"((real *)(uintptr_t){self._expression(address).text} + {self._expression(n).text})"
        return Typed(text, POINTER)

    def _integers(self, address: ast.expr) -> Typed:
        return Typed(f"((whole *)(uintptr_t){self._expression(address).text})", Array(WHOLE))

    def _address_in(self, array: ast.expr, index: ast.expr) -> Typed:
        return Typed(f"((whole)(uintptr_t)({self._array(array).text} + {self._expression(index).text}))", WHOLE)

    def _prefetch(self, address: ast.expr) -> Typed:
        return Typed(f"__builtin_prefetch((void *)(uintptr_t){self._expression(address).text}, 1, 3)", NONE)

    def _call_loop(self, address: ast.expr, task: ast.expr) -> Typed:
        loop = f"((void (*)(whole *))(uintptr_t){self._expression(address).text})"
        return Typed(f"{loop}((whole *)(uintptr_t){self._expression(task).text})", NONE)


def item_of(whole: Typed, place: int) -> Typed:
    """Return a part of a tuple or of what a function returns."""
    if isinstance(whole.kind, Together):
        return whole.parts[place]
    kind = whole.kind.items[place]  # type: ignore[union-attr]
    found = called(f"item{place}", kind)
    return Typed(f"{whole.text}.{found.text}", kind, tuple(f"{whole.text}.{extent}" for extent in found.extents))

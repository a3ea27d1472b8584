"""Translation of the expressions of a function of restricted Python."""

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from streamfs.errors import TranslationError
from streamfs.translation.precision import Precision
from streamfs.translation.values import NONE, REAL, TRUTH, WHOLE, Array, Struct, Value, unified

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">="}
REALS = ("sqrt", "fabs", "cos", "sin", "hypot", "copysign", "ldexp", "log", "exp", "floor", "rint")
"""Functions of `math` and numpy that C has under the same name."""


class Typed(NamedTuple):
    """An expression in C, and its type."""

    text: str
    kind: Value


class Translated(NamedTuple):
    """A function in C: its name and text, what it returns, which arguments it writes to, and what it calls."""

    name: str
    text: str
    result: Value | None
    written: frozenset[int]
    calls: tuple[str, ...]


class Surroundings(Protocol):
    """The unit of which a function is a part."""

    precision: Precision

    def translated(self, function: Callable[..., Any], kinds: tuple[Value, ...]) -> Translated:
        """Return a function for arguments of these types."""

    def table(self, function: Callable[..., Any], name: str, values: Any) -> Typed:
        """Return a constant table, which the function knows under a name."""


class Expressions:
    """A function whose expressions are translated, and what its statements have shown of it so far."""

    def __init__(
        self, unit: Surroundings, function: Callable[..., Any], name: str, kinds: Sequence[Value]
    ) -> None:
        self._unit = unit
        self._function = function
        self._globals = function.__globals__
        self._tree: ast.FunctionDef = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]  # type: ignore[assignment]
        self._arguments = [argument.arg for argument in self._tree.args.args]
        self._kinds: dict[str, Value] = dict(zip(self._arguments, kinds, strict=True))
        self._locals: dict[str, Value] = {}
        self._calls: dict[str, None] = {}
        self._written: set[str] = set()
        self._n_changing = 0  # calls within the current statement that change an array
        self._result: Value | None = None
        self._name = name

    def _refuse(self, node: ast.AST, why: str = "is not translated") -> TranslationError:
        place = f"{self._function.__module__}.{self._function.__qualname__}"
        return TranslationError(f"{place}: {ast.unparse(node)} {why}")

    def _settled(self, test: ast.expr) -> bool | None:
        """Return what a comparison with None says; None for another test."""
        match test:
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
            ):
                return (self._expression(left).kind == NONE) == isinstance(op, ast.Is)
        return None

    def _look(self, node: ast.expr) -> Any:
        """Return what a name or an attribute means where the function was written."""
        if isinstance(node, ast.Name):
            if node.id in self._globals:
                return self._globals[node.id]
            return getattr(builtins, node.id, None)
        if isinstance(node, ast.Attribute):
            return getattr(self._look(node.value), node.attr, None)
        raise self._refuse(node)

    def _expression(self, node: ast.expr) -> Typed:
        """Return an expression in C, in parentheses where operators next to it need them."""
        translate = self._TRANSLATED.get(type(node))
        if translate is None:
            raise self._refuse(node)
        return translate(self, node)

    def _literal(self, node: ast.Constant) -> Typed:
        return self._constant(node, node.value)

    def _unary(self, node: ast.UnaryOp) -> Typed:
        given = self._expression(node.operand)
        if isinstance(node.op, ast.Not):
            return Typed(f"(!{given.text})", TRUTH)
        if isinstance(node.op, ast.USub):
            return Typed(f"(-{given.text})", given.kind)
        raise self._refuse(node)

    def _joined(self, node: ast.BoolOp) -> Typed:
        sign = " && " if isinstance(node.op, ast.And) else " || "
        return Typed(f"({sign.join(self._expression(value).text for value in node.values)})", TRUTH)

    def _constant(self, node: ast.expr, value: Any) -> Typed:
        if value is None:
            return Typed("none", NONE)
        if isinstance(value, bool):
            return Typed(str(int(value)), TRUTH)
        if isinstance(value, int):
            return Typed(str(value) if value >= 0 else f"({value})", WHOLE)
        if isinstance(value, float):
            literal = self._unit.precision.literal(value)
            return Typed(f"({literal})" if literal.startswith("-") else literal, REAL)
        raise self._refuse(node)

    def _named(self, node: ast.Name | ast.Attribute) -> Typed:
        """Return an argument or a local name, a constant of the function's module, or a field of a record."""
        if isinstance(node, ast.Name) and (node.id in self._kinds or node.id in self._locals):
            return Typed(node.id, self._kinds[node.id] if node.id in self._kinds else self._locals[node.id])
        if isinstance(node, ast.Attribute):
            inner = node.value
            is_local = isinstance(inner, ast.Name) and (inner.id in self._locals or inner.id in self._kinds)
            if is_local or isinstance(inner, ast.Subscript):
                return self._field(node, self._expression(inner))
        name = node.id if isinstance(node, ast.Name) else node.attr
        constants = self._unit.precision.constants
        value = constants[name] if name in constants else self._look(node)
        if isinstance(value, np.ndarray):
            return self._unit.table(self._function, name, value)
        return self._constant(node, value)

    def _field(self, node: ast.Attribute, record: Typed) -> Typed:
        fields = record.kind.fields if isinstance(record.kind, Struct) else ()
        kinds = {name: kind for name, kind, _ in fields}
        if node.attr not in kinds:
            raise self._refuse(node)
        return Typed(f"{record.text}.{node.attr}", kinds[node.attr])

    def _binary(self, node: ast.BinOp) -> Typed:
        one, other, right = self._expression(node.left), self._expression(node.right), node.right
        kind = unified(unified(one.kind, other.kind), WHOLE)
        is_real = kind == REAL
        match node.op:
            case ast.Div():
                return Typed(f"({_real(one)} / {_real(other)})", REAL)
            case ast.Pow() if isinstance(right, ast.Constant) and right.value == 2 and is_real:
                return Typed(f"square({one.text})", REAL)
            case ast.Pow():
                return Typed(f"pow{self._unit.precision.suffix}({one.text}, {_real(other)})", REAL)
            case ast.Mod():
                return Typed(f"{'modulo' if is_real else 'remainder_of'}({one.text}, {other.text})", kind)
            case ast.FloorDiv() if not is_real:
                return Typed(f"quotient_of({one.text}, {other.text})", WHOLE)
        if type(node.op) in BINARY:
            return Typed(f"({one.text} {BINARY[type(node.op)]} {other.text})", kind)
        raise self._refuse(node)

    def _choice(self, node: ast.IfExp) -> Typed:
        settled = self._settled(node.test)
        if settled is not None:
            return self._expression(node.body if settled else node.orelse)
        one, two = self._expression(node.body), self._expression(node.orelse)
        kind = unified(one.kind, two.kind)
        return Typed(f"({self._expression(node.test).text} ? {one.text} : {two.text})", kind)

    def _comparison(self, node: ast.Compare) -> Typed:
        settled = self._settled(node)
        if settled is not None:
            return Typed(str(int(settled)), TRUTH)
        left, parts = self._expression(node.left), []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.NotIn) and isinstance(comparator, ast.Tuple):
                values = [self._expression(value).text for value in comparator.elts]
                parts.append("!(" + " || ".join(f"{left.text} == {value}" for value in values) + ")")
                continue
            if type(op) not in COMPARED:
                raise self._refuse(node)
            right = self._expression(comparator)
            parts.append(f"{left.text} {COMPARED[type(op)]} {right.text}")
            left = right
        return Typed(f"({' && '.join(parts)})", TRUTH)

    def _element(self, node: ast.Subscript) -> Typed:
        match node:
            case ast.Subscript(
                value=ast.Call(func=ast.Attribute(attr="frexp"), args=[x]), slice=ast.Constant(value=1)
            ):
                return Typed(f"exponent_of({self._expression(x).text})", WHOLE)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int() as k)
            ):
                return Typed(extents(name, self._array(node, name))[k], WHOLE)
        array = self._expression(node.value)
        if not isinstance(array.kind, Array):
            raise self._refuse(node)
        if not isinstance(node.slice, ast.Tuple):
            return Typed(f"{array.text}[{bare(self._expression(node.slice).text)}]", array.kind.item)
        row, column = (self._expression(each).text for each in node.slice.elts)
        width = extents(array.text, array.kind)[1]
        return Typed(f"{array.text}[{row} * {width} + {column}]", array.kind.item)

    def _array(self, node: ast.expr, name: str) -> Array:
        kind = self._kinds.get(name)
        if not isinstance(kind, Array) or not kind.n_dimensions:
            raise self._refuse(node)
        return kind

    def _call(self, node: ast.Call) -> Typed:
        if isinstance(node.func, ast.Name) and node.func.id == "len" and isinstance(node.args[0], ast.Name):
            name = node.args[0].id
            return Typed(extents(name, self._array(node, name))[0], WHOLE)
        function = self._look(node.func)
        given = [self._expression(each) for each in node.args]
        module = getattr(function, "__module__", None)
        if module in ("builtins", "math", None) or isinstance(function, np.ufunc):
            return self._known(node, getattr(function, "__name__", ""), given)
        return self._own(node, function, given)

    def _known(self, node: ast.Call, name: str, given: list[Typed]) -> Typed:
        """Return the call of a function of Python, `math` or numpy."""
        texts, suffix = ", ".join(each.text for each in given), self._unit.precision.suffix
        are_whole = all(each.kind in (WHOLE, TRUTH) for each in given)
        if name in ("int", "float", "bool") and len(given) == 1:
            kind = {"int": WHOLE, "float": REAL, "bool": TRUTH}[name]
            return given[0] if given[0].kind == kind else Typed(f"(({kind.text}){texts})", kind)
        if name in ("min", "max") and len(given) == 2:
            return Typed(f"{name}_{'whole' if are_whole else 'real'}({texts})", WHOLE if are_whole else REAL)
        if name == "isnan":
            return Typed(f"(isnan({bare(texts)}) != 0)", TRUTH)
        if name == "abs" and not are_whole:
            return Typed(f"fabs{suffix}({bare(texts)})", REAL)
        if name in REALS:
            return Typed(f"{name}{suffix}({texts})", REAL)
        raise self._refuse(node)

    def _own(self, node: ast.Call, function: Any, given: list[Typed]) -> Typed:
        """Return the call of a function that is translated, too."""
        function = getattr(function, "py_func", function)
        if not inspect.isfunction(function) or node.keywords:
            raise self._refuse(node)
        callee = self._unit.translated(function, tuple(each.kind for each in given))
        self._calls[callee.name] = None
        parts: list[str] = []
        for place, each in enumerate(given):
            if isinstance(each.kind, Array):
                if place in callee.written:
                    self._written.add(each.text)
                parts += [each.text, *extents(each.text, each.kind)]
            elif each.kind != NONE:
                parts.append(bare(each.text))
        self._n_changing += bool(callee.written)
        return Typed(f"{callee.name}({', '.join(parts)})", NONE if callee.result is None else callee.result)

    _TRANSLATED: ClassVar[dict[type[ast.expr], Callable[["Expressions", Any], Typed]]] = {
        ast.Constant: _literal,
        ast.Name: _named,
        ast.Attribute: _named,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.BoolOp: _joined,
        ast.IfExp: _choice,
        ast.Compare: _comparison,
        ast.Subscript: _element,
        ast.Call: _call,
    }


def extents(name: str, kind: Array) -> tuple[str, ...]:
    """Return the names of the numbers that go with an array: its length, and that of a row."""
    return (f"n_{name}", f"width_{name}")[: kind.n_dimensions]


def _real(given: Typed) -> str:
    return given.text if given.kind == REAL else f"(real){given.text}"


def bare(text: str) -> str:
    """Return an expression without its outer parentheses, where they are one pair."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]

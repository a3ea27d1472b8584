"""Translation of the expressions of a function of restricted Python."""

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from streamfs.errors import TranslationError
from streamfs.translation.precision import FLOAT, Precision
from streamfs.translation.values import (
    NONE,
    REAL,
    SHORT,
    SINGLE,
    TRUTH,
    UNSIGNED,
    WHOLE,
    Array,
    Known,
    Reference,
    Struct,
    Together,
    Value,
    extents,
    unified,
)

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">="}
REALS = ("sqrt", "fabs", "cos", "sin", "hypot", "copysign", "ldexp", "log", "log2", "exp", "log1p", "pow", "floor")
"""Functions of `math` and numpy that C has under the same name."""


_LONG = 2**31
_CASTS = {
    "int": WHOLE,
    "int64": WHOLE,
    "int32": SHORT,
    "uint64": UNSIGNED,
    "float": REAL,
    "float32": SINGLE,
    "bool": TRUTH,
}


class Typed(NamedTuple):
    """An expression in C, its type, the lengths of an array, and the parts of a tuple."""

    text: str
    kind: Value
    extents: tuple[str, ...] = ()
    parts: tuple["Typed", ...] = ()


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
    has_constants: bool
    storage: str

    def is_vectorised(self, function: Callable[..., Any]) -> bool:
        """Return whether a function fills vector registers."""

    def translated(self, function: Callable[..., Any], kinds: tuple[Value, ...]) -> Translated:
        """Return a function for arguments of these types."""

    def table(self, function: Callable[..., Any], name: str, values: Any) -> Typed:
        """Return a constant table, which the function knows under a name."""

    def struct(self, dtype: np.dtype[Any]) -> Struct:
        """Return the type of numpy's records."""


class Expressions:
    """A function whose expressions are translated, and what its statements have shown of it so far."""

    def __init__(
        self,
        unit: Surroundings,
        function: Callable[..., Any],
        name: str,
        kinds: Sequence[Value],
        is_updated: bool = False,
    ) -> None:
        self._unit = unit
        self._function = function
        self._globals = function.__globals__
        self._tree = definition_of(function, is_updated)
        self._arguments = [argument.arg for argument in self._tree.args.args]
        self._kinds: dict[str, Value] = dict(zip(self._arguments, kinds, strict=True))
        self._locals: dict[str, Value] = {}
        self._calls: dict[str, None] = {}
        self._written: set[str] = set()
        self._roots: dict[str, str] = {}  # the argument of which a local array or record is a part
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
        name = self._TRANSLATED.get(type(node))
        if name is None:
            raise self._refuse(node)
        found: Typed = getattr(self, name)(node)
        return found

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
        if isinstance(value, np.uint64):
            return Typed(f"UINT64_C({value})", UNSIGNED)
        if isinstance(value, int | np.integer):
            number = int(value)
            text = str(number) if abs(number) < _LONG else f"INT64_C({number})"
            return Typed(text if number >= 0 else f"({text})", WHOLE)
        if isinstance(value, np.float32):
            return Typed(FLOAT.literal(float(value)), SINGLE)
        if isinstance(value, float):
            literal = self._unit.precision.literal(value)
            return Typed(f"({literal})" if literal.startswith("-") else literal, REAL)
        raise self._refuse(node)

    def _named(self, node: ast.Name | ast.Attribute) -> Typed:
        """Return an argument or a local name, a constant of the function's module, or a field of a record."""
        if isinstance(node, ast.Name) and (node.id in self._kinds or node.id in self._locals):
            kind = self._kinds[node.id] if node.id in self._kinds else self._locals[node.id]
            return called(node.id, kind)
        if isinstance(node, ast.Attribute):
            inner = node.value
            if self._is_part(inner):
                return self._field(node, self._expression(inner))
        name = node.id if isinstance(node, ast.Name) else node.attr
        constants = self._unit.precision.constants
        value = constants[name] if name in constants else self._look(node)
        if isinstance(value, tuple) and value and isinstance(value[0], float):
            value = np.array(value)
        if isinstance(value, np.ndarray):
            return self._unit.table(self._function, name, value)
        if hasattr(value, "py_func"):
            return Typed(name, Known(value.py_func))
        return self._constant(node, value)

    def _is_local(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and (node.id in self._locals or node.id in self._kinds)

    def _is_part(self, node: ast.expr) -> bool:
        """Return whether an expression is a local name, an element, or a field of one of these."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return self._is_local(node) or isinstance(node, ast.Subscript)

    def _field(self, node: ast.Attribute, record: Typed) -> Typed:
        if isinstance(record.kind, Together) and node.attr in record.kind.names:
            return record.parts[record.kind.names.index(node.attr)]
        struct, sign = record.kind, "."
        if isinstance(struct, Reference):
            struct, sign = struct.struct, "->"
        fields = struct.fields if isinstance(struct, Struct) else ()
        kinds = {name: kind for name, kind, _ in fields}
        if node.attr not in kinds:
            raise self._refuse(node)
        return Typed(f"{record.text}{sign}{node.attr}", kinds[node.attr])

    def _binary(self, node: ast.BinOp) -> Typed:
        one, other = self._expression(node.left), self._expression(node.right)
        kind = unified(one.kind, other.kind)
        kind = WHOLE if kind == TRUTH else kind
        if type(node.op) in BITS and kind not in (REAL, SINGLE):
            return Typed(f"({one.text} {BITS[type(node.op)]} {other.text})", kind)
        return self._arithmetic(node, one, other, kind)

    def _arithmetic(self, node: ast.BinOp, one: Typed, other: Typed, kind: Value) -> Typed:
        right, is_real = node.right, kind == REAL
        match node.op:
            case ast.Div():
                kind = kind if kind == SINGLE else REAL
                return Typed(f"({_real(one, kind)} / {_real(other, kind)})", kind)
            case ast.Pow() if isinstance(right, ast.Constant) and right.value == 2 and is_real:
                return Typed(f"squared({one.text})", REAL)
            case ast.Pow():
                return Typed(f"pow{self._unit.precision.suffix}({one.text}, {_real(other)})", REAL)
            case ast.Mod():
                return Typed(f"{'modulo' if is_real else 'remainder_of'}({one.text}, {other.text})", kind)
            case ast.FloorDiv() if kind == WHOLE:
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
            if isinstance(op, ast.In | ast.NotIn) and isinstance(comparator, ast.Tuple):
                values = [self._expression(value).text for value in comparator.elts]
                sign = "!" * isinstance(op, ast.NotIn)
                parts.append(f"{sign}(" + " || ".join(f"{left.text} == {value}" for value in values) + ")")
                continue
            if type(op) not in COMPARED:
                raise self._refuse(node)
            right = self._expression(comparator)
            parts.append(f"{left.text} {COMPARED[type(op)]} {right.text}")
            left = right
        return Typed(f"({' && '.join(parts)})", TRUTH)

    def _element(self, node: ast.Subscript) -> Typed:
        raise self._refuse(node)

    def _call(self, node: ast.Call) -> Typed:
        function = self._look(node.func)
        if isinstance(node.func, ast.Name) and isinstance(kind := self._kinds.get(node.func.id), Known):
            function = kind.function
        before = self._n_changing
        given = [self._expression(each) for each in node.args]
        self._require_settled(node, self._n_changing - before)
        module = getattr(function, "__module__", None)
        if module in ("builtins", "math", "numpy", None) or isinstance(function, np.ufunc):
            return self._known(node, getattr(function, "__name__", ""), given)
        return self._own(node, function, given, before)

    def _require_settled(self, node: ast.Call, n_changing: int) -> None:
        """Refuse arguments of which one is changed while another is read: C does not settle their order."""
        if not n_changing:
            return
        plain = [each for each in node.args if isinstance(each, ast.Name | ast.Constant)]
        if n_changing > 1 or len(plain) < len(node.args) - 1:
            raise self._refuse(node, "changes arrays while it reads them, in an order that C does not settle")

    def _known(self, node: ast.Call, name: str, given: list[Typed]) -> Typed:
        """Return the call of a function of Python, `math` or numpy."""
        texts, suffix = ", ".join(each.text for each in given), self._unit.precision.suffix
        are_whole = all(each.kind in (WHOLE, SHORT, TRUTH) for each in given)
        are_single = all(each.kind == SINGLE for each in given)
        if name in _CASTS and len(given) == 1:
            kind = _CASTS[name]
            return given[0] if given[0].kind == kind else Typed(f"(({kind.text}){texts})", kind)
        if name in ("min", "max") and len(given) == 2:
            kind, word = (WHOLE, "whole") if are_whole else (SINGLE, "single") if are_single else (REAL, "real")
            return Typed(f"{name}_{word}({texts})", kind)
        if name in ("isnan", "isfinite"):
            return Typed(f"({name}({bare(texts)}) != 0)", TRUTH)
        if name == "abs" and not are_whole:
            return Typed(f"fabs{'f' if are_single else suffix}({bare(texts)})", SINGLE if are_single else REAL)
        if name == "rint":
            return Typed(f"nearest_whole({texts})", REAL)
        if name in REALS:
            return Typed(f"{name}{suffix}({texts})", REAL)
        raise self._refuse(node)

    def _own(self, node: ast.Call, function: Any, given: list[Typed], n_changing: int) -> Typed:
        """Return the call of a function that is translated, too."""
        function = getattr(function, "py_func", function)
        if not inspect.isfunction(function) or node.keywords:
            raise self._refuse(node)
        given = [referenced(each) for each in given]
        callee = self._unit.translated(function, tuple(each.kind for each in given))
        self._calls[callee.name] = None
        for place in callee.written:
            self._write(node.args[place])
        self._n_changing = max(self._n_changing, n_changing + bool(callee.written))
        arguments = ", ".join(part for each in given for part in arguments_of(each))
        result = NONE if callee.result is None else callee.result
        return Typed(f"{callee.name}({arguments})", result)

    def _write(self, target: ast.expr) -> None:
        """Note that the array of an expression is changed."""
        root = root_of(target)
        if root is not None:
            self._written.add(self._roots.get(root, root))

    _TRANSLATED: ClassVar[dict[type[ast.expr], str]] = {
        ast.Constant: "_literal",
        ast.Name: "_named",
        ast.Attribute: "_named",
        ast.BinOp: "_binary",
        ast.UnaryOp: "_unary",
        ast.BoolOp: "_joined",
        ast.IfExp: "_choice",
        ast.Compare: "_comparison",
        ast.Subscript: "_element",
        ast.Call: "_call",
    }


def definition_of(function: Callable[..., Any], is_updated: bool = False) -> ast.FunctionDef:
    """Return the syntax tree of a function; without its first statement if what this updates is up to date."""
    tree: ast.FunctionDef = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]  # type: ignore[assignment]
    if is_updated:
        del tree.body[ast.get_docstring(tree) is not None]
    return tree


def called(name: str, kind: Value) -> Typed:
    """Return what a name stands for."""
    if isinstance(kind, Together):
        parts = tuple(called(f"{name}_{k}", item) for k, item in enumerate(kind.items))
        return Typed(name, kind, (), parts)
    return Typed(name, kind, extents(name, kind) if isinstance(kind, Array) else ())


def referenced(value: Typed) -> Typed:
    """Return a reference to an element that is a record; any other value as it is."""
    return Typed(f"(&{value.text})", Reference(value.kind)) if isinstance(value.kind, Struct) else value


def arguments_of(value: Typed) -> list[str]:
    """Return what is passed for a value in C, as `declared` declares it."""
    if isinstance(value.kind, Together):
        return [part for each in value.parts for part in arguments_of(each)]
    if isinstance(value.kind, Known) or value.kind == NONE:
        return []
    return [bare(value.text), *map(bare, value.extents)]


def root_of(node: ast.expr) -> str | None:
    """Return the name of which an expression is a part; None if it is none."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _real(given: Typed, kind: Value = REAL) -> str:
    return given.text if given.kind == kind else f"(real){given.text}"


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

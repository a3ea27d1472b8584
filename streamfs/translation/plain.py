"""Functions of restricted Python as plain Python, which needs `math` alone, for MicroPython."""

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from streamfs.errors import TranslationError
from streamfs.translation.expressions import definition_of
from streamfs.translation.precision import Precision

HEAD = """\
import math

NAN = float("nan")
INF = float("inf")


def exp(x):
    try:
        return math.exp(x)
    except (OverflowError, ValueError):
        return INF


def rint(x):
    return float(round(x)) if abs(x) < 1e15 else x


def hypot(x, y):
    if hasattr(math, "hypot"):
        return math.hypot(x, y)
    most, least = max(abs(x), abs(y)), min(abs(x), abs(y))
    return most * math.sqrt(1.0 + least / most * (least / most)) if most > 0.0 else most
"""
"""What functions may use. The exponential function overflows to infinity, as in C; MicroPython has no `hypot`."""

_KEPT = ("int", "min", "max", "abs", "range", "len", "float", "bool")
_OTHERWISE = {"exp": "exp", "hypot": "hypot", "rint": "rint", "nan": "NAN", "inf": "INF"}
_MATHS = ("isnan", "isfinite", "sqrt", "fabs", "cos", "sin", "copysign", "ldexp", "frexp", "log", "floor", "fmod")


class Plain:
    """Functions in plain Python, each after those that it calls; those of numpy's arrays become ones of lists."""

    def __init__(self, precision: Precision) -> None:
        self.precision = precision
        self._names: dict[tuple[Callable[..., Any], bool], str] = {}
        self._texts: dict[str, str] = {}
        self._taken: dict[str, int] = {}

    def entry(self, function: Callable[..., Any], is_updated: bool = False) -> str:
        """Return the name of a function, which will be part of the text."""
        key = getattr(function, "py_func", function), is_updated
        if key not in self._names:
            self._names[key] = self._new_name(key[0])
            text = _Translation(self, *key).text(self._names[key])
            self._texts[self._names[key]] = text
        return self._names[key]

    def table(self, function: Callable[..., Any], name: str, values: Any) -> str:
        """Return the name of a constant table, which the function knows under a name."""
        place = f"{function.__module__.rpartition('.')[2].lstrip('_')}_{name}".upper()
        self._texts[place] = f"{place} = {self.literal(np.asarray(values).tolist())}\n"
        return place

    def literal(self, value: Any) -> str:
        """Return a number, or a table of numbers."""
        if isinstance(value, list | tuple):
            return f"({''.join(f'{self.literal(each)}, ' for each in value)})".replace(", )", ",)")
        if isinstance(value, bool | int | np.integer):
            return str(int(value))
        return self.number(self.precision.literal(value))

    def number(self, literal: str) -> str:
        """Return a literal of C as Python has it."""
        return _OF_C.get(literal) or literal.removesuffix(self.precision.suffix)

    def text(self) -> str:
        """Return all functions and tables."""
        return "\n\n".join([HEAD, *self._texts.values()])

    def _new_name(self, function: Callable[..., Any]) -> str:
        name = f"{function.__module__.rpartition('.')[2].lstrip('_')}_{function.__name__.strip('_').lower()}"
        self._taken[name] = self._taken.get(name, 0) + 1
        return name if self._taken[name] == 1 else f"{name}_{self._taken[name]}"


_OF_C = {"NAN": "NAN", "INFINITY": "INF", "-INFINITY": "-INF"}


class _Translation(ast.NodeTransformer):
    """A function, whose names are those of one file."""

    def __init__(self, unit: Plain, function: Callable[..., Any], is_updated: bool) -> None:
        self._unit = unit
        self._function = function
        self._tree = definition_of(function, is_updated)
        self._locals = {each.arg for each in self._tree.args.args} | {
            each.id
            for each in ast.walk(self._tree)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }

    def text(self, name: str) -> str:
        """Return the function under a name."""
        tree, comment = self._tree, " ".join((ast.get_docstring(self._tree) or "").split("\n\n")[0].split())
        body = tree.body[ast.get_docstring(tree) is not None :]
        arguments = ", ".join(each.arg for each in tree.args.args)
        lines = ast.unparse(ast.fix_missing_locations(ast.Module(list(map(self.visit, body)), []))).splitlines()
        head = f"# {comment}\n" if comment else ""
        return f"{head}def {name}({arguments}):\n" + "".join(f"    {line}\n" for line in lines)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Drop the annotation."""
        return self.visit(ast.Assign([node.target], node.value))  # type: ignore[arg-type]

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Return an element of a list of lists."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            array, axis = ast.unparse(self.visit(node.value.value)), ast.unparse(node.slice)
            return _expression(f"len({array}{'[0]' * int(axis)})")
        if isinstance(node.slice, ast.Tuple):
            row, column = node.slice.elts
            row = ast.Subscript(node.value, row, ast.Load())
            return self.visit(ast.Subscript(row, column, node.ctx))
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        """Return what a name means."""
        return node if node.id in self._locals else self._known(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Return what a name of a module means; a field of a record stays."""
        root = node.value
        if isinstance(root, ast.Subscript) or (isinstance(root, ast.Name) and root.id in self._locals):
            return self.generic_visit(node)
        return self._known(node, node.attr)

    def _known(self, node: ast.expr, name: str) -> ast.expr:
        constants = self._unit.precision.constants
        value = constants[name] if name in constants else self._look(node)
        if isinstance(value, float | int | np.number):
            return _expression(_OTHERWISE.get(name) or self._unit.literal(value))
        if isinstance(value, np.ndarray) or (isinstance(value, tuple) and value and isinstance(value[0], float)):
            return _expression(self._unit.table(self._function, name, value))
        if getattr(value, "__module__", None) in ("builtins", "math", "numpy", None) or isinstance(
            value, np.ufunc
        ):
            return self._given(node, name)
        return _expression(self._unit.entry(value))

    def _given(self, node: ast.expr, name: str) -> ast.expr:
        """Return a function of Python, `math` or numpy."""
        if name in _OTHERWISE or name in _KEPT:
            return _expression(_OTHERWISE.get(name, name))
        if name in _MATHS:
            return _expression(f"math.{name}")
        place = f"{self._function.__module__}.{self._function.__qualname__}"
        raise TranslationError(f"{place}: {ast.unparse(node)} has no form in plain Python")

    def _look(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self._function.__globals__.get(node.id, getattr(builtins, node.id, None))
        return getattr(self._look(node.value), node.attr)  # type: ignore[attr-defined]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body

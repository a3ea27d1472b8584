"""How many operations of each kind a model does a tick: its plain form is run on readings, and counted.

Reals count their own arithmetic. Of everything else each place in the text counts that reads or writes memory,
calls, branches, or computes with whole numbers, whenever its statement is met.
"""

import ast
import math
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from streamfs.procedure.procedure import Procedure
from streamfs.translation.model import columns_of
from streamfs.translation.plain_model import translate_plainly

KINDS = ("tick", "step", "sum", "product", "quotient", "comparison", "root", "sine", "function")
"""A tick itself; a step of memory, control or whole numbers; what is done with reals.

A ``sine`` or cosine is computed in double precision even of single numbers, and so is dearer than another
``function`` where a processor has a unit for these alone.
"""

_ARITHMETIC = {
    "sum": ("add", "radd", "sub", "rsub", "neg", "round", "int", "float"),
    "product": ("mul", "rmul"),
    "quotient": ("truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod"),
    "comparison": ("lt", "le", "gt", "ge", "eq", "ne", "abs"),
    "function": ("pow", "rpow"),
}
_CHEAP = ("isnan", "isfinite", "isinf", "fabs", "copysign", "floor", "ceil")
_BY_LIBRARY = {"sqrt": "root", "sin": "sine", "cos": "sine", **dict.fromkeys(_CHEAP, "comparison")}
_STEPS = (ast.Subscript, ast.Attribute, ast.Call, ast.BinOp, ast.Compare, ast.BoolOp, ast.IfExp)
_BRANCHES = (ast.If, ast.While, ast.For, ast.Return, ast.AugAssign)


N_TICKS = 30


def noise(procedure: Procedure) -> Array:
    """Return readings for a procedure where there are none: noise of mean and deviation 1."""
    return np.random.default_rng(0).normal(1.0, 1.0, (N_TICKS, len(columns_of(procedure))))


def operations(procedure: Procedure, readings: Array) -> dict[str, float]:
    """Count the operations of an exported procedure.

    Parameters
    ----------
    procedure : Procedure
        That has a translation.
    readings : ndarray of shape (n_ticks, n_columns)
        Readings; wherever the procedure ends a stream, the next tick begins another.

    Returns
    -------
    dict of str to float
        The mean number a tick of each of `KINDS`.

    Raises
    ------
    TranslationError
        If a part of the procedure has no translation.
    """
    counts = Counter[str]()
    text = ast.parse(translate_plainly(procedure))
    module: dict[str, Any] = {"_real": _counting_real(counts), "_met": lambda n: counts.update(step=n)}
    module |= {"math": _counting_math(counts, module["_real"]), "float": module["_real"]}
    counted = ast.fix_missing_locations(_Counting().visit(text))
    exec(compile(counted, "<model>", "exec"), module)  # noqa: S102 - what we have written
    counts.clear()  # of the tables
    stream = module["Stream"]()
    for row in readings.tolist():
        if stream.answer != module["WAIT"]:
            stream.begin()
        stream.take([module["_real"](x) for x in row])
    counts["tick"] = len(readings)
    return {kind: counts[kind] / len(readings) for kind in KINDS}


def _counting_real(counts: Counter[str]) -> type[float]:
    """Return a type of reals that count what is done with them."""

    def counting(kind: str, name: str) -> Callable[..., Any]:
        method = getattr(float, name)

        def operation(*values: Any) -> Any:
            counts[kind] += 1
            found = method(*values)
            return real(found) if type(found) is float else found

        return operation

    methods = {
        f"__{word}__": counting(kind, f"__{word}__") for kind, words in _ARITHMETIC.items() for word in words
    }
    real = type("Real", (float,), {**methods, "__hash__": float.__hash__})
    return real


def _counting_math(counts: Counter[str], real: type[float]) -> SimpleNamespace:
    """Return the module of mathematics, whose functions are counted."""

    def counting(name: str) -> Callable[..., Any]:
        function = getattr(math, name)
        kind = _BY_LIBRARY.get(name, "function")

        def operation(*values: Any) -> Any:
            counts[kind] += 1
            found = function(*(x if type(x) is int else float.__float__(x) for x in values))
            return real(found) if type(found) is float else found

        return operation

    return SimpleNamespace(**{name: counting(name) for name in dir(math) if callable(getattr(math, name))})


class _Counting(ast.NodeTransformer):
    """Let statements count their steps, and constants be reals that count."""

    def visit_Import(self, node: ast.Import) -> None:
        """Leave the import of mathematics out: there is another."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Make a real of a number with a point."""
        is_real = type(node.value) is float
        return ast.Call(ast.Name("_real", ast.Load()), [node], []) if is_real else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Put a count before each statement of a function."""
        node.body = self._counted(node.body)
        return node

    def _counted(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            nested = [each for name in ("body", "orelse") for each in getattr(statement, name, [])]
            inside = {id(part) for each in nested for part in ast.walk(each)}
            n_steps = sum(
                isinstance(part, (*_STEPS, *_BRANCHES)) and id(part) not in inside for part in ast.walk(statement)
            )
            for name in ("body", "orelse"):
                if getattr(statement, name, None):
                    setattr(statement, name, self._counted(getattr(statement, name)))
            if isinstance(statement, ast.For | ast.While):
                statement.body.insert(0, _count(n_steps))
            found += [_count(n_steps), self._with_reals(statement)]
        return found

    def _with_reals(self, statement: ast.stmt) -> ast.stmt:
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(statement, name, self.visit(value))
        return statement


def _count(n_steps: int) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name("_met", ast.Load()), [ast.Constant(n_steps)], []))

"""Where the features of a model keep their states: those that begin with the same update share one.

The mean and the variance of a column, say, each add a sample to the same sums, and then read them
in different ways.
"""

import ast
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from feature_extractors.base import Feature, Step
from streamfs.errors import TranslationError
from streamfs.translation.expressions import definition_of
from streamfs.translation.precision import DOUBLE
from streamfs.translation.unit import Unit
from streamfs.translation.values import POINTER, REAL

STEP = (POINTER, POINTER, POINTER, REAL)
"""What a step is given: state, inputs, parameters, time."""


class Placed(NamedTuple):
    """A feature, the place of its state, and whether an earlier feature has updated that for this sample."""

    feature: Feature
    start: int
    is_updated: bool


def placed(features: Iterable[Feature], start: int = 0) -> tuple[list[Placed], int]:
    """Lay out the states of features one behind the other; return the place behind the last, too.

    Raises
    ------
    TranslationError
        If a feature is a Python function.
    """
    found, states, unit = [], dict[Any, int](), Unit(DOUBLE)
    for feature in features:
        update = _update_of(feature, unit)
        is_updated = update is not None and update in states
        found.append(Placed(feature, states[update] if is_updated else start, is_updated))
        if not is_updated:
            states[update] = start
            start += feature.state_size
    return found, start


def step_of(feature: Feature) -> Callable[..., float]:
    """Return the function of a feature's step."""
    if not isinstance(feature.kind.step, Step):
        raise TranslationError(f"{feature.name} is a Python function, which has no translation")
    return feature.kind.step.function


def _update_of(feature: Feature, unit: Unit) -> Any:
    """Return what a step begins with if this is a call that updates the state, and the rest reads it only."""
    function = step_of(feature)
    tree = definition_of(function)
    first = tree.body[ast.get_docstring(tree) is not None]
    match first:
        case ast.Expr(value=ast.Call(func=func, args=[ast.Name(id="state"), *others])):
            if 0 in unit.translated(function, STEP, is_updated=True).written:
                return None
            params = tuple(feature.params.items()) if "params" in ast.unparse(first) else ()
            update = eval(ast.unparse(func), function.__globals__)  # noqa: S307 - a name of our own
            return update, tuple(map(ast.unparse, others)), feature.columns, params, feature.state_size
    return None

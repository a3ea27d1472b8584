"""Validate the fields of a lazy learner before compiled kernels search them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.errors import ModelError

TABLES = {
    "values": (np.float64, "(n_instances, n_features)"),
    "classes": (np.int64, "(n_instances,)"),
    "subset": (np.bool_, "(n_features,)"),
    "means": (np.float64, "(n_features,)"),
    "thresholds": (np.float64, "(n_features,)"),
    "nominal": (np.bool_, "(n_features,)"),
}
"""The arrays, their types and their shapes."""

NUMBERS: dict[str, type] = {"n_classes": int, "n_neighbors": int, "laplace": bool, "tied": bool}
"""The single numbers; in arrays they have shape (1,)."""


def read_fields(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Return the fields of a lazy learner from arrays, with the numbers as such."""
    names = {*TABLES, *NUMBERS} - ({"tied"} - arrays.keys())  # files say so only where ties vote
    for name in sorted(names ^ arrays.keys()):
        raise ModelError(f"neighbours.{name} is {'missing' if name in names else 'not a field of neighbours'}")
    return {name: _number(name, arrays[name]) if name in NUMBERS else arrays[name] for name in names}


def _number(name: str, array: npt.NDArray[Any]) -> Any:
    kind = np.bool_ if NUMBERS[name] is bool else np.int64
    if array.shape != (1,) or array.dtype != kind:
        raise ModelError(
            f"neighbours.{name} is of {array.dtype} and shape {array.shape}, "
            f"expected {np.dtype(kind)} and shape (1,)"
        )
    return array.item()


def check_fields(found: Mapping[str, Any]) -> None:
    """Refuse fields that are not those of a lazy learner."""
    _check_shapes(found)
    _check_numbers(found)
    _check_instances(found)
    _check_thresholds(found)


def _check_shapes(found: Mapping[str, Any]) -> None:
    values = found["values"]
    n_instances, n_features = values.shape if getattr(values, "ndim", 0) == 2 else (0, 0)
    if not n_instances or not n_features:
        raise ModelError(
            f"neighbours.values has shape {np.shape(values)}, expected at least one instance and one feature"
        )
    sizes = {"n_instances": n_instances, "n_features": n_features}
    for name, (kind, dimensions) in TABLES.items():
        expected = tuple(sizes[size] for size in dimensions.strip("(,)").split(", "))
        table = np.asarray(found[name])
        if table.dtype != kind or table.shape != expected:
            raise ModelError(
                f"neighbours.{name} is of {table.dtype} and shape {table.shape}, "
                f"expected {np.dtype(kind)} and shape {expected}, {dimensions}"
            )


def _check_numbers(found: Mapping[str, Any]) -> None:
    n_instances = len(found["values"])
    for name, kind in NUMBERS.items():
        if type(found[name]) is not kind:
            raise ModelError(f"neighbours.{name} is {found[name]!r}, expected {kind.__name__}")
    if found["n_classes"] < 1:
        raise ModelError(f"neighbours.n_classes is {found['n_classes']}, expected at least 1")
    if not 1 <= found["n_neighbors"] <= n_instances:
        raise ModelError(
            f"neighbours.n_neighbors is {found['n_neighbors']}, expected 1 to {n_instances}, the instances"
        )


def _check_instances(found: Mapping[str, Any]) -> None:
    values, classes, n_classes = found["values"], found["classes"], found["n_classes"]
    for row, f in np.argwhere(np.isinf(values)):
        raise ModelError(f"neighbours.values is infinite at instance {row}, feature {f}, expected numbers or NaN")
    with np.errstate(over="ignore"):
        spans = np.fmax.reduce(values) - np.fmin.reduce(values)
    for f in np.flatnonzero(np.isinf(spans)):
        raise ModelError(f"neighbours.values spans more than a number can hold in feature {f}")
    for row in np.flatnonzero((classes < 0) | (classes >= n_classes)):
        raise ModelError(f"neighbours.classes is {classes[row]} at instance {row}, expected 0 to {n_classes - 1}")


def _check_thresholds(found: Mapping[str, Any]) -> None:
    means, thresholds, nominal = found["means"], found["thresholds"], found["nominal"]
    for f in np.flatnonzero(~(thresholds >= 0.0)):
        raise ModelError(f"neighbours.thresholds is {thresholds[f]} at feature {f}, expected at least 0")
    for f in np.flatnonzero(nominal & (thresholds < np.inf)):
        raise ModelError(
            f"neighbours.thresholds is {thresholds[f]} at feature {f}, expected inf: nominal ones never join"
        )
    for f in np.flatnonzero((thresholds < np.inf) & ~np.isfinite(means)):
        raise ModelError(f"neighbours.means is {means[f]} at feature {f}, expected a number: it may join")

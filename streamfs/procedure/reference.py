"""What decisions looked like on the streams by which a promise was certified."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, isnan, nan
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.errors import ModelError
from streamfs.procedure.procedure import Decision, Procedure

N_BINS = 16
"""Most bins of a quantity, about equally full; one more has what is missing."""

ERRORS = "errors"
"""What is monitored of labels; see `error_of`."""

LEAST_ERROR = 1e-9
"""Of a wrong label."""

OF_CLASSIFIER = ("confidence", "label")
"""Quantities that a classifier states."""

ENDED_BY_THEMSELVES = ("confident", "timeout", "given_up")
"""Reasons of decisions that count: the others were not the procedure's."""


@dataclass(frozen=True)
class Bins:
    """How often a quantity fell between edges, which rise; the last number counts values that were missing."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """Return about equally full bins of some values, of which NaN are missing.

        >>> Bins.of([1.0, 1.0, 2.0, float("nan")])
        Bins(edges=(1.0,), counts=(2, 1, 1))
        """
        values = np.asarray(values, dtype=float)
        there = np.clip(values[~np.isnan(values)], -1e300, 1e300)
        shares = np.linspace(0, 1, N_BINS + 1)[1:-1]
        edges = np.unique(np.quantile(there, shares, method="lower")) if len(there) else np.zeros(0)
        bins = cls(tuple(edges.tolist()), (0,) * (len(edges) + 2))
        found = np.bincount([bins.bin(value) for value in values.tolist()], minlength=len(bins.counts))
        return cls(bins.edges, tuple(found.tolist()))

    def bin(self, value: float) -> int:
        """Return the number of a value's bin."""
        return len(self.edges) + 1 if isnan(value) else bisect_left(self.edges, value)


def names_of(procedure: Procedure) -> list[str]:
    """Return the names of what is monitored of decisions."""
    return [*OF_CLASSIFIER, "tick", *(f"feature {feature.name}" for feature in procedure.features)]


def numbers_of(procedure: Procedure, decision: Decision, values: Array) -> list[float | None]:
    """Return what is monitored of a decision and the feature values behind it; None for what it does not have."""
    if decision.label is None:
        return [None, nan, float(decision.tick), *values.tolist()]
    label = float(procedure.classes.index(decision.label))
    return [decision.confidence, label, float(decision.tick), *values.tolist()]


def error_of(is_right: bool, confidence: float) -> float:
    """Return how wrong a label is: 0 if it is right, otherwise the confidence that was stated, more than 0."""
    return 0.0 if is_right else max(confidence, LEAST_ERROR)


def reference_of(
    procedure: Procedure, decided: Iterable[tuple[Decision, Array]], truth: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return edges and counts of each quantity, over decisions and their feature values, as plain JSON.

    With the true labels, by stream, those of `ERRORS` are among them.
    """
    ended = [each for each in decided if each[0].reason in ENDED_BY_THEMSELVES]
    rows = [numbers_of(procedure, decision, values) for decision, values in ended]
    columns = zip(names_of(procedure), zip(*rows, strict=True), strict=bool(rows))
    found = {name: [each for each in column if each is not None] for name, column in columns}
    bins = {name: Bins.of(numbers) for name, numbers in found.items() if numbers}
    if truth is not None:
        labelled = [decision for decision, _ in ended if decision.label is not None]
        errors = [error_of(each.label == truth[each.stream], each.confidence) for each in labelled]
        wrong = Bins.of([error for error in errors if error])
        bins[ERRORS] = Bins((0.0, *wrong.edges), (errors.count(0.0), *wrong.counts))
    return {name: {"edges": list(each.edges), "counts": list(each.counts)} for name, each in bins.items()}


def read_reference(reference: Any) -> dict[str, Bins]:
    """Return the bins of a model file's reference by quantity; raise a ModelError if they are damaged."""
    if reference is None:
        return {}
    if not isinstance(reference, dict):
        raise ModelError(f"the model is damaged: reference is {reference!r}, expected an object")
    return {name: _read_bins(name, each) for name, each in reference.items()}


def _read_bins(name: str, bins: Any) -> Bins:
    is_whole = isinstance(bins, dict) and all(isinstance(bins.get(key), list) for key in ("edges", "counts"))
    edges, counts = (bins["edges"], bins["counts"]) if is_whole else ([], [])
    is_valid = is_whole and len(counts) == len(edges) + 2 and _rise(edges) and all(map(_is_count, counts))
    if not is_valid:
        expected = "rising edges, and two counts more"
        raise ModelError(f"the model is damaged: reference of {name} is {bins!r}, expected {expected}")
    return Bins(tuple(map(float, edges)), tuple(counts))


def _rise(edges: Sequence[Any]) -> bool:
    are_numbers = all(isinstance(edge, (int, float)) and isfinite(edge) for edge in edges)
    return are_numbers and all(a < b for a, b in pairwise(edges))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40

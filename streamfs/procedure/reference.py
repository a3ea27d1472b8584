"""What decisions looked like on the streams by which a promise was certified."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, isnan, nan
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.errors import ModelError
from streamfs.procedure.kin import Kin
from streamfs.procedure.procedure import Decision, Procedure

N_BINS = 16
"""Most bins of a quantity, about equally full; one more has what is missing."""

ERRORS = "errors"
"""What is monitored of labels; see `error_of`."""

LEAST_ERROR = 1e-9
"""Of a wrong label."""

WEIGHTS = tuple(eighths / 8 for eighths in range(1, 9))
"""What a value may count."""

OF_CLASSIFIER = ("confidence", "label")
"""Quantities that a classifier states."""

ENDED_BY_THEMSELVES = ("confident", "timeout", "given_up")
"""Reasons of decisions that count: the others were not the procedure's."""


@dataclass(frozen=True)
class Bins:
    """How often a quantity fell between edges, which rise; the last number counts values that were missing.

    `weight` is what a value counts, in eighths: less than 1 if streams go together (see `Kin`).
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    weight: float = 1.0

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """Return about equally full bins of some values, of which NaN are missing.

        >>> Bins.of([1.0, 1.0, 2.0, float("nan")])
        Bins(edges=(1.0,), counts=(2, 1, 1), weight=1.0)
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
    procedure: Procedure,
    decided: Iterable[tuple[Decision, Array]],
    truth: Mapping[str, str] | None = None,
    kin: Kin | None = None,
) -> dict[str, Any]:
    """Return edges, counts and weight of each quantity, over decisions and their feature values, as plain JSON.

    With the true labels, by stream, those of `ERRORS` are among them. Without `kin` all weights are 1.
    """
    ended = [each for each in decided if each[0].reason in ENDED_BY_THEMSELVES]
    rows = [numbers_of(procedure, decision, values) for decision, values in ended]
    columns: list[Sequence[float | None]] = [*zip(*rows, strict=True)]
    names = [*names_of(procedure)] if columns else []
    if truth is not None:
        names.append(ERRORS)
        columns.append([_error(decision, truth) for decision, _ in ended])
    streams, found = [decision.stream for decision, _ in ended], {}
    for name, column in zip(names, columns, strict=True):
        there = [place for place, each in enumerate(column) if each is not None]
        numbers = [each for each in column if each is not None]
        if numbers or name == ERRORS:
            bins = _bins_of_errors(numbers) if name == ERRORS else Bins.of(numbers)
            weight = 1.0 if kin is None else kin.weight([streams[place] for place in there], numbers)
            found[name] = {"edges": list(bins.edges), "counts": list(bins.counts), "weight": weight}
    return found


def _error(decision: Decision, truth: Mapping[str, str]) -> float | None:
    """Return how wrong a decision is; None without a label."""
    if decision.label is None:
        return None
    return error_of(decision.label == truth[decision.stream], decision.confidence)


def _bins_of_errors(errors: Sequence[float]) -> Bins:
    """Return bins of which the first has what is right."""
    wrong = Bins.of([error for error in errors if error])
    return Bins((0.0, *wrong.edges), (errors.count(0.0), *wrong.counts))


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
    weight = bins.get("weight", 1.0) if is_whole else 1.0
    are_counts = len(counts) == len(edges) + 2 and all(map(_is_count, counts))
    if not (is_whole and are_counts and _rise(edges) and weight in WEIGHTS):
        expected = "rising edges, two counts more, and a weight in eighths"
        raise ModelError(f"the model is damaged: reference of {name} is {bins!r}, expected {expected}")
    return Bins(tuple(map(float, edges)), tuple(counts), float(weight))


def _rise(edges: Sequence[Any]) -> bool:
    are_numbers = all(isinstance(edge, (int, float)) and isfinite(edge) for edge in edges)
    return are_numbers and all(a < b for a, b in pairwise(edges))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40

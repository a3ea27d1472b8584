"""Dependency-aware ranking, plain and slow: the reference for the library's version.

Somol, Grim, Filip & Pudil, "On Stopping Rules in Dependency-Aware Feature Ranking" (CIARP 2013), eq. 1 to 3.

Nothing here imports the library. "Taken" marks a reading chosen because the paper is wrong or silent. Values are
finite or NaN (missing); nominal values are codes. Classes go in rising order. Sums are explicit loops in order; of
equal values the lowest index comes first.
"""

import math
from collections.abc import Sequence

import numpy as np
from oracles.papers import Array, total


def daf(subsets: Sequence[Sequence[int]], scores: Sequence[float], n_features: int) -> Array:
    """Mean score of the probes with the feature less that of the probes without it, shape (n_features,) (eq. 3).

    NaN where no probe, or every probe, holds it. A probe drawn twice counts twice.
    """
    result = []
    for j in range(n_features):
        inside = [score for subset, score in zip(subsets, scores, strict=True) if j in subset]
        outside = [score for subset, score in zip(subsets, scores, strict=True) if j not in subset]
        if inside and outside:
            result.append(total(inside) / len(inside) - total(outside) / len(outside))
        else:
            result.append(math.nan)
    return np.array(result)


def order_change(before: Array, after: Array) -> float:
    """Condition 1, C: mean absolute change of a feature's place by descending DAF, ties by index.

    Taken: the place, where the paper prints the formula of condition 2 again. NaN if a DAF is NaN.
    """
    if np.isnan(before).any() or np.isnan(after).any():
        return math.nan

    def places(values: Array) -> list[int]:
        order = sorted(range(len(values)), key=lambda j: (-values[j], j))
        return [order.index(j) for j in range(len(values))]

    changes = [abs(a - b) for a, b in zip(places(before), places(after), strict=True)]
    return total(changes) / len(changes)


def value_change(before: Array, after: Array) -> float:
    """Condition 2, which the paper names C^2: mean absolute change of DAF; NaN if a DAF is NaN."""
    changes = [abs(float(a) - float(b)) for a, b in zip(before, after, strict=True)]
    return total(changes) / len(changes)

"""The compiled evaluation of linear scores of classes, row by row: a row's result does not depend on others."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamfs.base._compiled import kernel
from streamfs.classifiers._evaluate import Array

TERM = np.dtype([("feature", np.int64), ("lowest", np.float64), ("highest", np.float64)])
"""A feature of a sum, and between which values it counts."""

Terms = npt.NDArray[Any]


class FlatScores(NamedTuple):
    """Linear scores as kernels read them, of a number of segments; without segments there are none.

    A row belongs to the last segment whose start its feature `clock` has reached, else to the first. Segment s has
    the row s of `offsets` and `centres`, and for its term k the row s * n_terms + k of `factors`.
    """

    clock: int
    starts: Array
    offsets: Array
    terms: Terms
    centres: Array
    factors: Array


@kernel
def write_scores(
    clock: int,
    starts: Array,
    offsets: Array,
    terms: Terms,
    centres: Array,
    factors: Array,
    X: Array,
    row: int,
    scores: Array,
) -> None:
    """Write the score of each class for a row; a missing value counts as its centre."""
    segment = 0
    if clock >= 0:
        while segment + 1 < len(starts) and X[row, clock] >= starts[segment + 1]:
            segment += 1
    for c in range(scores.shape[1]):
        scores[row, c] = offsets[segment, c]
    place = segment * len(terms)
    for k in range(len(terms)):
        value = X[row, terms[k].feature]
        if value == value:
            inside = min(max(value, terms[k].lowest), terms[k].highest) - centres[segment, k]
            for c in range(scores.shape[1]):
                scores[row, c] += inside * factors[place, c]
        place += 1


@kernel
def average(scores: Array, row: int, means: Array) -> None:
    """Replace a row of means by those of both."""
    for c in range(means.shape[1]):
        means[row, c] = (means[row, c] + scores[row, c]) / 2.0

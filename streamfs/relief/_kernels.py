"""Exact differences and distances: feature by feature in order, in double precision."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base._compiled import kernel


class Measured(NamedTuple):
    """Values of shape (n_rows, n_features), categories being whole numbers and NaN missing, and their scales.

    `spans`, (n_features,), are ranges, 1 for constants and categories; `far` is the difference between each value
    and a missing one, from 0 to 1, of which the smaller one applies; `shares` are values as shares of the range.
    """

    values: Array
    spans: Array
    far: Array
    shares: npt.NDArray[np.float32]


@kernel
def difference(values: Array, spans: Array, far: Array, i: int, j: int, f: int) -> float:
    """Return the difference of two rows in one feature, from 0 to 1."""
    apart: float = abs(values[i, f] - values[j, f]) / spans[f]
    return min(1.0, apart) if apart == apart else min(far[i, f], far[j, f])


@kernel
def distance(values: Array, spans: Array, far: Array, power: int, i: int, j: int) -> float:
    """Sum the differences of two rows, each raised to the power."""
    total = 0.0
    for f in range(len(spans)):
        d = difference(values, spans, far, i, j, f)
        total += d if power == 1 else d * d
    return total

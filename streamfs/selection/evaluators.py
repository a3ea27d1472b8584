"""Protocols of what scores subsets of features."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers

Evaluator = Callable[[Sequence[int]], float]
"""Returns the score of a subset of features, given by indices in any order; larger is better."""


class Criterion(Protocol):
    """Prepares the evaluation of subsets of the features of some rows."""

    def prepare(self, X: Array, y: npt.NDArray[Any], groups: npt.NDArray[Any] | None = None) -> Evaluator:
        """Prepare the rows once, before subsets of their features are evaluated.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Values; NaN is missing.
        y : ndarray of shape (n_rows,)
            Classes.
        groups : ndarray of shape (n_rows,), optional
            Rows of one group, such as one stream, belong together.
        """
        ...


@runtime_checkable
class StepEvaluator(Protocol):
    """An evaluator that is faster for all subsets one step away from a subset; a search uses it if it can."""

    def __call__(self, subset: Sequence[int]) -> float:
        """Evaluate a subset."""
        ...

    def with_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features added, as if one by one; shape (n_features,)."""
        ...

    def without_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features removed, as if one by one; shape (n_features,)."""
        ...


def in_order(subset: Sequence[int] | Integers, n_features: int, least: int = 1) -> Integers:
    """Return the features of a subset in rising order, in which they are always evaluated."""
    features = np.sort(np.asarray(subset, np.int64))
    if len(features) < least:
        raise ValueError("subset is empty, expected at least one feature")
    if len(features) and not 0 <= features[0] <= features[-1] < n_features:
        raise IndexError(f"subset is {features.tolist()}, expected features from 0 to {n_features - 1}")
    if (features[1:] == features[:-1]).any():
        raise ValueError(f"subset is {features.tolist()}, expected each feature once")
    return features

"""The inconsistency rate: the share of rows whose values do not determine their class."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from feature_extractors.arrays import Array, Integers
from streamfs.selection._inconsistency import n_inconsistent, n_inconsistent_with, number_groups, rows_in_doubt

Features = Sequence[int] | Integers
"""Indices of features, in any order."""

ROOM = 64
"""Counts per row above which a feature's values and the classes are counted in a hash table."""


def inconsistency(X: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the share of rows outside the largest class of their group, where rows of equal values form a group.

    Parameters
    ----------
    X : array_like of shape (n_rows, n_features)
        Values, usually discrete; NaN is treated as a value. Without features all rows form one group.
    y : array_like of shape (n_rows,)
        Classes.

    Returns
    -------
    float
        From 0, if equal rows are of one class, to below 1.

    Raises
    ------
    ValueError
        If the shapes do not match, y is continuous, or a value is infinite.

    References
    ----------
    Liu and Setiono, A probabilistic approach to feature selection, ICML 1996; Dash and Liu, Consistency-based
    search in feature selection, Artificial Intelligence 151, 2003. Acuna and Coaquira, Feature selection for
    supervised classification, count, in words, all instances of a class that also appear in another, the largest
    class included; here the count is Liu's.

    Examples
    --------
    >>> inconsistency([[0, 1], [0, 1], [0, 1], [1, 1]], ["yes", "yes", "no", "no"])
    0.25
    """
    values, labels = check_X_y(X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_features=0)
    check_classification_targets(labels)
    return SubsetInconsistency(values, labels).rate(range(values.shape[1]))


class SubsetInconsistency:
    """Inconsistency rates of subsets of the features of some rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Discrete values; a missing value (NaN) is treated as a value.
    y : ndarray of shape (n_rows,)
        Classes.

    Notes
    -----
    Rows are looked up by a hash of their values and compared with the group found, so the rate is exact. Work
    grows with the rows times the features of the subset; threads may share an instance.

    Examples
    --------
    >>> measured = SubsetInconsistency(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0]]), np.array([0, 1, 1]))
    >>> measured.rate([1])
    0.0
    >>> measured.rates_with_each([], [0, 1]).round(2).tolist()
    [0.33, 0.0]
    """

    def __init__(self, X: Array, y: npt.NDArray[Any]) -> None:
        values = np.ascontiguousarray(X, np.float64) + 0.0  # -0.0 becomes 0.0
        values[np.isnan(values)] = np.nan
        self._bits = values.view(np.uint64)
        self._features = np.arange(values.shape[1])
        classes, labels = np.unique(y, return_inverse=True)
        self._labels, self._n_classes = labels.astype(np.int64), len(classes)

    def rate(self, subset: Features, at_most: float = 1.0) -> float:
        """Return the inconsistency rate of a subset; if it is above `at_most`, some rate above `at_most`."""
        features = self._features[np.array(subset, np.int64)]
        return float(n_inconsistent(self._bits, features, self._labels, float(at_most))) / len(self._labels)

    def rates_with_each(self, subset: Features, features: Features) -> Array:
        """Return the rates of the subset with each of some features added, shape (len(features),).

        A feature is tried only on the rows whose group, by the subset, has several classes.
        """
        groups = number_groups(self._bits, self._features[np.array(subset, np.int64)])
        rows, ends = rows_in_doubt(groups, self._labels)
        rates = np.empty(len(features))
        for index, feature in enumerate(features):
            codes = self._codes[feature]
            if (codes.max() + 1) * self._n_classes > ROOM * len(codes):
                pairs = np.column_stack([groups, codes]).view(np.uint64)
                n_outside = n_inconsistent(pairs, np.arange(2), self._labels, 1.0)
            else:
                largest = np.zeros(codes.max() + 1, np.int64)
                counts = np.zeros((len(largest), self._n_classes), np.int64)
                n_outside = n_inconsistent_with(rows, ends, codes, self._labels, counts, largest)
            rates[index] = n_outside / len(codes)
        return rates

    @cached_property
    def _codes(self) -> Integers:
        """Values of each feature as numbers from 0, shape (n_features, n_rows)."""
        return np.array([number_groups(self._bits, self._features[[feature]]) for feature in self._features])

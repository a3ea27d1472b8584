"""The nearest neighbours of a query, of numeric, nominal and missing values."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import ProbableClassifier, query_rows, training_rows
from streamfs.base.parameters import Flag, OneOf, Whole, Wholes
from streamfs.base.processors import n_processors
from streamfs.classifiers._neighbours import Scales, find_nearest
from streamfs.classifiers._tied import count_tied

MUCH_WORK = 2**24
"""Differences from which on more than one thread pays."""


TIES = ("first", "all")
"""Which of equally near rows vote."""


class NeighborsClassifier(ProbableClassifier):
    """The classes of the nearest rows, of numeric, nominal and missing values.

    Parameters
    ----------
    n_neighbors : int
        Number of rows that vote.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories.
    power : {1, 2}
        Power of each difference in the distance.
    scale : bool
        Whether differences of numbers are divided by the range of the feature in training.
    ties : {"first", "all"}
        Which of the rows that are as near as the last of the nearest vote: those of the lowest index, or all.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

    Notes
    -----
    The distance is the root of the sum of the squared differences (or, with `power=1`, the sum of the
    differences), added up in the order of the features. Categories differ by 1. A number and a missing value
    differ by the most that they can, two missing numbers by the range, and a category and a missing value by
    1 - 1/V, where training has V categories. Scaled numbers that are constant in training do not differ. Among
    classes with equally many votes the first is taken.
    Without scaling, missing values or categories this is scikit-learn's `KNeighborsClassifier`, ties apart.

    References
    ----------
    X. Tong and M. Gu, Query-sensitive feature selection for lazy learners, ICEC 2005, equations 1 and 2.

    Examples
    --------
    >>> classifier = NeighborsClassifier(2).fit([[0.0, 20.0], [1.0, 40.0], [9.0, 80.0]], ["calm", "calm", "busy"])
    >>> classifier.predict([[2.0, 50.0], [8.0, 90.0]]).tolist()
    ['calm', 'busy']
    >>> classifier.predict_proba([[8.0, 90.0]])
    array([[0.5, 0.5]])
    """

    _parameter_constraints: ClassVar = {
        "n_neighbors": [Whole(1)],
        "nominal": [Wholes(), None],
        "power": [Whole(1, 2)],
        "scale": [Flag()],
        "ties": [OneOf(*TIES)],
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        nominal: Sequence[int] | None = None,
        power: int = 2,
        scale: bool = True,
        ties: Literal["first", "all"] = "first",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.nominal = nominal
        self.power = power
        self.scale = scale
        self.ties = ties

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Keep the rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows; NaN is missing.
        y : array-like of shape (n,)
            Labels.

        Raises
        ------
        ValueError
            If a parameter is out of its range, X is infinite, or a feature spans more than a number can hold.
        """
        values, y = training_rows(self, X, y)
        check_neighbors(self.n_neighbors, self.power, len(values))
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        self._scales = measure(values, self._is_nominal(values.shape[1]), is_scaled=bool(self.scale))
        self._columns = np.ascontiguousarray(values.T)
        return self

    def kneighbors(self, X: npt.ArrayLike) -> tuple[Array, Integers]:
        """Find the nearest training rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Queries; NaN is missing.

        Returns
        -------
        distances : ndarray of shape (n, n_neighbors)
            Rising.
        rows : ndarray of int of shape (n, n_neighbors)
            Indices of the training rows.
        """
        distances, rows = self._nearest(np.ascontiguousarray(query_rows(self, X)))
        return distances if self.power == 1 else np.sqrt(distances), rows

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the share of the rows that vote that each class has."""
        queries = np.ascontiguousarray(query_rows(self, X))
        distances, rows = self._nearest(queries)
        if self.ties == "all":
            return self._shares_with_ties(queries, np.ascontiguousarray(distances[:, -1]))
        votes = self._codes[rows][:, :, np.newaxis] == np.arange(len(self.classes_))
        shares: Array = votes.mean(axis=1)
        return shares

    def _nearest(self, queries: Array) -> tuple[Array, Integers]:
        """Return the sums of the differences to the power, and the rows, of the nearest."""
        distances = np.empty((len(queries), int(self.n_neighbors)))
        rows = np.empty(distances.shape, np.int64)

        def search(part: slice) -> None:
            room = np.empty(len(self._codes))
            find_nearest(self._columns, self._scales, queries[part], self.power, room, distances[part], rows[part])

        in_threads(search, len(queries), len(queries) * self._columns.size)
        return distances, rows

    def _shares_with_ties(self, queries: Array, farthest: Array) -> Array:
        votes = np.empty((len(queries), len(self.classes_)))

        def count(part: slice) -> None:
            room, found = np.empty(len(self._codes)), (farthest[part], self._codes, votes[part])
            count_tied(self._columns, self._scales, queries[part], self.power, room, *found)

        in_threads(count, len(queries), len(queries) * self._columns.size)
        shares: Array = votes / votes.sum(axis=1, keepdims=True)
        return shares


def check_neighbors(n_neighbors: int, power: int, n_rows: int) -> None:
    """Refuse a number of neighbours or a power that is out of range."""
    if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors <= n_rows:
        raise ValueError(f"n_neighbors is {n_neighbors!r}, expected 1 to the number of rows (n_samples={n_rows})")
    if power not in (1, 2):
        raise ValueError(f"power is {power!r}, expected 1 or 2")


def measure(values: Array, is_nominal: npt.NDArray[np.bool_], *, is_scaled: bool) -> Scales:
    """Return the scales of training rows; raise ValueError if the range of a feature overflows."""
    low, high = (np.nan_to_num(ends.reduce(values, axis=0)) for ends in (np.fmin, np.fmax))
    low, high = (np.where(is_nominal, 0.0, ends) for ends in (low, high))
    with np.errstate(over="ignore"):
        spans = high - low
    if np.isinf(spans).any():
        raise ValueError(f"feature {int(np.isinf(spans).argmax())} spans more than a number can hold")
    if is_scaled:
        divisors, extents = np.where(spans > 0.0, spans, np.inf), np.ones_like(spans)
    else:
        divisors, extents = np.ones_like(spans), spans
    for f in np.flatnonzero(is_nominal):
        n_categories = len(np.unique(values[~np.isnan(values[:, f]), f]))
        divisors[f], extents[f] = 1.0, 1.0 - 1.0 / max(1, n_categories)
    return Scales(low, divisors, extents, is_nominal)


def in_threads(work: Callable[[slice], None], n_rows: int, n_differences: int) -> None:
    """Apply `work` to the rows at once, or in slices by several threads if there are many differences."""
    n_threads = 1 if n_differences < MUCH_WORK else min(n_rows, n_processors())
    if n_threads == 1:
        work(slice(0, n_rows))
        return
    ends = np.linspace(0, n_rows, n_threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(n_threads) as threads:
        for done in [threads.submit(work, slice(*part)) for part in pairwise(ends)]:
            done.result()

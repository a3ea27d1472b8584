"""Nearest neighbours whose features depend on the query: those selected, and those on which it is unusual."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut
from sklearn.utils.validation import has_fit_parameter

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.base.estimators import ProbableClassifier, query_rows, training_rows
from streamfs.base.parameters import Flag, Made, OneOf, RealNumber, Whole, Wholes
from streamfs.classifiers.lazy import LazyNeighbors, ranges_of, shares_of
from streamfs.classifiers.neighbours import TIES, NeighborsClassifier, check_neighbors
from streamfs.selection._query_sensitive import nearest_others, update_thresholds

THRESHOLDS = ("deviation", "fitted")
DISTANCES = ("selected", "all")


class QuerySensitiveNeighbors(ProbableClassifier):
    """Nearest neighbours by a selected subset of the features, and by others whose value in the query is unusual.

    A value is unusual if it is at least a threshold away from the feature's mean: one standard deviation (QSFS1),
    or a threshold fitted to each training instance's nearest other one (QSFS2).

    Parameters
    ----------
    selector : selector, optional
        Selects the subset: anything with `fit` and `get_support`; it is cloned. By default forward sequential
        selection by the leave-one-out accuracy of one nearest neighbour, leaving out one group if there are
        groups.
    thresholds : {"deviation", "fitted"}
        QSFS1 or QSFS2.
    n_neighbors : int
        Number of nearest instances that vote.
    eta : float
        Rate at which thresholds are updated, more than 0.
    n_passes : int
        Number of passes over all instances, in their order.
    distance : {"selected", "all"}
        The features by which the nearest other instance is found when thresholds are fitted.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories, which never join. They are not passed to a given
        selector.
    laplace : bool
        Whether the probability of a class is (votes + 1) / (all votes + n_classes) or votes / all votes.
    ties : {"first", "all"}
        Which of the instances that are as near as the last of the nearest vote: those that come first, or all; the
        default selector's neighbours, too.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    selector_ : selector
        Fitted.
    subset_ : ndarray of int
        Indices of the selected features, rising; possibly empty if the selector allows it.
    means_, deviations_ : ndarray of shape (n_features_in_,)
        Means and standard deviations (of n - 1) of the features as shares of their range; NaN for nominal ones and
        if undefined.
    thresholds_ : ndarray of shape (n_features_in_,)
        Distances from the mean, as shares of the range, from which a value is unusual; infinite for nominal and
        constant features, which never join.
    lazy_ : streamfs.classifiers.lazy.LazyNeighbors
        The classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    Notes
    -----
    A missing value of the query does not join. Differences are those of `LazyNeighbors`. Departures from print:
    the table of QSFS1 has Q(f) - M(f) >= SD(f), but its text, that values "depart" from the mean, requires the
    absolute value, which is used here; a constant feature would always join (0 >= 0), although it brings no known
    value nearer, and never does here. The paper does not give eta, the number of passes, or a lower bound of the
    thresholds, which is 0 here. LearnT does not receive the selected subset, so literally it finds the nearest
    instance by all features (``distance="all"``). If either of the two lacks a feature, its threshold is
    unchanged. Thresholds mostly fall, since most nearest instances are of the same class and nearer than one
    deviation: the larger eta, the more instances and the more passes, the more features join. Work of fitting
    grows with the square of the number of instances, and hardly with that of the passes.

    References
    ----------
    X. Tong and M. Gu, Query-sensitive feature selection for lazy learners, CIDM 2007, tables 1 and 2.

    Examples
    --------
    >>> X = [[0.0, 5.0], [0.1, 5.1], [0.9, 5.0], [1.0, 4.9], [0.5, 9.0], [0.6, 9.1]]
    >>> y = ["left", "left", "right", "right", "top", "top"]
    >>> from sklearn.feature_selection import SelectKBest
    >>> model = QuerySensitiveNeighbors(SelectKBest(k=1)).fit(X, y)
    >>> model.subset_
    array([1])
    >>> model.unusual([[0.5, 5.0], [1.0, 5.0]])
    array([[False, False],
           [ True, False]])
    """

    _parameter_constraints: ClassVar = {
        "selector": [Made("fit", "get_support"), None],
        "thresholds": [OneOf(*THRESHOLDS)],
        "n_neighbors": [Whole(1)],
        "eta": [RealNumber(above=0.0)],
        "n_passes": [Whole(1)],
        "distance": [OneOf(*DISTANCES)],
        "nominal": [Wholes(), None],
        "laplace": [Flag()],
        "ties": [OneOf(*TIES)],
    }

    def __init__(
        self,
        selector: Any = None,
        thresholds: Literal["deviation", "fitted"] = "deviation",
        n_neighbors: int = 1,
        eta: float = 0.1,
        n_passes: int = 1,
        distance: Literal["selected", "all"] = "selected",
        nominal: Sequence[int] | None = None,
        laplace: bool = False,
        ties: Literal["first", "all"] = "first",
    ) -> None:
        self.selector = selector
        self.thresholds = thresholds
        self.n_neighbors = n_neighbors
        self.eta = eta
        self.n_passes = n_passes
        self.distance = distance
        self.nominal = nominal
        self.laplace = laplace
        self.ties = ties

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:
        """Select the subset and fit the thresholds.

        Parameters
        ----------
        X : array_like of shape (n_instances, n_features)
            Values; NaN is missing.
        y : array_like of shape (n_instances,)
            Classes.
        groups : array_like of shape (n_instances,), optional
            Instances of one group, such as one stream, say nothing about each other: the selector receives the
            groups for its folds, and thresholds are fitted to the nearest instance of another group.

        Raises
        ------
        ValueError
            If y is continuous, a parameter is out of range, or a value is infinite.
        DataError
            As the selector raises it.
        """
        values, labels = training_rows(self, X, y, groups)
        check_neighbors(self.n_neighbors, 2, len(values))
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.selector_ = self._fit_selector(values, labels, groups)
        support: Flags = np.array(self.selector_.get_support())
        self.subset_ = np.flatnonzero(support)
        self.lazy_ = self._store(values, codes.astype(np.int64), support)
        if self.thresholds == "fitted":
            fitted = self._fit_thresholds(self.lazy_, groups)
            self.lazy_ = replace(self.lazy_, thresholds=np.where(self.deviations_ > 0.0, fitted, np.inf))
        self.thresholds_ = self.lazy_.thresholds
        return self

    def unusual(self, X: npt.ArrayLike) -> Flags:
        """Return the features that join the subset for each query, bool of shape (n_queries, n_features)."""
        queries = query_rows(self, X)
        return self.lazy_.unusual(queries)

    def query_subset(self, X: npt.ArrayLike) -> Flags:
        """Return the features by which each query is compared, bool of shape (n_queries, n_features)."""
        unusual = self.unusual(X)
        return self.lazy_.subset | unusual

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class for each query."""
        queries = query_rows(self, X)
        return self.lazy_.probabilities(queries)

    def _fit_selector(self, values: Array, labels: npt.NDArray[Any], groups: npt.ArrayLike | None) -> Any:
        """Fit a copy of the selector, with groups if it accepts them."""
        selector = self.selector
        if selector is None:
            from streamfs.selection.sequential import SequentialSelector  # noqa: PLC0415 - slow to import

            nominal = np.flatnonzero(self._is_nominal(values.shape[1])).tolist()
            by = NeighborsClassifier(n_neighbors=1, nominal=nominal, ties=self.ties)
            selector = SequentialSelector(by, cv=LeaveOneOut() if groups is None else LeaveOneGroupOut())
        known = {"groups": groups} if groups is not None and has_fit_parameter(selector, "groups") else {}
        return clone(selector).fit(values, labels, **known)

    def _store(self, values: Array, codes: Integers, support: Flags) -> LazyNeighbors:
        """Store the instances, with the deviations as thresholds."""
        is_nominal = self._is_nominal(values.shape[1])
        shares = np.where(is_nominal, np.nan, shares_of(values, *ranges_of(values)))
        self.means_, self.deviations_ = means_and_deviations(shares)
        thresholds = np.where(self.deviations_ > 0.0, self.deviations_, np.inf)
        return LazyNeighbors(
            values.copy(),
            codes,
            len(self.classes_),
            support,
            self.means_,
            thresholds,
            is_nominal,
            int(self.n_neighbors),
            bool(self.laplace),
            self.ties == "all",
        )

    def _fit_thresholds(self, lazy: LazyNeighbors, groups: npt.ArrayLike | None) -> Array:
        """Fit the thresholds (LearnT)."""
        n_instances = len(lazy.values)
        group_of = np.arange(n_instances) if groups is None else np.unique(groups, return_inverse=True)[1]
        compared = self.subset_ if self.distance == "selected" else np.arange(lazy.n_features)
        neighbours = np.empty(n_instances, dtype=np.int64)
        nearest_others(lazy.stored, group_of.astype(np.int64), compared, neighbours)
        thresholds = np.nan_to_num(self.deviations_)
        for _ in range(self.n_passes):
            update_thresholds(lazy.stored, lazy.classes, neighbours, self.deviations_, float(self.eta), thresholds)
        return thresholds


def means_and_deviations(shares: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation (of n - 1) of each column's known values; NaN if there are too few."""
    columns = [column[~np.isnan(column)] for column in shares.T]
    means = [column.mean() if len(column) else np.nan for column in columns]
    deviations = [column.std(ddof=1) if len(column) > 1 else np.nan for column in columns]
    return np.array(means), np.array(deviations)

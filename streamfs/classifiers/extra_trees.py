"""Extremely randomized trees, as published by Geurts, Ernst and Wehenkel."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from feature_extractors.arrays import Array
from streamfs.base.estimators import ProbableClassifier, query_rows, training_rows, training_weights
from streamfs.base.parameters import MOST_JOBS, Flag, OneOf, RealNumber, Seed, Whole
from streamfs.classifiers._extra_trees import Grown, WeightedRows, grow, whole
from streamfs.classifiers.forest import Forest

ROUNDING = 1e-9
"""The relative error of a sum of weights, such as thirds of a stream."""


class ExtraTreesClassifier(ProbableClassifier):
    """Extremely randomized trees for numeric and missing values: a mean over many trees, each with random cuts.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    min_leaf : float
        Least weight on each side of every cut; with rows that weigh 1 / ticks of their stream, streams.
    n_candidates : "sqrt", int or None
        Features that a node tries, drawn without replacement among those that are not constant there: the square
        root of the number of features, rounded down; this number; or all. If there are fewer, all are tried.
    clock : int
        A feature of numbers of at least 0, such as a count of samples, that is cut before all others: a node in
        which its largest value is more than twice its least is cut there, if there is weight enough on both sides;
        -1 for none.
    laplace : bool
        Whether a leaf's confidence is (n_c + 1) / (N + C) or n_c / N.
    random_state : int, RandomState instance or None
        Seeds the trees, one after the other: the first ten of thirty are those of a forest of ten.
    n_jobs : int, optional
        Threads that grow trees; -1 for one per processor. The forest does not depend on their number.

    Attributes
    ----------
    forest_ : streamfs.classifiers.forest.Forest
        The fitted trees.
    feature_importances_ : ndarray of shape (n_features,)
        By how much the cuts of each feature lower the Gini impurity of the rows, summed over the trees: shares
        that sum to 1; all 0 where no cut lowers it.
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

    Notes
    -----
    Each candidate is cut once, at a number drawn evenly between its least and its largest known value in the node.
    The cut with the least Gini impurity of both sides is taken (L. Breiman and others, Classification and
    Regression Trees, 1984, section 4.3), the first one tried among equals. A node stays a leaf if it is pure,
    weighs less than twice `min_leaf`, or has no candidate with `min_leaf` on both sides.

    The rows in which a candidate is missing go together to a side drawn for that cut, and so do rows at serving;
    where none is missing in a node, later ones go to its heavier side, the first of equals. A feature of one known
    value that is missing in other rows is cut between known and missing.

    Rows of one stream at many ticks are no more streams. With a clock the trees do not mix early rows, on which
    classes may be alike, with late ones, though all are in one forest; a node in which the clock is missing is cut
    as others are.

    Departures from the paper: Gini impurity where it has a normalised information gain; `min_leaf` bounds both
    sides of a cut by weight where n_min bounds the rows of a node that is cut; and it has neither missing values
    nor a clock. As in the paper, each tree is trained on all rows.

    Work grows with rows times candidates times depth; nothing is sorted.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, Machine Learning 63, 2006, table 1. Random
    numbers: splitmix64, of G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number generators,
    OOPSLA 2014.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> classifier = ExtraTreesClassifier(min_leaf=1.0).fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> classifier.predict([[2.5], [7.5]]).tolist()
    ['low', 'high']
    """

    _parameter_constraints: ClassVar = {
        "n_trees": [Whole(1)],
        "min_leaf": [RealNumber(above=0.0)],
        "n_candidates": [Whole(1), OneOf("sqrt"), None],
        "clock": [Whole(-1)],
        "laplace": [Flag()],
        "random_state": [Seed()],
        "n_jobs": [Whole(-MOST_JOBS, MOST_JOBS), None],
    }

    def __init__(
        self,
        n_trees: int = 30,
        min_leaf: float = 5.0,
        n_candidates: Literal["sqrt"] | int | None = "sqrt",
        *,
        clock: int = -1,
        laplace: bool = True,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.min_leaf = min_leaf
        self.n_candidates = n_candidates
        self.clock = clock
        self.laplace = laplace
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows; NaN is missing.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, not negative; rows of weight zero are left out. All 1 by default.

        Raises
        ------
        ValueError
            If a parameter is out of its range, X is infinite, a feature spans more than a number can hold, the
            clock is negative, or no row has a weight.
        """
        rows, targets = training_rows(self, X, y)
        return self.fit_rows(rows, targets, training_weights(sample_weight, rows))

    def fit_rows(self, rows: Array, targets: npt.NDArray[Any], weights: Array) -> Self:
        """Fit the trees to rows that need no validation, as those of a feature table, to which a search fits many.

        Parameters are not validated either: `fit` is for users.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features)
            Training rows; NaN is missing.
        targets : ndarray of shape (n,)
            Labels.
        weights : ndarray of shape (n,)
            Weights of the rows, not negative, with a finite sum; rows of weight zero are left out.

        Raises
        ------
        ValueError
            If a feature is infinite or spans more than a number can hold, no row has a weight, or there are none.
        """
        if not rows.size or not weights.any():
            raise ValueError(
                f"{len(rows)} rows of {rows.shape[1]} features have no weight: leave out streams without a "
                "sample, or record more"
            )
        self.n_features_in_ = rows.shape[1]
        _check_spans(rows)
        self._check_clock(rows)
        table = self._table(rows, targets, weights)
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int64).max, size=self.n_trees, dtype=np.int64).astype(np.uint64)
        grow_later = delayed(grow)
        grown = Parallel(n_jobs=self.n_jobs, prefer="threads")(grow_later(table, seed) for seed in seeds)
        self.forest_, self._counts = _lay_out(grown, laplace=bool(self.laplace))
        return self

    @property
    def feature_importances_(self) -> Array:
        """By how much the cuts of each feature lower the impurity, as shares."""
        return _importances(self.forest_, self._counts, self.n_features_in_)

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class: the mean over the trees."""
        rows = query_rows(self, X)
        return self.forest_.probabilities(rows)

    def _table(self, rows: Array, targets: npt.NDArray[Any], weights: Array) -> WeightedRows:
        """Return the rows of positive weight, ordered by class."""
        kept = np.flatnonzero(weights > 0.0)
        self.classes_, labels = np.unique(targets[kept], return_inverse=True)
        by_class = np.argsort(labels, kind="stable")
        kept, labels = kept[by_class], labels[by_class]
        columns, least = np.ascontiguousarray(rows[kept].T), float(self.min_leaf) * (1.0 - ROUNDING)
        parameters = len(self.classes_), self._n_tried(len(columns)), least, int(self.clock)
        return WeightedRows(columns, whole(columns), labels, weights[kept], *parameters)

    def _check_clock(self, rows: Array) -> None:
        """Refuse a clock that is not among the features, or negative somewhere."""
        if self.clock < 0:
            return
        if self.clock >= rows.shape[1]:
            raise ValueError(f"clock is {self.clock}, expected less than the number of features, {rows.shape[1]}")
        least = np.fmin.reduce(rows[:, self.clock])
        if least < 0.0:
            raise ValueError(f"the clock, feature {self.clock}, is {least:g}, expected at least 0")

    def _n_tried(self, n_features: int) -> int:
        if self.n_candidates is None:
            return n_features
        return int(n_features**0.5) if self.n_candidates == "sqrt" else int(self.n_candidates)


def _check_spans(rows: Array) -> None:
    high = np.fmax.reduce(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        spans = high - np.fmin.reduce(rows)
    for f in np.flatnonzero(np.isinf(spans) | np.isinf(high)):
        raise ValueError(f"feature {f} spans more than a number can hold")


def _lay_out(grown: list[tuple[Grown, Array]], *, laplace: bool) -> tuple[Forest, Array]:
    """Concatenate trees; return the weight of each class in each node, too."""
    sizes = [len(nodes) for nodes, _ in grown]
    roots = np.cumsum([0, *sizes[:-1]])
    counts = np.concatenate([counts for _, counts in grown])
    names = "feature", "threshold", "first_child", "missing_child"
    feature, threshold, *children = (np.concatenate([nodes[name] for nodes, _ in grown]) for name in names)
    offsets = np.where(feature >= 0, np.repeat(roots, sizes), 0)
    first_child, missing_child = (child + offsets for child in children)
    shares = counts + 1.0 if laplace else counts
    shares = shares / shares.sum(axis=1, keepdims=True)
    return Forest(feature, threshold, first_child, missing_child, shares, roots), counts


def _importances(forest: Forest, counts: Array, n_features: int) -> Array:
    """Return the decrease of impurity by the cuts of each feature, as shares."""
    gains: Array = np.zeros(n_features)
    purity = (counts**2).sum(axis=1) / counts.sum(axis=1)
    cut = np.flatnonzero(forest.feature >= 0)
    first = forest.first_child[cut]
    gained = purity[first] + purity[first + 1] - purity[cut]
    gained[gained < ROUNDING * purity[cut]] = 0.0  # nothing but rounding
    np.add.at(gains, forest.feature[cut], gained)
    total = float(gains.sum())
    return gains / total if total > 0.0 else gains

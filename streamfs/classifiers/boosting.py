"""Gradient boosting of trees: fitted by scikit-learn, evaluated by compiled kernels of this package."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import (
    ProbableClassifier,
    query_rows,
    training_rows,
    training_weights,
)
from streamfs.base.parameters import RealNumber, Seed, Whole
from streamfs.classifiers.bins import binned, edges_of
from streamfs.classifiers.boosted_trees import BoostedTrees
from streamfs.classifiers.few_threads import few_threads

LARGEST = np.finfo(np.float64).max
"""The threshold between known and missing values."""


class BoostingClassifier(ProbableClassifier):
    """Gradient boosting of histogram trees, for numeric and missing values.

    Parameters
    ----------
    n_rounds : int
        Number of rounds; each adds one tree, or one for each class if there are more than two.
    learning_rate : float
        Factor of what each tree adds, above 0.
    max_leaves : int
        Most leaves of a tree, at least 2.
    min_rows : int
        Least number of rows in a leaf.
    l2 : float
        Regularisation of what leaves add, not negative.
    random_state : int, RandomState instance or None
        Seeds scikit-learn's estimator, which fits without chance up to 200 000 rows.

    Attributes
    ----------
    boosted_ : streamfs.classifiers.BoostedTrees
        The fitted trees; the first one is a single leaf, with the scores before the first round.
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

    Notes
    -----
    scikit-learn's `HistGradientBoostingClassifier` fits the trees, without early stopping, to the bins of the
    values. Probabilities equal its own up to rounding, and do not depend on other rows.

    References
    ----------
    J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29, 2001,
    algorithm 6. Histograms: G. Ke and others, LightGBM: a highly efficient gradient boosting decision tree,
    NIPS 2017.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> classifier = BoostingClassifier(min_rows=1).fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> classifier.predict([[2.5], [7.5]]).tolist()
    ['low', 'high']
    """

    _parameter_constraints: ClassVar = {
        "n_rounds": [Whole(1)],
        "learning_rate": [RealNumber(most=10.0, above=0.0)],
        "max_leaves": [Whole(2)],
        "min_rows": [Whole(1)],
        "l2": [RealNumber()],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_rounds: int = 50,
        learning_rate: float = 0.1,
        max_leaves: int = 15,
        min_rows: int = 20,
        *,
        l2: float = 1.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_rows = min_rows
        self.l2 = l2
        self.random_state = random_state

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
            If a parameter is out of its range, X is infinite, or no row has a weight.
        """
        rows, targets = training_rows(self, X, y)
        weights = training_weights(sample_weight, rows)
        kept = weights > 0.0
        self.classes_, labels = np.unique(targets[kept], return_inverse=True)
        scores, trees = self._fitted(rows[kept], labels, weights[kept])
        self.boosted_ = _lay_out(scores, trees)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class."""
        rows = query_rows(self, X)
        return self.boosted_.probabilities(rows)

    def _fitted(self, rows: Array, labels: Integers, weights: Array) -> "tuple[Array, list[_Tree]]":
        """Return the scores before the first round, and the trees."""
        n_classes = len(self.classes_)
        if n_classes == 1:
            return np.zeros(1), []
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - slow to load, and seldom used

        boosting = HistGradientBoostingClassifier(
            max_iter=self.n_rounds,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaves,
            min_samples_leaf=self.min_rows,
            l2_regularization=self.l2,
            early_stopping=False,
            random_state=self.random_state,
        )
        rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)  # scikit-learn needs a value in each column
        edges = [edges_of(column, weights) for column in rows.T]
        bins = np.stack([binned(*each) for each in zip(rows.T, edges, strict=True)], axis=1)
        with few_threads(rows):  # of values, scikit-learn would sort each column for each of its bins
            fitted = boosting.fit(bins, labels, sample_weight=weights)
        before = np.zeros(n_classes)
        first = 1 if n_classes == 2 else 0  # of two classes, the second alone has scores
        before[first:] = fitted._baseline_prediction.ravel()  # noqa: SLF001 - not offered otherwise
        rounds = fitted._predictors  # noqa: SLF001 - not offered otherwise
        trees = [
            _tree(each.nodes, edges, place, n_classes)
            for found in rounds
            for place, each in enumerate(found, first)
        ]
        return before, trees


class _Tree(NamedTuple):
    """A tree's tables, with places from 0 on, as `BoostedTrees` has them."""

    feature: Integers
    threshold: Array
    first_child: Integers
    missing_child: Integers
    shares: Array


def _tree(nodes: npt.NDArray[Any], edges: Sequence[Array], place: int, n_classes: int) -> _Tree:
    """Lay out a tree of bins, which adds to the score of one class, with the two children of a node adjacent."""
    order = [0]
    for node in order:
        if not nodes[node]["is_leaf"]:
            order += [int(nodes[node]["left"]), int(nodes[node]["right"])]
    laid = nodes[order]
    places = np.empty(len(nodes), dtype=np.int64)
    places[order] = np.arange(len(order))
    is_test = laid["is_leaf"] == 0
    first = np.where(is_test, places[laid["left"]], 0)
    to_right = is_test & (laid["missing_go_to_left"] == 0)
    shares = np.zeros((len(order), n_classes))
    shares[:, place] = np.where(is_test, 0.0, laid["value"])
    return _Tree(
        np.where(is_test, laid["feature_idx"], -1).astype(np.int64),
        np.array([_threshold(node, edges) for node in laid]),
        first,
        first + to_right,
        shares,
    )


def _threshold(node: Any, edges: Sequence[Array]) -> float:
    """Return the threshold of values that a node's threshold of bins stands for."""
    if node["is_leaf"]:
        return 0.0
    threshold = node["num_threshold"]
    return float(edges[node["feature_idx"]][int(threshold)]) if np.isfinite(threshold) else float(LARGEST)


def _lay_out(scores: Array, trees: list[_Tree]) -> BoostedTrees:
    """Concatenate a leaf with the scores before the first round, and the trees."""
    nothing = np.zeros(1, dtype=np.int64)
    whole = [_Tree(nothing - 1, np.zeros(1), nothing, nothing, scores[np.newaxis]), *trees]
    sizes = [len(tree.feature) for tree in whole]
    roots = np.cumsum([0, *sizes[:-1]])
    feature, threshold, first, missing, shares = (np.concatenate(tables) for tables in zip(*whole, strict=True))
    offsets = np.where(feature >= 0, np.repeat(roots, sizes), 0)
    return BoostedTrees(feature, threshold, first + offsets, missing + offsets, shares, roots)

"""The C4.5 decision tree, with the rules of Weka's J48."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.base.estimators import ProbableClassifier, query_rows, training_rows, training_weights
from streamfs.base.parameters import Flag, Numbers, OneOf, RealNumber, Wholes
from streamfs.classifiers._columns import sort_columns
from streamfs.classifiers._grow import grow
from streamfs.classifiers._layout import lay_out
from streamfs.classifiers._prune import prune
from streamfs.classifiers._split import SMALL, TrainingTable, fill_logs
from streamfs.classifiers.tree import Tree


class C45Classifier(ProbableClassifier):
    """C4.5 decision tree for numeric, nominal and missing values.

    Parameters
    ----------
    split : {"gain_ratio", "gain_per_cost"}
        Criterion of a split: the gain ratio among the splits with at least the mean gain, or the
        information gain divided by the feature's each-time cost.
    feature_costs : array-like of shape (n_features,), optional
        Each-time costs, for `split="gain_per_cost"`; a zero counts as the smallest positive cost.
    confidence_factor : float
        In [1e-15, 0.5]; the smaller, the more is pruned.
    min_leaf : float
        Least weight that at least two branches of every split must have.
    laplace : bool
        Whether a leaf's confidence is (n_c + 1) / (N + C) or n_c / N.
    nominal : sequence of int, optional
        The features whose values are codes: a test has one branch for each code seen in training.

    Attributes
    ----------
    tree_ : streamfs.classifiers.tree.Tree
        The fitted tree.
    classes_ : ndarray
        The labels, sorted.
    n_leaves_ : int
        Number of leaves.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

    Notes
    -----
    Follows J48 without subtree raising: Quinlan's correction log2(number of cuts) / N of a numeric gain, gains
    scaled by the share of known values, rows with a missing value sent down all branches, thresholds at
    training values, collapsing, and pruning by the upper confidence limit of the errors. Weights count
    everywhere: two rows of weight one half are one row. Where rows share weights, as those of one stream do, the
    correction is charged in their unit, the mean weight of the values that a cut may follow, each at most 1:
    more rows of the same streams do not make it dearer. Departures: values that differ at all are distinct
    (J48: by 1e-5), so that the scale of a feature does not matter; where J48 counts rows, weights count; a code
    not seen in training is missing (J48: a branch of its own, if declared); and `min_leaf` above 25 is kept.

    References
    ----------
    J. R. Quinlan, C4.5: Programs for Machine Learning, 1993, and Improved use of continuous attributes in
    C4.5, JAIR 4, 1996. Gain per cost: method 2 in section 3 of J. Gao and W. Wang, StreamRelief, ICDM 2005,
    after P. D. Turney, JAIR 2, 1995.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> classifier = C45Classifier().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> print(classifier.export_text(["level"]))
    level <= 3: low (3.0)
    level > 3: high (3.0)
    >>> classifier.predict_proba([[2.5]])
    array([[0.2, 0.8]])
    """

    _parameter_constraints: ClassVar = {
        "split": [OneOf("gain_ratio", "gain_per_cost")],
        "feature_costs": [Numbers(), None],
        "confidence_factor": [RealNumber(1e-15, 0.5)],
        "min_leaf": [RealNumber(above=0.0)],
        "laplace": [Flag()],
        "nominal": [Wholes(), None],
    }

    def __init__(
        self,
        split: Literal["gain_ratio", "gain_per_cost"] = "gain_ratio",
        feature_costs: npt.ArrayLike | None = None,
        confidence_factor: float = 0.25,
        min_leaf: float = 2,
        laplace: bool = True,
        nominal: Sequence[int] | None = None,
    ) -> None:
        self.split = split
        self.feature_costs = feature_costs
        self.confidence_factor = confidence_factor
        self.min_leaf = min_leaf
        self.laplace = laplace
        self.nominal = nominal

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the tree.

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
        self._check_parameters()
        nominal, costs = self._is_nominal(self.n_features_in_), self._costs()
        weights = training_weights(sample_weight, rows)
        kept = weights > 0.0
        self.classes_, labels = np.unique(targets[kept], return_inverse=True)
        self.tree_ = self._tree(np.ascontiguousarray(rows[kept].T), labels, weights[kept], nominal, costs)
        self.n_leaves_ = self.tree_.n_leaves
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class, mixed over leaves where values are missing."""
        rows = query_rows(self, X)
        return self.tree_.probabilities(rows)

    def export_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the tree as J48 prints it; without names, those that X had in training are taken."""
        check_is_fitted(self)
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        return self.tree_.text(feature_names, [str(label) for label in self.classes_])

    def _tree(self, columns: Array, labels: Integers, weights: Array, nominal: Flags, costs: Array) -> Tree:
        values, orders = sort_columns(columns)
        n_values = np.array([len(of_feature) for of_feature in values])
        logs = np.empty(len(labels) + 1)
        fill_logs(logs)
        few_valued = ~nominal | (n_values < 0.3 * weights.sum() - SMALL)
        table = TrainingTable(
            n_values,
            nominal,
            labels,
            weights,
            len(self.classes_),
            float(self.min_leaf),
            few_valued if few_valued.any() else np.ones_like(few_valued),
            costs,
            logs,
        )
        nodes, counts = grow(table, orders, weights)
        prune(nodes, counts, float(self.confidence_factor))
        return lay_out(nodes, counts, values, nominal, laplace=bool(self.laplace))

    def _check_parameters(self) -> None:
        if (self.split == "gain_per_cost") != (self.feature_costs is not None):
            given = "not given" if self.feature_costs is None else "given"
            raise ValueError(f"feature_costs is {given} but split is {self.split!r}")

    def _costs(self) -> Array:
        """Return the costs with zeros replaced by the smallest positive one; none for the gain ratio."""
        if self.feature_costs is None:
            return np.empty(0)
        costs = np.asarray(self.feature_costs, dtype=np.float64)
        if costs.shape != (self.n_features_in_,):
            raise ValueError(f"feature_costs has shape {costs.shape}, expected ({self.n_features_in_},)")
        wrong = ~np.isfinite(costs) | (costs < 0.0)
        if wrong.any():
            raise ValueError(f"feature_costs holds {costs[wrong][0]}, expected finite costs of at least 0")
        positive = costs[costs > 0.0]
        return np.where(costs > 0.0, costs, positive.min() if len(positive) else 1.0)

"""Criteria that score a subset of features: the accuracy of a wrapped classifier, and consistency."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from feature_extractors.arrays import Array
from streamfs.base.estimators import Estimator
from streamfs.base.parameters import Folds, Made, OneOf, Whole
from streamfs.classifiers.kernel_density import KernelDensityClassifier
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.selection.discretise import new_discretiser
from streamfs.selection.evaluators import Evaluator, in_order
from streamfs.selection.folds import Fold, make_folds
from streamfs.selection.inconsistency_rate import SubsetInconsistency
from streamfs.selection.wrapped_densities import DensityEvaluator
from streamfs.selection.wrapped_neighbours import NeighborsEvaluator


class SubsetCriterion(Estimator, ABC):
    """A criterion whose parameters can be cloned and searched, as an estimator's; it fits nothing."""

    @abstractmethod
    def prepare(self, X: Array, y: npt.NDArray[Any], groups: npt.NDArray[Any] | None = None) -> Evaluator:
        """Prepare the rows once, before subsets of their features are evaluated; see `Criterion`."""


class WrapperAccuracy(SubsetCriterion):
    """Share of rows that a classifier trained on the rows outside their fold classifies correctly.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier; it is cloned for each fold. A parameter `nominal` is read as indices of X and
        changed to those among the features of the subset.
    cv : int, splitter, or iterable of (training, test)
        A number of shuffled, stratified folds, of whole groups if there are groups; or a splitter of scikit-learn;
        or pairs of training and test rows. The folds are the same for all subsets.
    random_state : int, optional
        Seed of the shuffling of the folds.

    Notes
    -----
    `NeighborsClassifier` and `KernelDensityClassifier` are evaluated without being fitted, with the same result.

    References
    ----------
    E. Acuna and F. Coaquira, Feature selection for supervised classification: the errors of all folds together
    over the number of rows.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = np.array([[0.0, 5.0], [0.2, 1.0], [0.1, 3.0], [1.0, 5.0], [1.2, 1.0], [1.1, 3.0]])
    >>> evaluate = WrapperAccuracy(GaussianNB(), cv=3).prepare(X, np.array([0, 0, 0, 1, 1, 1]))
    >>> evaluate([0])
    1.0
    """

    _parameter_constraints: ClassVar = {
        "estimator": [Made("fit", "predict")],
        "cv": [Folds()],
        "random_state": [Whole(most=2**32 - 1), None],
    }

    def __init__(self, estimator: Any, cv: Any = 5, random_state: int | None = 0) -> None:
        self.estimator = estimator
        self.cv = cv
        self.random_state = random_state

    def prepare(self, X: Array, y: npt.NDArray[Any], groups: npt.NDArray[Any] | None = None) -> Evaluator:
        """Make the folds; errors as in `make_folds`."""
        self._validate_params()
        folds = make_folds(X, y, groups, self.cv, self.random_state)
        if type(self.estimator) is NeighborsClassifier:
            return NeighborsEvaluator.prepare(self.estimator, X, y, folds)
        if type(self.estimator) is KernelDensityClassifier:
            return DensityEvaluator.prepare(self.estimator, X, y, folds)
        return EstimatorEvaluator(self.estimator, X, y, folds)


class Consistency(SubsetCriterion):
    """One less the inconsistency rate of the discretised features.

    Parameters
    ----------
    discretiser : transformer or "passthrough", optional
        Makes the values of X discrete, one feature from each; by default `EqualWidthDiscretiser()`.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    >>> evaluate = Consistency("passthrough").prepare(X, np.array([0, 0, 1, 1]))
    >>> evaluate([0]), evaluate([1])
    (0.75, 1.0)
    """

    _parameter_constraints: ClassVar = {"discretiser": [Made("fit_transform"), OneOf("passthrough"), None]}

    def __init__(self, discretiser: Any = None) -> None:
        self.discretiser = discretiser

    def prepare(
        self,
        X: Array,
        y: npt.NDArray[Any],
        groups: npt.NDArray[Any] | None = None,  # noqa: ARG002 - nothing is held out
    ) -> Evaluator:
        """Discretise the values; ValueError as the discretiser raises, or if it is not a transformer."""
        self._validate_params()
        discretiser = new_discretiser(self.discretiser)
        codes = X if discretiser is None else discretiser.fit_transform(X, y)
        return ConsistencyEvaluator(SubsetInconsistency(codes, y))


@dataclass(frozen=True)
class ConsistencyEvaluator:
    """One less the inconsistency rate of a subset of discrete features."""

    rates: SubsetInconsistency

    def __call__(self, subset: Sequence[int]) -> float:
        """Evaluate a subset, which may be empty."""
        return 1.0 - self.rates.rate(subset)

    def with_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features added; shape (n_features,)."""
        return np.asarray(1.0 - self.rates.rates_with_each(subset, features))

    def without_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features removed; shape (n_features,)."""
        return np.array([self([other for other in subset if other != feature]) for feature in features])


@dataclass(frozen=True)
class EstimatorEvaluator:
    """Out-of-fold accuracy of any classifier, cloned for each fold."""

    estimator: Any
    X: Array
    y: npt.NDArray[Any]
    folds: tuple[Fold, ...]

    def __call__(self, subset: Sequence[int]) -> float:
        """Evaluate a subset; errors as in `in_order`."""
        features = in_order(subset, self.X.shape[1])
        estimator = _for_features(self.estimator, features)
        n_right = n_tested = 0
        for training, test in self.folds:
            if len(test):
                fitted = clone(estimator).fit(self.X[np.ix_(training, features)], self.y[training])
                n_right += int(np.sum(fitted.predict(self.X[np.ix_(test, features)]) == self.y[test]))
                n_tested += len(test)
        return n_right / n_tested


def _for_features(estimator: Any, features: npt.NDArray[np.int64]) -> Any:
    """Clone a classifier for some of the features, with its nominal ones by their new indices."""
    estimator = clone(estimator)
    nominal = estimator.get_params(deep=False).get("nominal")
    if nominal is not None:
        estimator.set_params(nominal=np.flatnonzero(np.isin(features, nominal)).tolist())
    return estimator

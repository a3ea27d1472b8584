"""What measures a subset of features: the accuracy of a classifier that is wrapped, and consistency."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone

from feature_extractors.base import Array
from streamfs.classifiers.kernel_density import KernelDensityClassifier
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.selection.discretise import EqualWidthDiscretiser
from streamfs.selection.evaluators import Criterion, Evaluator, StepEvaluator, in_order
from streamfs.selection.folds import Fold, make_folds
from streamfs.selection.inconsistency_rate import SubsetInconsistency
from streamfs.selection.wrapped_densities import DensityEvaluator
from streamfs.selection.wrapped_neighbours import NeighborsEvaluator

__all__ = [
    "Consistency",
    "ConsistencyEvaluator",
    "Criterion",
    "EstimatorEvaluator",
    "Evaluator",
    "StepEvaluator",
    "WrapperAccuracy",
]


class WrapperAccuracy(BaseEstimator):
    """Share of rows whose class a classifier tells that has learnt from the rows outside their fold.

    Parameters
    ----------
    estimator : classifier
        Any of scikit-learn's conventions; it is cloned for each fold. A parameter `nominal` is taken as indices of
        X and changed to those among the features of the subset.
    cv : int, splitter, or iterable of (training, test)
        A number of folds: shuffled and stratified, and made of whole groups where there are groups. Or a splitter
        of scikit-learn's, or pairs of training and test rows. The folds are the same for all subsets.
    random_state : int, optional
        Seeds the shuffling of the folds.

    Notes
    -----
    `NeighborsClassifier` and `KernelDensityClassifier` are judged without being fitted, with the same result.

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

    def __init__(self, estimator: Any, cv: Any = 5, random_state: int | None = 0) -> None:
        self.estimator = estimator
        self.cv = cv
        self.random_state = random_state

    def prepare(self, X: Array, y: npt.NDArray[Any], groups: npt.NDArray[Any] | None = None) -> Evaluator:
        """Make the folds.

        Raises
        ------
        DataError, ValueError
            As in `make_folds`.
        """
        folds = make_folds(X, y, groups, self.cv, self.random_state)
        if type(self.estimator) is NeighborsClassifier:
            return NeighborsEvaluator.prepare(self.estimator, X, y, folds)
        if type(self.estimator) is KernelDensityClassifier:
            return DensityEvaluator.prepare(self.estimator, X, y, folds)
        return EstimatorEvaluator(self.estimator, X, y, folds)


class Consistency(BaseEstimator):
    """One less the inconsistency rate of the discretised features.

    Parameters
    ----------
    discretiser : transformer or "passthrough", optional
        What makes discrete values of X, one feature of each; by default `EqualWidthDiscretiser()`.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    >>> evaluate = Consistency("passthrough").prepare(X, np.array([0, 0, 1, 1]))
    >>> evaluate([0]), evaluate([1])
    (0.75, 1.0)
    """

    def __init__(self, discretiser: Any = None) -> None:
        self.discretiser = discretiser

    def prepare(
        self,
        X: Array,
        y: npt.NDArray[Any],
        groups: npt.NDArray[Any] | None = None,  # noqa: ARG002 - nothing is held out
    ) -> Evaluator:
        """Discretise the values.

        Raises
        ------
        ValueError
            As the discretiser raises, or if it is no transformer.
        """
        if isinstance(self.discretiser, str):
            if self.discretiser != "passthrough":
                raise ValueError(f"discretiser is {self.discretiser!r}, expected a transformer or 'passthrough'")
            return ConsistencyEvaluator(SubsetInconsistency(X, y))
        discretiser = EqualWidthDiscretiser() if self.discretiser is None else clone(self.discretiser)
        return ConsistencyEvaluator(SubsetInconsistency(discretiser.fit_transform(X, y), y))


@dataclass(frozen=True)
class ConsistencyEvaluator:
    """One less the inconsistency rate of a subset.

    Parameters
    ----------
    rates : SubsetInconsistency
        Of discrete values.
    """

    rates: SubsetInconsistency

    def __call__(self, subset: Sequence[int]) -> float:
        """Evaluate a subset, which may be empty."""
        return 1.0 - self.rates.rate(subset)

    def with_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features put in; shape (n_features,)."""
        return np.asarray(1.0 - self.rates.rates_with_each(subset, features))

    def without_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features taken out; shape (n_features,)."""
        return np.array([self([other for other in subset if other != feature]) for feature in features])


@dataclass(frozen=True)
class EstimatorEvaluator:
    """Out-of-fold accuracy of any classifier.

    Parameters
    ----------
    estimator : classifier
        Cloned for each fold.
    X : ndarray of shape (n_rows, n_features)
        Values.
    y : ndarray of shape (n_rows,)
        Classes.
    folds : tuple of Fold
        Rows to learn from and rows to be judged on.
    """

    estimator: Any
    X: Array
    y: npt.NDArray[Any]
    folds: tuple[Fold, ...]

    def __call__(self, subset: Sequence[int]) -> float:
        """Evaluate a subset.

        Raises
        ------
        ValueError, IndexError
            As in `in_order`.
        """
        features = in_order(subset, self.X.shape[1])
        estimator = _for_features(self.estimator, features)
        n_right = n_tested = 0
        for training, test in self.folds:
            if len(test):
                learnt = clone(estimator).fit(self.X[np.ix_(training, features)], self.y[training])
                n_right += int(np.sum(learnt.predict(self.X[np.ix_(test, features)]) == self.y[test]))
                n_tested += len(test)
        return n_right / n_tested


def _for_features(estimator: Any, features: npt.NDArray[np.int64]) -> Any:
    """Clone a classifier for some of the features, with its nominal ones by their new places."""
    estimator = clone(estimator)
    nominal = estimator.get_params(deep=False).get("nominal")
    if nominal is not None:
        estimator.set_params(nominal=np.flatnonzero(np.isin(features, nominal)).tolist())
    return estimator

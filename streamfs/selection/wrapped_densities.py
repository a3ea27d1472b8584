"""Out-of-fold accuracy of a kernel density classifier, whose rows are measured once for all subsets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import nominal_mask
from streamfs.classifiers.class_densities import MeasuredClasses, Smoothing
from streamfs.classifiers.kernel_density import KernelDensityClassifier
from streamfs.selection.evaluators import in_order
from streamfs.selection.folds import Fold


@dataclass(frozen=True)
class MeasuredFold:
    """A fold ready for training with any subset of features.

    `expected` are the classes of the `queries`, (n_queries, n_features), as numbers of the training rows' classes,
    or -1.
    """

    training: MeasuredClasses
    queries: Array
    expected: Integers

    @classmethod
    def measure(cls, fold: Fold, X: Array, y: npt.NDArray[Any], is_nominal: npt.NDArray[np.bool_]) -> Self:
        """Measure the rows of a fold."""
        labels, classes = np.unique(y[fold.training], return_inverse=True)
        places = np.minimum(np.searchsorted(labels, y[fold.test]), len(labels) - 1)
        expected = np.where(labels[places] == y[fold.test], places, -1)
        return cls(MeasuredClasses.measure(X[fold.training], classes, is_nominal), X[fold.test], expected)

    def n_right(self, features: Integers, smoothing: Smoothing) -> int:
        """Count the test rows that some of the features classify correctly."""
        densities = smoothing.place(self.training.only(features))
        return int(np.sum(densities.probabilities(self.queries[:, features]).argmax(axis=1) == self.expected))


@dataclass(frozen=True)
class DensityEvaluator:
    """Out-of-fold accuracy of `KernelDensityClassifier`, bit-equal to fitting it to each fold."""

    folds: tuple[MeasuredFold, ...]
    smoothing: Smoothing

    @classmethod
    def prepare(
        cls, classifier: KernelDensityClassifier, X: Array, y: npt.NDArray[Any], folds: Sequence[Fold]
    ) -> Self:
        """Measure the rows of the folds; ValueError for a bad parameter of the classifier, or a huge range."""
        smoothing = Smoothing(classifier.kernel, classifier.bandwidth)
        is_nominal = nominal_mask(classifier.nominal, X.shape[1])
        measured = (MeasuredFold.measure(fold, X, y, is_nominal) for fold in folds if len(fold.test))
        return cls(tuple(measured), smoothing)

    def __call__(self, subset: Sequence[int]) -> float:
        """Evaluate a subset; errors as in `in_order`."""
        features = in_order(subset, len(self.folds[0].training.is_nominal))
        n_right = sum(fold.n_right(features, self.smoothing) for fold in self.folds)
        return n_right / sum(len(fold.expected) for fold in self.folds)

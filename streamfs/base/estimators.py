"""What estimators of scikit-learn's conventions share here: missing values are welcome, and targets needed."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from feature_extractors.base import Array

Flags = npt.NDArray[np.bool_]


class FeatureSelector(SelectorMixin, BaseEstimator):
    """A selector that knows what it has selected as `support_`, a mask."""

    support_: Flags

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


class ProbableClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose `predict_proba` says all; it has `classes_`."""

    classes_: npt.NDArray[Any]

    @abstractmethod
    def predict_proba(self, X: npt.ArrayLike) -> "Array":
        """Return the probability of each class, shape (n_rows, n_classes)."""

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most probable label of each row, the first of equally probable ones."""
        probabilities = self.predict_proba(X)
        labels: npt.NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

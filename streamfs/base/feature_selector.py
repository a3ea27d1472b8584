"""Feature selectors of scikit-learn's conventions, apart since its own selectors load most of it."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy.typing as npt
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from feature_extractors.arrays import Flags
from streamfs.base.estimators import Estimator


class FeatureSelector(SelectorMixin, Estimator, ABC):
    """A selector whose selected features are in the mask `support_`."""

    support_: Flags

    @abstractmethod
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:
        """Select features of rows."""

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

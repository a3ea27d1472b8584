"""Base class of the filters that search by the inconsistency rate."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from streamfs.base.estimators import training_rows
from streamfs.base.feature_selector import FeatureSelector
from streamfs.selection.discretise import new_discretiser
from streamfs.selection.inconsistency_rate import Features, SubsetInconsistency

if TYPE_CHECKING:
    from feature_extractors.arrays import Array


class InconsistencyFilter(FeatureSelector, ABC):
    """Searches the subsets of discretised features by their inconsistency rate."""

    threshold: float
    discretiser: Any

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Select features; NaN is treated as a value, and groups are ignored, as nothing is held out."""
        values, labels = training_rows(self, X, y)
        rates = SubsetInconsistency(self._discretised(values, labels), labels)
        self.ranking_ = np.array(self._search(rates), np.int64)
        self.support_ = np.isin(np.arange(self.n_features_in_), self.ranking_)
        self.inconsistency_ = rates.rate(self.ranking_)
        return self

    @abstractmethod
    def _search(self, rates: SubsetInconsistency) -> Features:
        """Find the features to select, in the order of the ranking."""

    def _discretised(self, values: "Array", y: npt.NDArray[Any]) -> "Array":
        """Discretise the values."""
        discretiser = new_discretiser(self.discretiser)
        if discretiser is None:
            return values
        self.discretiser_ = discretiser
        made = discretiser.fit_transform(values, y)
        codes: Array = check_array(made, dtype=np.float64, ensure_all_finite="allow-nan")
        if codes.shape != values.shape:
            raise ValueError(f"discretiser makes values of shape {codes.shape}, expected {values.shape}")
        return codes

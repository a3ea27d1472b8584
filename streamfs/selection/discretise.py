"""Discretisation into bins of equal width, whose number follows from the values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import validate_data

from streamfs.base.estimators import Estimator, noted, query_rows, training_rows
from streamfs.base.parameters import Flag, OneOf, Whole, Wholes

if TYPE_CHECKING:
    from feature_extractors.arrays import Array

RULES = ("freedman-diaconis", "scott", "sturges")

MOST = 2**53
"""Number of bins beyond which shares of a range are indistinguishable."""


class EqualWidthDiscretiser(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Replaces each number by the number of its bin, from 0; all bins of a feature have the same width.

    Parameters
    ----------
    n_bins : {"freedman-diaconis", "scott", "sturges"} or int
        Number of bins of a feature, or a rule. The first two give the width h and so the number of bins
        ceil(range / h): h is 2 IQR n^(-1/3), or 3.49 s n^(-1/3), for n known values with the interquartile range
        IQR and the standard deviation s. Sturges' rule is ceil(log2 n) + 1; it also applies if h is 0.
    supervised : bool
        Whether the rule is applied to each class alone, with the range of all values; the largest resulting number
        of bins is used.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories, which are left unchanged.

    Attributes
    ----------
    n_bins_ : ndarray of int of shape (n_features,)
        Number of bins of each feature; 1 if all its known values are equal or it has none, 0 if it is nominal.
    lows_, highs_ : ndarray of shape (n_features,)
        The range of each feature in training, 0 and 0 if it has no known value.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    A bin includes its lower edge, the last bin both. Numbers outside the training range are put into the first or
    the last bin; missing ones (NaN) stay missing. The number of bins is bounded only by 2^53: a few outliers make
    many bins, most of them empty.

    References
    ----------
    Freedman and Diaconis, On the histogram as a density estimator, 1981; Scott, On optimal and data-based
    histograms, 1979; Sturges, The choice of a class interval, 1926. Acuna and Coaquira, Feature selection for
    supervised classification, use the first and mention supervised bins without a formula; a width of 0 and
    supervised bins follow our reading.

    Examples
    --------
    >>> EqualWidthDiscretiser(n_bins=3).fit_transform([[0.0], [0.9], [1.0], [np.nan], [3.0]]).ravel().tolist()
    [0.0, 0.0, 1.0, nan, 2.0]
    """

    _parameter_constraints: ClassVar = {
        "n_bins": [OneOf(*RULES), Whole(1, MOST)],
        "supervised": [Flag()],
        "nominal": [Wholes(), None],
    }

    def __init__(
        self,
        n_bins: Literal["freedman-diaconis", "scott", "sturges"] | int = "freedman-diaconis",
        supervised: bool = False,
        nominal: Sequence[int] | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.supervised = supervised
        self.nominal = nominal

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Self:
        """Find the range and the number of bins of each feature.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Values; NaN is missing.
        y : array_like of shape (n_rows,), optional
            Classes, required if supervised and ignored otherwise.

        Raises
        ------
        ValueError
            If a parameter is out of range, or X holds an infinite value or a range that is not finite.
        """
        self._check_parameters()
        if self.supervised:
            values, labels = training_rows(self, X, y)
            classes = np.unique(labels, return_inverse=True)[1]
        else:
            values = validate_data(self, noted(self, X), dtype=np.float64, ensure_all_finite="allow-nan")
            classes = np.zeros(len(values), np.int64)
        is_nominal = self._is_nominal(values.shape[1])
        self.n_bins_ = np.zeros(values.shape[1], np.int64)
        self.lows_, self.highs_ = np.zeros((2, values.shape[1]))
        for feature in np.flatnonzero(~is_nominal).tolist():
            is_known = ~np.isnan(values[:, feature])
            self._fit_feature(feature, values[is_known, feature], classes[is_known])
        return self

    def transform(self, X: npt.ArrayLike) -> "Array":
        """Replace numbers by the numbers of their bins.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Values; NaN is missing.
        """
        values = query_rows(self, X)
        widths = np.where(self.highs_ > self.lows_, self.highs_ - self.lows_, 1.0)
        with np.errstate(over="ignore"):  # far outside the range
            bins = np.floor((values - self.lows_) / widths * self.n_bins_)
        return np.where(self.n_bins_ == 0, values, np.clip(bins, 0.0, np.maximum(self.n_bins_ - 1.0, 0.0)))

    def _fit_feature(self, feature: int, values: "Array", classes: npt.NDArray[np.int64]) -> None:
        """Find the range and the bins of a numeric feature, given its known values."""
        self.n_bins_[feature] = 1
        if not len(values):
            return
        low, high = self.lows_[feature], self.highs_[feature] = values.min(), values.max()
        if low == high:
            return
        if high / 2 - low / 2 > np.finfo(np.float64).max / 2:
            raise ValueError(f"feature {feature} ranges from {low:g} to {high:g}, expected a finite range")
        if isinstance(self.n_bins, str):
            of_classes = (values[classes == label] for label in np.unique(classes))
            self.n_bins_[feature] = max(_n_bins(self.n_bins, of_class, high - low) for of_class in of_classes)
        else:
            self.n_bins_[feature] = self.n_bins

    def _check_parameters(self) -> None:
        self._validate_params()
        if self.supervised and not isinstance(self.n_bins, str):
            raise ValueError(f"supervised is True but n_bins is {self.n_bins}, expected one of {', '.join(RULES)}")

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = bool(self.supervised)
        return tags


def new_discretiser(given: Any) -> Any:
    """Return a copy of a given transformer, by default an `EqualWidthDiscretiser`; None for "passthrough"."""
    if not isinstance(given, str):
        return EqualWidthDiscretiser() if given is None else clone(given)
    if given != "passthrough":
        raise ValueError(f"discretiser is {given!r}, expected a transformer or 'passthrough'")
    return None


def _n_bins(rule: str, values: "Array", extent: float) -> int:
    """Return the number of bins by a rule for a range and some of its values."""
    n_values, width = len(values), 0.0
    if rule == "freedman-diaconis":
        lower, upper = np.quantile(values, [0.25, 0.75])
        width = 2.0 * float(upper - lower) * float(n_values ** (-1.0 / 3.0))
    elif rule == "scott" and n_values > 1:
        width = 3.49 * float(values.std(ddof=1)) * float(n_values ** (-1.0 / 3.0))
    if width == 0.0:
        return int(np.ceil(np.log2(n_values))) + 1
    with np.errstate(over="ignore"):
        return int(min(np.ceil(np.float64(extent) / width), MOST))

"""What estimators of scikit-learn's conventions share here: missing values are allowed, targets required."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from feature_extractors.arrays import Flags
from streamfs.base.categories import categories_of, coded
from streamfs.base.parameters import Constraints, require_parameters

if TYPE_CHECKING:
    from feature_extractors.arrays import Array


class Estimator(BaseEstimator):
    """An estimator that declares what each of its parameters may be, as scikit-learn's own do."""

    _parameter_constraints: ClassVar[Constraints] = {}

    def _validate_params(self) -> None:
        require_parameters(self._parameter_constraints, self.get_params(deep=False))

    def _is_nominal(self, n_features: int) -> Flags:
        """Return a mask of the features that are nominal: said to be, or categories of a frame."""
        is_nominal = nominal_mask(self.nominal, n_features)
        is_nominal[list(getattr(self, "categories_", ()))] = True
        return is_nominal


class ProbableClassifier(ClassifierMixin, Estimator, ABC):
    """A classifier that predicts the most probable of its `classes_`."""

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


def noted(estimator: Estimator, X: npt.ArrayLike) -> Any:
    """Note the categories of a frame, if the estimator knows nominal features, and return it with their codes."""
    if not hasattr(estimator, "nominal"):
        return X
    estimator.categories_ = categories_of(X)
    return coded(X, estimator.categories_)


def training_rows(
    estimator: Estimator,
    X: npt.ArrayLike,
    y: npt.ArrayLike | None,
    groups: npt.ArrayLike | None = None,
    ensure_min_samples: int = 1,
) -> "tuple[Array, npt.NDArray[Any]]":
    """Validate parameters and what `fit` is given: rows as floats, NaN as the tags allow, and labels."""
    estimator._validate_params()  # noqa: SLF001 - as scikit-learn's own `fit` does
    allows_nan = bool(get_tags(estimator).input_tags.allow_nan)
    rows: Any = noted(estimator, X)
    labels: Any = y
    if are_plain(rows, labels, ensure_min_samples, allows_nan=allows_nan):
        estimator.n_features_in_ = rows.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    else:
        rows, labels = validate_data(
            estimator,
            rows,
            labels,
            dtype=np.float64,
            ensure_all_finite="allow-nan" if allows_nan else True,
            ensure_min_samples=ensure_min_samples,
        )
        check_classification_targets(labels)
    check_consistent_length(rows, groups)
    return rows, labels


def are_plain(X: Any, y: Any, n_least: int, *, allows_nan: bool) -> bool:
    """Return whether rows and labels are arrays that scikit-learn takes as they are, and does not warn of.

    To find so takes it longer than many a fit does.
    """
    if not (type(X) is type(y) is np.ndarray and X.dtype == np.float64 and y.dtype.kind in "biuU"):
        return False
    if (X.ndim, y.ndim) != (2, 1) or X.shape[1] < 1 or not len(X) == len(y) >= max(1, n_least):
        return False
    is_wrong = np.isinf(X) if allows_nan else ~np.isfinite(X)
    return not is_wrong.any() and 2 * len(np.unique(y)) <= len(y)  # it warns of more classes


def query_rows(estimator: BaseEstimator, X: npt.ArrayLike) -> "Array":
    """Validate rows for a fitted estimator: floats, NaN allowed, with the features that it was fitted to."""
    check_is_fitted(estimator)
    X = coded(X, getattr(estimator, "categories_", {}))
    rows: Array = validate_data(estimator, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
    return rows


def training_weights(sample_weight: npt.ArrayLike | None, rows: "Array") -> "Array":
    """Validate the weights of training rows: all 1 by default, not negative, with a positive, finite sum."""
    weights: Array
    if are_plain_weights(sample_weight, len(rows)):
        weights = sample_weight
    else:
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row, expected a positive weight")
    with np.errstate(over="ignore"):
        if np.isinf(weights.sum()):
            raise ValueError(f"sample_weight is up to {weights.max()}, expected weights with a finite sum")
    return weights


def are_plain_weights(weights: Any, n_rows: int) -> "TypeGuard[Array]":
    """Return whether weights are an array that scikit-learn takes as it is."""
    if not (type(weights) is np.ndarray and weights.dtype == np.float64 and weights.flags.c_contiguous):
        return False
    return weights.shape == (n_rows,) and bool((weights >= 0.0).all() and np.isfinite(weights).all())


def require_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse a parameter that is not a whole number from `least` to `most`."""
    if isinstance(value, Integral) and least <= int(value) <= (int(value) if most is None else most):
        return
    expected = f"at least {least}" if most is None else f"{least} to {most}"
    raise ValueError(f"{name} is {value!r}, expected a whole number, {expected}")


def nominal_mask(nominal: Sequence[int] | None, n_features: int) -> Flags:
    """Return a mask of the features that are codes of categories; ValueError if an index is out of range."""
    is_nominal = np.zeros(n_features, np.bool_)
    for feature in () if nominal is None else nominal:
        if not 0 <= feature < n_features:
            raise ValueError(f"nominal holds {feature}, expected features from 0 to {n_features - 1}")
        is_nominal[feature] = True
    return is_nominal

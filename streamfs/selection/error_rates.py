"""Estimates of a classifier's error rate from labelled rows."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import (
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.utils import indexable, resample
from sklearn.utils.validation import check_random_state

RandomState = int | np.random.RandomState | None
Labels = npt.NDArray[Any]

KNOWN_IN_A_SAMPLE = 0.632
"""Share of the rows in a bootstrap sample of many rows, 1 - 1/e."""


@dataclass(frozen=True)
class ErrorRate:
    """Share of misclassified rows, and the number of different rows that it was measured on."""

    rate: float
    n_rows: int

    @property
    def standard_error(self) -> float:
        """Standard deviation of the rate over draws of different rows, if they were classified independently."""
        return float(np.sqrt(self.rate * (1.0 - self.rate) / self.n_rows))


def resubstitution(estimator: Any, X: npt.ArrayLike, y: npt.ArrayLike) -> ErrorRate:
    """Estimate the error on the training rows; it is too low.

    Parameters
    ----------
    estimator : classifier
        A scikit-learn classifier; a copy is fitted.
    X : array_like of shape (n_rows, n_features)
        Values.
    y : array_like of shape (n_rows,)
        Classes.

    References
    ----------
    Acuna and Coaquira, Feature selection for supervised classification, slide 4.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [2.0]], [0, 0, 1, 0]
    >>> resubstitution(DecisionTreeClassifier(), X, y)
    ErrorRate(rate=0.25, n_rows=4)
    """
    X, labels = _rows(X, y)
    return _measured(clone(estimator).fit(X, labels).predict(X) != labels)


def hold_out(
    estimator: Any, X: npt.ArrayLike, y: npt.ArrayLike, test_size: float = 1 / 3, random_state: RandomState = None
) -> ErrorRate:
    """Estimate the error on a share or number of rows held out at random; classes keep their shares.

    A ValueError is raised if a part cannot contain every class.
    """
    X, labels = _rows(X, y)
    known, held, known_labels, held_labels = train_test_split(
        X, labels, test_size=test_size, stratify=labels, random_state=random_state
    )
    return _measured(clone(estimator).fit(known, known_labels).predict(held) != held_labels)


def leave_one_out(estimator: Any, X: npt.ArrayLike, y: npt.ArrayLike) -> ErrorRate:
    """Estimate the error by classifying each row by a classifier trained on all others."""
    X, labels = _rows(X, y)
    return _measured(cross_val_predict(clone(estimator), X, labels, cv=LeaveOneOut()) != labels)


def cross_validation(
    estimator: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    n_folds: int = 10,
    n_repetitions: int = 1,
    groups: npt.ArrayLike | None = None,
    random_state: RandomState = None,
) -> ErrorRate:
    """Estimate the error by classifying every row by a classifier trained outside its fold, repeatedly.

    Parameters
    ----------
    estimator, X, y
        As in `resubstitution`.
    n_folds : int
        Number of folds; the classes keep their shares as far as possible, and a class with fewer rows than folds
        is tested in some of them only.
    n_repetitions : int
        Number of repetitions with other folds; the rate is the mean.
    groups : array_like of shape (n_rows,), optional
        Rows of one group are never on both sides of a fold.
    random_state : int, RandomState or None
        Seed of the folds.

    Raises
    ------
    ValueError
        If there are more folds than rows of the largest class or than groups, or no repetition.

    References
    ----------
    Acuna and Coaquira, as above, slide 5: the errors of all folds together, over the number of rows.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1]
    >>> cross_validation(DecisionTreeClassifier(), X, y, n_folds=2, n_repetitions=3)
    ErrorRate(rate=0.0, n_rows=4)
    """
    X, labels = _rows(X, y)
    _at_least_one("n_repetitions", n_repetitions)
    if groups is not None and (n_groups := len(np.unique(np.asarray(groups)))) < n_folds:
        raise ValueError(f"n_folds is {n_folds}, expected at most the number of groups, {n_groups}")
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=check_random_state(random_state))
    n_wrong = 0
    with warnings.catch_warnings():  # on classes of fewer rows than folds, whose handling is documented
        warnings.filterwarnings("ignore", message="The least populated class in y", category=UserWarning)
        for _ in range(n_repetitions):
            predicted = cross_val_predict(clone(estimator), X, labels, groups=groups, cv=folds)
            n_wrong += int((predicted != labels).sum())
    return ErrorRate(n_wrong / (n_repetitions * len(labels)), len(labels))


def bootstrap(
    estimator: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    n_samples: int = 50,
    method: Literal["e0", "632"] = "632",
    random_state: RandomState = None,
) -> ErrorRate:
    """Estimate the error on the rows that samples drawn with replacement leave out.

    Parameters
    ----------
    estimator, X, y
        As in `resubstitution`.
    n_samples : int
        Number of samples, each as large as the set of rows, with the same class sizes.
    method : {"e0", "632"}
        The errors on the rows left out, over all samples, per row left out; or 0.632 of that and 0.368 of the
        resubstitution error, since a sample contains only 0.632 of the rows.
    random_state : int, RandomState or None
        Seed of the samples.

    Raises
    ------
    ValueError
        If the method is unknown, there are no samples, or they leave no row out.

    References
    ----------
    B. Efron, Estimating the error rate of a prediction rule, Journal of the American Statistical Association 78,
    1983. Its samples are drawn regardless of classes, so that one may lack a small class.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> bootstrap(DecisionTreeClassifier(), [[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1], random_state=0)
    ErrorRate(rate=0.0, n_rows=4)
    """
    if method not in ("e0", "632"):
        raise ValueError(f"method is {method!r}, expected 'e0' or '632'")
    _at_least_one("n_samples", n_samples)
    X, labels = _rows(X, y)
    random, rows = check_random_state(random_state), np.arange(len(labels))
    n_tested, n_wrong = np.zeros((2, len(labels)), dtype=np.int64)
    for _ in range(n_samples):
        drawn = resample(rows, stratify=labels, random_state=random)
        left_out = np.setdiff1d(rows, drawn)
        if len(left_out):
            predicted = clone(estimator).fit(X[drawn], labels[drawn]).predict(X[left_out])
            n_tested[left_out] += 1
            n_wrong[left_out] += predicted != labels[left_out]
    if not n_tested.any():
        raise ValueError(f"none of {n_samples} samples leaves a row out, expected more samples or larger classes")
    rate = float(n_wrong.sum() / n_tested.sum())
    if method == "632":
        seen = resubstitution(estimator, X, labels).rate
        rate = KNOWN_IN_A_SAMPLE * rate + (1.0 - KNOWN_IN_A_SAMPLE) * seen
    return ErrorRate(rate, int((n_tested > 0).sum()))


def _rows(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[npt.NDArray[Any], Labels]:
    """Return values and labels as arrays of equal length."""
    values, labels = indexable(np.asarray(X), np.asarray(y))
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"y has shape {labels.shape}, expected one class per row, at least one row")
    return values, labels


def _measured(is_wrong: npt.NDArray[np.bool_]) -> ErrorRate:
    return ErrorRate(float(is_wrong.mean()), len(is_wrong))


def _at_least_one(name: str, number: int) -> None:
    if number < 1:
        raise ValueError(f"{name} is {number}, expected at least 1")

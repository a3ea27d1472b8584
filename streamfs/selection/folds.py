"""Folds of rows, the same for every subset of features that is evaluated."""

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from feature_extractors.arrays import Array, Integers
from streamfs.errors import DataError


class Fold(NamedTuple):
    """Indices of training and test rows, rising."""

    training: Integers
    test: Integers


def make_folds(
    X: Array, y: npt.NDArray[Any], groups: npt.ArrayLike | None, cv: Any, random_state: int | None
) -> tuple[Fold, ...]:
    """Divide rows into folds; rows of one group are never on both sides of a fold.

    `cv` is a number of stratified folds of shuffled rows, or of whole groups; a splitter of scikit-learn; or pairs
    of training and test rows. A DataError is raised if there is only one class, or a class of a single row or
    group.
    """
    if len(np.unique(y)) < 2:
        raise DataError(f"y has one class only, {str(y[0])!r}, expected at least two")
    pairs: Iterable[Any]
    if isinstance(cv, Integral):
        pairs = _stratified(y, groups, int(cv), random_state)
    elif isinstance(cv, (str, bytes)) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(f"cv is {cv!r}, expected a number of folds, a splitter, or pairs of rows")
    else:
        pairs = cv.split(X, y, groups) if hasattr(cv, "split") else cv
    folds = tuple(Fold(*(np.sort(np.asarray(rows, np.int64)) for rows in pair)) for pair in pairs)
    if not any(len(fold.test) for fold in folds):
        raise DataError(f"cv is {cv!r}, which tests no row, expected folds with test rows")
    return folds


def _stratified(
    y: npt.NDArray[Any], groups: npt.ArrayLike | None, n_folds: int, random_state: int | None
) -> list[tuple[Integers, Integers]]:
    """Divide rows, or groups, into shuffled folds, outside each of which all classes occur."""
    kind, units = ("sample", np.arange(len(y))) if groups is None else ("group", np.asarray(groups))
    sizes = {label: len(np.unique(units[y == label])) for label in np.unique(y)}
    for label, size in sizes.items():
        if size < 2:
            raise DataError(
                f"class {str(label)!r} has {size} {kind} only, expected at least 2: record more, or leave it out"
            )
    most = max(sizes.values()) if groups is None else len(np.unique(units))
    if not 2 <= n_folds <= most:
        raise ValueError(f"cv is {n_folds}, expected 2 to {most} folds")
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of fewer rows than folds is not tested in all
        splits = splitter(n_folds, shuffle=True, random_state=random_state).split(units, y, units)
        return list(splits)

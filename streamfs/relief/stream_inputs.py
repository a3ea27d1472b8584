"""What estimators of streams take: sets of streams, arrays, lists of arrays, and frames with a row a stream."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d, validate_data

from feature_extractors.arrays import Array
from streamfs.base.estimators import Estimator
from streamfs.data.ends import ends_of
from streamfs.data.given_values import padded, unmasked
from streamfs.data.streams import StreamSet

Streams = StreamSet | npt.ArrayLike | Sequence[npt.ArrayLike]
"""Streams as estimators take them.

A `StreamSet`; values of shape (n_streams, n_ticks, n_columns); a list of arrays of shape (n_ticks, n_columns), as
long as each stream; or a table of shape (n_streams, n_ticks), an array or a frame, of streams of one column. NaN
is missing, and a stream of an array ends at its last tick with a value.
"""


def training_streams(
    estimator: Estimator, X: Streams, y: npt.ArrayLike | None
) -> tuple[StreamSet, npt.NDArray[Any]]:
    """Validate parameters and what `fit` is given; the labels of a set of streams need not be given again."""
    estimator._validate_params()  # noqa: SLF001 - as scikit-learn's own `fit` does
    if isinstance(X, StreamSet):
        labels = X.labels if y is None else y
        _note_columns(estimator, X.columns)
        streams = X
    elif y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    elif _is_table(X):
        rows, labels = validate_data(estimator, unmasked(X), y, dtype=np.float64, ensure_all_finite="allow-nan")
        streams = _set_of(rows[:, :, np.newaxis])
    else:
        values, labels = _padded(X), y
        streams = _set_of(values)
        estimator.n_features_in_ = values.shape[2]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    labels = column_or_1d(labels, warn=True)
    check_consistent_length(streams.values, labels)
    check_classification_targets(labels)
    return streams, labels


def query_streams(estimator: Estimator, X: Streams) -> StreamSet:
    """Validate streams for a fitted estimator: with the columns that it was fitted to."""
    if isinstance(X, StreamSet):
        return X
    if _is_table(X):
        rows = validate_data(estimator, unmasked(X), dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return _set_of(rows[:, :, np.newaxis])
    values = _padded(X)
    if values.shape[2] != estimator.n_features_in_:
        raise ValueError(
            f"X has {values.shape[2]} columns, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} columns as input"
        )
    return _set_of(values)


def _note_columns(estimator: Estimator, columns: Sequence[str]) -> None:
    estimator.n_features_in_ = len(columns)
    estimator.feature_names_in_ = np.asarray(columns, dtype=object)


def _is_table(X: Any) -> bool:
    """Return whether it has a row a stream, a number a tick; or is nothing of what is taken, and to be refused."""
    if isinstance(X, (list, tuple)) and len(X):
        sizes = {np.shape(each) for each in X if not np.isscalar(each)}
        return len(sizes) < 2 and all(len(shape) < 2 for shape in sizes)
    return getattr(X, "ndim", 2) != 3


def _padded(X: Any) -> Array:
    """Return streams as one array, NaN beyond the ends of those of a list."""
    if isinstance(X, (list, tuple)) or not np.size(X):
        return padded([_column(each) for each in X])
    values = np.asarray(unmasked(X))
    return _checked(values.reshape(-1, values.shape[2])).reshape(values.shape)


def _column(stream: npt.ArrayLike) -> Array:
    """Return a stream as readings of shape (n_ticks, n_columns)."""
    values = np.asarray(unmasked(stream))
    return _checked(values[:, np.newaxis] if values.ndim == 1 else values)


def _checked(rows: npt.NDArray[Any]) -> Array:
    """Return rows of readings as numbers; refuse what is none."""
    checked: Array = check_array(
        rows,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        ensure_min_samples=0,
        input_name="a stream of X",
    )
    return checked


def _set_of(values: Array) -> StreamSet:
    """Make a set of streams without labels, whose columns have scikit-learn's names."""
    columns = [f"x{index}" for index in range(values.shape[2])]
    return StreamSet(values, [""] * len(values), columns, lengths=ends_of(values))

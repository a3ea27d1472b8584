"""Base class of the estimators that rank the features of streams."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from feature_extractors.arrays import Flags, Integers
from streamfs.base.estimators import Estimator
from streamfs.base.parameters import Constraints, OneOf, Whole, Wholes
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import StreamSet
from streamfs.relief.rows import NEIGHBOURS, ReliefRows, rows_of
from streamfs.relief.stream_inputs import Streams, query_streams, training_streams


class TableEstimator(TransformerMixin, Estimator, ABC):
    """An estimator that is fitted to streams, with Relief's parameters of instances, and keeps the best features.

    As a transformer it returns the streams, or the table, with the selected columns alone: the best `n_features`,
    or all relevant ones.
    """

    neighbours: str
    power: int
    nominal: Sequence[int] | None
    n_features: int | None
    relevant_: Flags
    ranking_: Integers

    _parameter_constraints: ClassVar[Constraints] = {
        "positions": [Whole(1), Wholes(), None],
        "neighbours": [OneOf(*NEIGHBOURS)],
        "power": [Whole(1, 2)],
        "nominal": [Wholes(), None],
        "random_state": [Whole()],
        "n_features": [Whole(1), None],
    }

    def fit(self, X: FeatureTable | Streams, y: npt.ArrayLike | None = None) -> Self:
        """Rank the features of a table, or the columns of streams.

        Parameters
        ----------
        X : FeatureTable, StreamSet, array_like, or list of array_like
            Values of shape (n_streams, n_ticks, n_features), a list of arrays of shape (n_ticks, n_features), or a
            table of shape (n_streams, n_ticks) of one feature. NaN is undefined; a stream ends at its last tick
            with a value.
        y : array_like of shape (n_streams,), optional
            The class of each stream; by default the labels of the table or the set of streams.

        Raises
        ------
        DataError
            If there are too few classes, or streams of one.
        ValueError
            If a parameter is out of its range, or the labels are missing.
        """
        if isinstance(X, FeatureTable):
            self._validate_params()
            self.n_features_in_ = X.values.shape[2]
            self.feature_names_ = X.names or self._plain_names()
            self._fit(X)
            return self
        streams, labels = training_streams(self, X, y)
        self.feature_names_ = streams.columns if isinstance(X, StreamSet) else self._plain_names()
        text = np.asarray(labels).astype(np.str_)
        self._fit(FeatureTable(streams.values, text, (), streams.lengths, streams.period))
        return self

    def _plain_names(self) -> tuple[str, ...]:
        return tuple(f"feature {number}" for number in range(self.n_features_in_))

    def get_support(self, indices: bool = False) -> "Flags | Integers":
        """Return the mask of the selected features, or their indices."""
        check_is_fitted(self)
        chosen = np.flatnonzero(self.relevant_) if self.n_features is None else self.ranking_[: self.n_features]
        mask = np.isin(np.arange(len(self.ranking_)), chosen)
        return np.flatnonzero(mask) if indices else mask

    def transform(self, X: FeatureTable | Streams) -> Any:
        """Return the streams with the selected columns: a table, a set, an array or a list, as given.

        A table of streams of one column, which is selected or not, is returned as it is.
        """
        kept = self.get_support(indices=True)
        if isinstance(X, FeatureTable):
            return X.with_features(kept.tolist())
        streams = query_streams(self, X)
        values = streams.values[:, :, kept]
        if isinstance(X, StreamSet):
            columns = [streams.columns[index] for index in kept]
            return StreamSet(values, X.labels, columns, X.period, X.names, X.lengths)
        if getattr(X, "ndim", 2) == 3:
            return values
        if len(streams.columns) == 1:
            return streams.values[:, :, 0]
        return [row[:length] for row, length in zip(values, streams.lengths, strict=True)]

    @abstractmethod
    def _fit(self, table: FeatureTable) -> None:
        """Fit to a table."""

    def _rows(self, table: FeatureTable, streams: Integers, ticks: Integers) -> ReliefRows:
        """Return the instances at some ticks of some streams."""
        return rows_of(table, streams, ticks, self.neighbours, self.power, self.nominal)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags

"""Base class of the estimators that rank the features of streams."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy.typing as npt
from sklearn.base import BaseEstimator

from streamfs.data.feature_table import FeatureTable, plain_table
from streamfs.data.streams import Integers
from streamfs.relief.rows import ReliefRows, rows_of


class TableEstimator(BaseEstimator, ABC):
    """An estimator that is fitted to a feature table, with Relief's parameters of instances."""

    neighbours: str
    power: int
    nominal: Sequence[int] | None

    def fit(self, table: FeatureTable | npt.ArrayLike, labels: npt.ArrayLike | None = None) -> Self:
        """Rank the features of a table, or of values of shape (n_streams, n_ticks, n_features) with labels.

        NaN is undefined. A DataError is raised if there are too few classes, or streams of one.
        """
        table = table if isinstance(table, FeatureTable) else plain_table(table, labels)
        n_features = table.values.shape[2]
        self.feature_names_ = table.names or tuple(f"feature {number}" for number in range(n_features))
        self._fit(table)
        return self

    @abstractmethod
    def _fit(self, table: FeatureTable) -> None:
        """Fit to a table."""

    def _rows(self, table: FeatureTable, streams: Integers, ticks: Integers) -> ReliefRows:
        """Return the instances at some ticks of some streams."""
        return rows_of(table, streams, ticks, self.neighbours, self.power, self.nominal)

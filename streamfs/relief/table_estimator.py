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
        """Rank the features.

        Parameters
        ----------
        table : FeatureTable or array_like of shape (n_streams, n_ticks, n_features)
            Feature values of every prefix; NaN is undefined.
        labels : array_like of shape (n_streams,), optional
            Classes, if the table is an array.

        Raises
        ------
        ValueError
            If a parameter is out of range or does not fit the table.
        DataError
            If there are too few classes, or streams of one.
        """
        self._fit(table if isinstance(table, FeatureTable) else plain_table(table, labels))
        return self

    @abstractmethod
    def _fit(self, table: FeatureTable) -> None:
        """Fit to a table."""

    def _rows(self, table: FeatureTable, streams: Integers, ticks: Integers) -> ReliefRows:
        """Return the instances at some ticks of some streams."""
        return rows_of(table, streams, ticks, self.neighbours, self.power, self.nominal)

"""Columns that nodes compute: features of their own readings, or how many levels these are above."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from feature_extractors.base import Feature
from feature_extractors.report import CROSSINGS
from streamfs.data.feature_table import tabulate
from streamfs.data.streams import StreamSet

LIMIT = 1e37
"""Greatest absolute value of a feature that is sent; single precision has it."""
UNDEFINED = -1e38
"""What is sent of an undefined feature; of an undefined number of levels, `NO_LEVEL`."""
NO_LEVEL = -1.0


class DerivedColumn(NamedTuple):
    """A column that a node computes of its readings: a feature, or the number of levels that it is above.

    Parameters
    ----------
    feature : Feature
        The feature.
    levels : ndarray, optional
        Levels, ascending. The column then changes only when the feature crosses one of them; by default it is the
        feature itself.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> column = DerivedColumn(fx.get("mean(t)"), np.array([20.0, 25.0]))
    >>> column.name, column.sent(np.array([np.nan, 20.0, 20.1, 30.0])).tolist()
    ('crossings(mean(t))', [-1.0, 0.0, 1.0, 2.0])
    """

    feature: Feature
    levels: Array | None = None

    @property
    def name(self) -> str:
        """The column's name: the feature's, in ``crossings()`` if there are levels."""
        return self.feature.name if self.levels is None else f"{CROSSINGS}({self.feature.name})"

    @property
    def lowest(self) -> float:
        """The lowest value that stands for a defined feature."""
        return -LIMIT if self.levels is None else 0.0

    @property
    def undefined(self) -> float:
        """What stands for an undefined feature."""
        return UNDEFINED if self.levels is None else NO_LEVEL

    def sent(self, values: npt.ArrayLike) -> Array:
        """Return the column of some values of the feature; NaN is one that is undefined."""
        found = np.asarray(values, dtype=np.float64)
        known = np.clip(found, -LIMIT, LIMIT) if self.levels is None else np.searchsorted(self.levels, found)
        return np.where(np.isnan(found), self.undefined, known)


def derive(streams: StreamSet, columns: Sequence[DerivedColumn], max_silence: float | None = None) -> StreamSet:
    """Compute derived columns of recorded streams, as nodes do.

    Parameters
    ----------
    streams : StreamSet
        The recorded streams.
    columns : sequence of DerivedColumn
        The columns, all of which a node begins at the first tick at which their features' channels have a value.
    max_silence : float, optional
        Seconds for which a value sent on change is held; by default indefinitely.

    Returns
    -------
    StreamSet
        Streams of the derived columns, without a value before that tick, nor where no episode opens.

    Raises
    ------
    DataError
        If a feature reads a column that the streams do not have.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> streams = StreamSet([[[20.0], [22.0], [27.0]]], ["warm"], ["t"])
    >>> derive(streams, [DerivedColumn(fx.get("mean(t)"), np.array([20.5]))]).values.ravel().tolist()
    [0.0, 1.0, 1.0]
    """
    table = tabulate(streams, [column.feature for column in columns], max_silence)
    values = np.stack([column.sent(table.values[:, :, k]) for k, column in enumerate(columns)], axis=-1)
    episode = np.arange(streams.n_ticks) - (streams.lengths - table.lengths)[:, np.newaxis]
    placed = np.take_along_axis(values, np.clip(episode, 0, None)[:, :, np.newaxis], axis=1)
    placed[(episode < 0) | (episode >= table.lengths[:, np.newaxis])] = np.nan
    names = [column.name for column in columns]
    found = StreamSet(placed, streams.labels, names, streams.period, streams.names, streams.lengths)
    return found.grouped(streams.groups).starting(streams.starts)

"""Learns, from tables of features, neighbours that ask for more where a stream is unusual."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from streamfs.classifiers.lazy import LazyNeighbors
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers
from streamfs.errors import TrainingError
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors

MOST_INSTANCES = 1000
"""How many instances are stored at most: each tick of each stream is compared with all of them."""

NAMED: dict[str, dict[str, Any]] = {
    "qsfs1": {"thresholds": "deviation"},
    "qsfs2": {"thresholds": "learnt", "eta": 1 / MOST_INSTANCES},
}
"""Query-sensitive selection by name; with a larger eta so many instances drive thresholds to 0, or far away."""


@dataclass(frozen=True, eq=False)
class NeighborsLearner:
    """Learns from one row a stream and position.

    Parameters
    ----------
    model : QuerySensitiveNeighbors
        What learns; it is cloned. Rows of one stream are a group.
    positions : ndarray of int
        The ticks, counted from 1. Of more than a thousand rows as many are drawn.
    seed : int
        Seeds the draw.

    Notes
    -----
    Several of a row's nearest may be rows of one stream, which are much alike: their unanimity says less than that
    of as many streams would.
    """

    model: QuerySensitiveNeighbors
    positions: Integers
    seed: int = 0

    def __call__(self, table: FeatureTable) -> LazyNeighbors:
        """Learn from a table.

        Raises
        ------
        TrainingError
            If there are fewer rows than neighbours, or no feature is selected.
        """
        streams, ticks = table.sample_rows(self.positions, MOST_INSTANCES, self.seed)
        if len(streams) < self.model.n_neighbors:
            raise TrainingError(
                f"there are {len(streams)} instances, expected at least the {self.model.n_neighbors} neighbours "
                "that vote: record more streams, or lower the confidence"
            )
        values = table.values[streams, ticks - 1]
        known = np.where(np.isfinite(values), values, np.nan)
        lazy: LazyNeighbors = clone(self.model).fit(known, table.labels[streams], groups=streams).lazy_
        if not lazy.subset.any():
            raise TrainingError(
                f"the selector of the neighbours selects none of {', '.join(table.names)}, expected at least one "
                "feature: make it less strict, or offer other features"
            )
        return lazy


def named_neighbors(name: str, confidence: float, n_classes: int) -> QuerySensitiveNeighbors:
    """Query-sensitive selection by its name, with the fewest neighbours whose votes can reach a confidence.

    Examples
    --------
    >>> named_neighbors("qsfs1", 0.9, n_classes=2)
    QuerySensitiveNeighbors(laplace=True, n_neighbors=8)
    """
    n_neighbors = least_neighbors(confidence, n_classes)
    return QuerySensitiveNeighbors(n_neighbors=n_neighbors, laplace=True, **NAMED[name])


def least_neighbors(confidence: float, n_classes: int) -> int:
    """The fewest neighbours k whose unanimous votes reach a confidence: (k + 1) / (k + n_classes).

    Raises
    ------
    TrainingError
        If no number of neighbours is sure enough.

    Examples
    --------
    >>> least_neighbors(0.9, n_classes=2), least_neighbors(0.9, n_classes=3)
    (8, 17)
    """
    if confidence >= 1:
        raise TrainingError(f"confidence is {confidence:g}, expected less than 1: no neighbours are so sure")
    n_neighbors = max(1, int((confidence * n_classes - 1) / (1 - confidence)) - 1)
    while (n_neighbors + 1) / (n_neighbors + n_classes) < confidence:
        n_neighbors += 1
    return n_neighbors


def require_reach(model: QuerySensitiveNeighbors, confidence: float, n_classes: int) -> None:
    """Refuse neighbours whose votes cannot reach a confidence.

    Raises
    ------
    TrainingError
        Saying how many could.
    """
    k = model.n_neighbors
    if model.laplace and (k + 1) / (k + n_classes) < confidence:
        raise TrainingError(
            f"n_neighbors is {k}, whose votes among {n_classes} classes reach {(k + 1) / (k + n_classes):.3g}, "
            f"expected at least {least_neighbors(confidence, n_classes)} for a confidence of {confidence:g}"
        )

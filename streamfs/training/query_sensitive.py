"""Fit query-sensitive neighbours, which request further channels while a stream is unusual."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from feature_extractors.arrays import Integers
from streamfs.classifiers.lazy import LazyNeighbors
from streamfs.data.feature_table import FeatureTable
from streamfs.errors import TrainingError
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.training.learners import refuse_weights

MOST_INSTANCES = 1000
"""Most instances that are stored: each tick of each stream is compared with all of them."""

NAMED: dict[str, dict[str, Any]] = {
    "qsfs1": {"thresholds": "deviation"},
    "qsfs2": {"thresholds": "fitted", "eta": 1 / MOST_INSTANCES},
}
"""Query-sensitive selection by name; with a larger eta thresholds go to 0 or diverge, as instances are many."""


@dataclass(frozen=True, eq=False)
class NeighborsLearner:
    """Fits neighbours to one row per stream and position; rows of one stream are a group.

    `positions` are ticks, counted from 1. If there are more than `MOST_INSTANCES` rows, that many are drawn. A
    unanimous vote of rows of one stream says less than one of as many streams would.
    """

    model: QuerySensitiveNeighbors
    positions: Integers
    seed: int = 0

    def __call__(self, table: FeatureTable) -> LazyNeighbors:
        """Fit neighbours to a table."""
        refuse_weights(table, self.model)
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
    """Return query-sensitive neighbours by name, as few as can reach a confidence."""
    n_neighbors = least_unanimous(confidence, n_classes)
    return QuerySensitiveNeighbors(n_neighbors=n_neighbors, laplace=True, **NAMED[name])


def least_unanimous(confidence: float, n_classes: int) -> int:
    """Return the fewest neighbours, or streams of a leaf, k for whom (k + 1) / (k + n_classes) is a confidence."""
    if confidence >= 1:
        raise TrainingError(
            f"confidence is {confidence:g}, expected less than 1, which no number of neighbours reaches"
        )
    n_neighbors = max(1, int((confidence * n_classes - 1) / (1 - confidence)) - 1)
    while (n_neighbors + 1) / (n_neighbors + n_classes) < confidence:
        n_neighbors += 1
    return n_neighbors


def require_reach(model: QuerySensitiveNeighbors, confidence: float, n_classes: int) -> None:
    """Refuse neighbours whose votes cannot reach a confidence."""
    k = model.n_neighbors
    if model.laplace and (k + 1) / (k + n_classes) < confidence:
        raise TrainingError(
            f"n_neighbors is {k}, whose votes among {n_classes} classes reach {(k + 1) / (k + n_classes):.3g}, "
            f"expected at least {least_unanimous(confidence, n_classes)} for a confidence of {confidence:g}"
        )

"""What learns a classifier from a table of features: streams, not rows, count."""

from typing import TYPE_CHECKING

import numpy as np

from streamfs.classifiers.c45 import C45Classifier
from streamfs.classifiers.extra_trees import ExtraTreesClassifier
from streamfs.data.feature_table import FeatureTable
from streamfs.procedure.procedure import Classifier
from streamfs.relief import position_grid
from streamfs.training.subset_size import Learn

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

FOREST = "extra-trees"

LEARNERS = (FOREST, "c45")
"""What may keep a promise, by name."""

FOREST_TICKS = 16
"""Ticks of a stream that a forest learns from at most, denser at the beginning, where most decisions are made."""

N_CANDIDATES = 16
"""Features that a node of a forest tries at most."""

N_TREES = 20
"""Trees of a forest."""


def tree_learner(min_leaf: float, time_limit: int) -> Learn:
    """Learn C4.5 trees from one row a stream and tick, weighed by 1 / ticks of its stream."""

    def learn(table: FeatureTable) -> Classifier:
        values, labels, streams = table.instances(time_limit)
        weights = 1.0 / np.minimum(table.lengths, time_limit)[streams]
        return C45Classifier(min_leaf=min_leaf).fit(values, labels, sample_weight=weights).tree_

    return learn


def forest_learner(min_leaf: float, time_limit: int, seed: int, n_trees: int = N_TREES) -> Learn:
    """Learn extra trees from some ticks of each stream, weighed by one over their number."""

    def learn(table: FeatureTable) -> Classifier:
        return grown_forest(table, min_leaf, time_limit, seed, n_trees).forest_

    return learn


def grown_forest(
    table: FeatureTable, min_leaf: float, time_limit: int, seed: int, n_trees: int
) -> ExtraTreesClassifier:
    """Grow a forest on `FOREST_TICKS` ticks of each stream."""
    streams, ticks = table.rows(position_grid(min(table.n_ticks, time_limit), FOREST_TICKS, "geometric"))
    weights = 1.0 / np.bincount(streams)[streams]
    forest = ExtraTreesClassifier(n_trees, min_leaf, N_CANDIDATES, random_state=seed)
    return forest.fit(table.values[streams, ticks - 1], table.labels[streams], sample_weight=weights)


def river_learner(model: "RiverClassifier", time_limit: int) -> Learn:
    """Teach a River classifier every row."""
    from streamfs.classifiers.online import OnlineClassifier  # noqa: PLC0415 - River is slow to import

    def learn(table: FeatureTable) -> Classifier:
        values, labels, _ = table.instances(time_limit)
        classes = [str(c) for c in np.unique(labels)]
        return OnlineClassifier(model, table.names, classes).learn(values, labels.tolist())

    return learn

"""Blends: forests averaged with linear scores of segments of a stream."""

from typing import TYPE_CHECKING, cast

import numpy as np

from streamfs.classifiers.blended_forest import BlendedForest
from streamfs.classifiers.classifier import Classifier
from streamfs.classifiers.linear_scores import LinearScores
from streamfs.classifiers.ridge import Ridge, fit_ridge
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers
from streamfs.relief import position_grid
from streamfs.training.channel_choice import clock_of
from streamfs.training.cross_validation import Learn
from streamfs.training.learners import some_of

if TYPE_CHECKING:
    from streamfs.classifiers.forest import Forest

N_SEGMENTS = 8
"""Most segments of a stream, shorter at the beginning."""

FEWEST_OF_A_CLASS = 2
"""Fewest streams of each class that scores are fitted to."""


def blend_learner(learn: Learn, points: Integers) -> Learn:
    """Fit a forest by a function, and linear scores on the features that it tests, at ticks of `points`."""

    def learn_both(table: FeatureTable) -> Classifier:
        forest = cast("Forest", learn(table))
        linear = linear_scores(table, points, forest.features_tested())
        return forest if linear is None else BlendedForest.of(forest, linear)

    return learn_both


def linear_scores(table: FeatureTable, points: Integers, read: tuple[int, ...]) -> LinearScores | None:
    """Fit linear scores on some features, a segment of the ticks `points` after the other.

    None if no feature is read, or some class has too few streams in all segments.
    """
    features, clock, found = np.array(read, dtype=np.int64), clock_of(table.features), dict[float, Ridge]()
    for ticks in _segments(some_of(points), clock):
        ridge = _fit(table, ticks, features)
        if ridge is not None:
            found.setdefault(float(np.nanmin(table.values[:, ticks[0] - 1, clock])) if clock >= 0 else 0.0, ridge)
    if not found or not len(features):
        return None
    means, offsets, factors = (np.stack(each) for each in zip(*found.values(), strict=True))
    values = table.values[:, points - 1][:, :, features]
    lowest, highest = np.nanmin(values, axis=(0, 1)), np.nanmax(values, axis=(0, 1))
    clock = clock if len(found) > 1 else -1
    return LinearScores(clock, np.array([*found]), features, lowest, highest, offsets, means, factors)


def _segments(points: Integers, clock: int) -> list[Integers]:
    """Divide ticks into segments; there is one if nothing counts samples."""
    if clock < 0:
        return [points]
    return np.split(points, position_grid(len(points), N_SEGMENTS, "geometric")[:-1])


def _fit(table: FeatureTable, ticks: Integers, features: Integers) -> Ridge | None:
    """Fit scores to the rows at some ticks, those of a stream together; None if some class has too few streams."""
    classes = np.unique(table.labels[table.lengths > 0])
    rows = np.flatnonzero(table.lengths >= ticks[0])
    labels = np.searchsorted(classes, table.labels[rows])
    if np.bincount(labels, minlength=len(classes)).min() < FEWEST_OF_A_CLASS:
        return None
    is_there = ticks <= table.lengths[rows, np.newaxis]
    counts = np.ones(len(rows)) if table.weights is None else table.weights[rows]
    weights = is_there * (counts / is_there.sum(axis=1))[:, np.newaxis]
    return fit_ridge(table.values[np.ix_(rows, ticks - 1, features)], labels, weights, len(classes))

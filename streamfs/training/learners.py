"""Functions that fit a classifier to a table of features; streams, not rows, count."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple, cast

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature, channels_of
from streamfs.classifiers.boosting import BoostingClassifier
from streamfs.classifiers.c45 import C45Classifier
from streamfs.classifiers.classifier import Classifier
from streamfs.classifiers.estimator import EstimatorClassifier
from streamfs.classifiers.extra_trees import ExtraTreesClassifier
from streamfs.classifiers.forest import Forest
from streamfs.data.clock import clock_of
from streamfs.data.feature_table import FeatureTable, tabulate
from streamfs.data.stream_arrays import Labels
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError
from streamfs.relief import position_grid
from streamfs.training.cross_validation import Learn

Rows = Callable[[FeatureTable], tuple[Array, Labels, Array]]
"""Which rows of a table are fitted to: their values, labels and weights, early ticks of all streams first."""

FOREST = "extra-trees"

BOOSTING = "boosting"

LEARNERS = (FOREST, "c45", BOOSTING)
"""Models with which a promise can be kept, by name; by default the best of them."""

FOREST_TICKS = 16
"""Most ticks of a stream that a forest is fitted on, denser at the beginning, where most decisions are made."""

N_CANDIDATES = 16
"""Most features that a node of a forest tries."""

N_TREES = 40
"""Trees of a forest with which a promise is kept."""

SMALL_LEAF = 0.1
"""Streams in a leaf of a forest whose confidence is calibrated afterwards."""

N_SMALL_TREES = 60
"""Trees of a forest with small leaves."""

MOST_SCOUTS, FEWEST_SCOUTS, SCOUTS_BY_STREAMS = 40, 20, 8000
"""Trees of a forest that is only compared with others.

The most; the fewest; and what is divided by the number of streams for the numbers in between.
"""

MOST_POSITIONS = 24
"""Most ticks of a stream that a forest with small leaves is fitted on."""


def tree_learner(min_leaf: float, time_limit: int, most_rows: int | None = None) -> Learn:
    """Fit C4.5 trees to one row per stream and tick, weighted by one over the rows of its stream."""

    def learn(table: FeatureTable) -> Classifier:
        rows = rows_in_turns(table, np.arange(1, min(table.n_ticks, time_limit) + 1), most_rows)
        return C45Classifier(min_leaf=min_leaf).fit(*rows).tree_

    return learn


def forest_learner(
    min_leaf: float, time_limit: int, seed: int, n_trees: int = N_TREES, most_rows: int | None = None
) -> Learn:
    """Fit extra trees to some ticks of each stream, weighted by one over their number."""

    def learn(table: FeatureTable) -> Classifier:
        return grown_forest(table, min_leaf, time_limit, seed, n_trees, most_rows).forest_

    return learn


def both_learner(learn: Learn, features: Collection[Feature]) -> Learn:
    """Fit a forest to some features of a table, and one to all; their trees have one vote each."""

    def learn_both(table: FeatureTable) -> Classifier:
        places = [place for place, feature in enumerate(table.features) if feature in features]
        some, every = cast("Forest", learn(table.with_features(places))), cast("Forest", learn(table))
        return Forest.together([some.placed(places), every])

    return learn_both


def boosting_learner(time_limit: int, seed: int) -> Learn:
    """Fit gradient boosting to the rows of a forest."""

    def learn(table: FeatureTable) -> Classifier:
        return BoostingClassifier(random_state=seed).fit(*forest_rows(table, time_limit)).boosted_

    return learn


def since(learn: Learn, start: int, time_limit: int) -> Learn:
    """Fit to the ticks from `start` up to the time limit alone, since nothing is decided before."""
    if start == 1:
        return learn

    def learn_late(table: FeatureTable) -> Classifier:
        lengths = np.clip(table.lengths - start + 1, 0, None)
        return learn(replace(table, values=table.values[:, start - 1 : time_limit], lengths=lengths))

    return learn_late


def n_scouts(n_streams: int) -> int:
    """Return how many trees a forest has that is only compared with others: more if streams are few."""
    return min(MOST_SCOUTS, max(FEWEST_SCOUTS, SCOUTS_BY_STREAMS // n_streams))


def small_leaf_learner(
    points: Integers, seed: int, n_trees: int = N_SMALL_TREES, *, by_clock: bool = False
) -> Learn:
    """Fit extra trees with small leaves to the ticks at which streams may be decided."""

    def learn(table: FeatureTable) -> Classifier:
        return with_doubt(small_leaf_forest(table, points, seed, n_trees, by_clock=by_clock).forest_)

    return learn


def with_doubt(forest: Forest) -> Forest:
    """Return a forest with one more tree, for which all classes are equally likely: it is never certain."""
    n_trees, n_classes = forest.n_trees, forest.n_classes
    return replace(forest, shares=(n_trees * forest.shares + 1.0 / n_classes) / (n_trees + 1))


def small_leaf_forest(
    table: FeatureTable, points: Integers, seed: int, n_trees: int, *, by_clock: bool = False
) -> ExtraTreesClassifier:
    """Grow a forest with small leaves on ticks of each stream, weighted by one over their number.

    By the clock, its trees cut the count of samples first, where that is among the features.
    """
    values, labels, weights = rows_at(table, points)
    clock = clock_of(table.features) if by_clock else -1
    forest = ExtraTreesClassifier(n_trees, SMALL_LEAF, N_CANDIDATES, clock=clock, laplace=False, random_state=seed)
    return forest.fit_rows(values, labels, weights)


def rows_at(table: FeatureTable, points: Integers) -> tuple[Array, Labels, Array]:
    """Return rows at some of the ticks `points`, their labels, and weights: one over a stream's rows."""
    if len(points) > MOST_POSITIONS:
        grids = [position_grid(len(points), MOST_POSITIONS // 2, spacing) for spacing in ("geometric", "even")]
        points = points[np.unique(np.concatenate(grids)) - 1]
    streams, ticks = table.rows(points)
    return table.values[streams, ticks - 1], table.labels[streams], table.row_weights(streams)


def grown_forest(
    table: FeatureTable, min_leaf: float, time_limit: int, seed: int, n_trees: int, most_rows: int | None = None
) -> ExtraTreesClassifier:
    """Grow a forest on at most `FOREST_TICKS` ticks of each stream, and on about `most_rows` rows in all."""
    forest = ExtraTreesClassifier(n_trees, min_leaf, N_CANDIDATES, random_state=seed)
    return forest.fit_rows(*forest_rows(table, time_limit, most_rows))


def forest_rows(table: FeatureTable, time_limit: int, most_rows: int | None = None) -> tuple[Array, Labels, Array]:
    """Return rows at some ticks of each stream, denser at the beginning, as `rows_in_turns` does."""
    ticks = position_grid(min(table.n_ticks, time_limit), FOREST_TICKS, "geometric")
    return rows_in_turns(table, ticks, most_rows)


def rows_in_turns(table: FeatureTable, grid: Integers, most: int | None) -> tuple[Array, Labels, Array]:
    """Return rows at ticks of each stream, their labels, and weights: one over a stream's rows.

    If there are more than about `most`, streams take turns: each has every second tick, or every third and so on,
    so that all streams and all ticks are among the rows.
    """
    streams, ticks = table.rows(grid)
    if most is not None and len(streams) > most:
        turn = (np.searchsorted(grid, ticks) + streams) % ceil(len(streams) / most) == 0
        streams, ticks = streams[turn], ticks[turn]
    return table.values[streams, ticks - 1], table.labels[streams], table.row_weights(streams)


def model_learner(model: Any, rows: Rows) -> Learn:
    """Fit a classifier of River, or one with the methods of a `ProbabilisticModel`, to rows of a table."""
    if EstimatorClassifier.is_model(model):

        def learn(table: FeatureTable) -> Classifier:
            values, labels, weights = rows(table)
            fitted = EstimatorClassifier(model, table.names, _classes(labels))
            if not fitted.takes_weights:
                refuse_weights(table, model)
            return fitted.learn(values, labels.tolist(), weights)

        return learn
    from streamfs.classifiers.online import OnlineClassifier  # noqa: PLC0415 - River is slow to import

    OnlineClassifier.require(model)

    def learn_in_order(table: FeatureTable) -> Classifier:
        refuse_weights(table, model)
        values, labels, _ = rows(table)
        return OnlineClassifier(model, table.names, _classes(labels)).learn(values, labels.tolist())

    return learn_in_order


def refuse_weights(table: FeatureTable, model: object) -> None:
    """Refuse streams that have weights, of which a model knows nothing."""
    if table.weights is not None:
        raise ValueError(
            f"streams have weights, but classifier is a {type(model).__name__}, which is fitted without"
        )


def uncalibrated_learner(learn: Learn) -> Learn:
    """Fit by a function, without a calibration of its own: training calibrates what is fitted."""

    def learn_uncalibrated(table: FeatureTable) -> Classifier:
        fitted = learn(table)
        if not isinstance(fitted, Classifier):
            raise TypeError(f"classifier returned {fitted!r}, expected a Classifier of the table that it is given")
        return fitted.uncalibrated()

    return learn_uncalibrated


def _classes(labels: Labels) -> list[str]:
    return [str(label) for label in np.unique(labels)]


class FittedFeatures(NamedTuple):
    """The indices of the features that a classifier reads, it, and the table that it was fitted to."""

    chosen: list[int]
    classifier: Classifier
    table: FeatureTable


def fit_until_all_tested(
    learn: Learn,
    streams: StreamSet,
    features: Sequence[Feature],
    max_silence: float | None,
    kept: int = -1,
    ticks: Integers | None = None,
    table: FeatureTable | None = None,
) -> FittedFeatures:
    """Fit a classifier until it tests every feature that it reads.

    The feature `kept` stays, tested or not. The table is that of some `ticks`, by default of all; it is computed,
    unless it is given. Without a feature its channel may not be needed, and an episode may open earlier; then the
    table is computed again. If all are needed, a forest is not fitted again.
    """
    chosen = list(range(len(features)))
    if table is None:
        table = tabulate(streams, features, max_silence, ticks)
    while True:
        classifier = learn(table)
        tested = classifier.features_tested()
        if not tested:
            raise TrainingError(
                f"no feature of {len(chosen)}, such as {features[chosen[0]].name}, tells the classes apart on "
                f"{len(streams)} streams: record more, or offer other features"
            )
        still = [place for place, index in enumerate(chosen) if place in tested or index == kept]
        if len(still) == len(chosen):
            return FittedFeatures(chosen, classifier, table)
        chosen, fewer = [chosen[place] for place in still], table.with_features(still)
        if set(channels_of(fewer.features)) < set(channels_of(table.features)):
            fewer = tabulate(streams, fewer.features, max_silence, ticks)
        elif found := classifier.reading(still):
            return FittedFeatures(chosen, found, fewer)
        table = fewer

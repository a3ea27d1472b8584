"""How many of the ranked features to offer a classifier: chosen by its decisions on held-out streams."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.costs import Costs
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation import Progress
from streamfs.procedure import Classifier
from streamfs.streams import Integers
from streamfs.tables import FeatureTable

TOLERANCE = 0.02
"""How much accuracy and completeness may stay behind the best for the sake of cost."""

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Trainer:
    """What stays the same while tables, folds and numbers of features change.

    Parameters
    ----------
    costs : Costs
        Of all the features.
    confidence : float
        Threshold.
    time_limit : int
        Ticks.
    select : callable or None
        From costs to an unfitted selector with `fit` and `ranking_`; None keeps all features in order.
    make : callable
        From a table of the chosen features to a classifier.
    """

    costs: Costs
    confidence: float
    time_limit: int
    select: Callable[[Costs], Any] | None
    make: Callable[[FeatureTable, int], Classifier]

    def __post_init__(self) -> None:
        if not 0 < self.confidence <= 1:
            raise ValueError(f"confidence is {self.confidence}, expected more than 0 and at most 1")

    def rank(self, table: FeatureTable) -> tuple[Integers, int]:
        """Indices of the features, best first, and how many of them may be offered: the relevant ones, if any."""
        n_features = len(table.features)
        if self.select is None:
            return np.arange(n_features), n_features
        selector = self.select(self.costs).fit(table)
        n_relevant = int(getattr(selector, "relevant_", np.zeros(0)).sum())
        return selector.ranking_, n_relevant or n_features

    def choose_size(self, table: FeatureTable, ranking: Integers, seed: int, progress: Progress) -> int:
        """The number of features whose out-of-fold cost is least, among those about as good as the best.

        The ranking is that of all streams, so that a number of features means the same ones in every fold; only
        the classifiers are learnt without the streams that they are judged on.

        Raises
        ------
        TrainingError
            If no number of features gives any stream a label.
        """
        folds = stratified_folds(table.labels, N_FOLDS, seed)
        sizes = sizes_to_try(len(ranking))
        n_folds = int(folds.max()) + 1
        figures = np.zeros((len(sizes), 3))
        for fold in range(n_folds):
            learning, testing = (table.take(np.flatnonzero(part)) for part in (folds != fold, folds == fold))
            for index, size in enumerate(sizes):
                figures[index] += self._judge(learning, testing, ranking[:size])
                progress("choosing how many features", fold * len(sizes) + index + 1, n_folds * len(sizes))
        n_labelled, n_right, cost = figures.T
        if not n_labelled.any():
            raise TrainingError(
                f"no number of features gives any held-out stream a label at confidence {self.confidence:g}: "
                "lower the confidence, record more streams, or offer other features"
            )
        completeness = n_labelled / len(folds)
        accuracy = np.divide(n_right, n_labelled, out=np.zeros(len(sizes)), where=n_labelled > 0)
        return int(sizes[cheapest_good(completeness, accuracy, cost)])

    def _judge(self, learning: FeatureTable, testing: FeatureTable, chosen: Integers) -> Array:
        """Labelled streams, rightly labelled ones and summed cost of the features `chosen` on a fold."""
        classifier = self.make(some_features(learning, chosen), self.time_limit)
        classes = np.unique(learning.labels)
        tested = list(classifier.features_tested())
        costs = self.costs.take(chosen[tested])
        found, ticks = decide(classifier, some_features(testing, chosen), self.confidence, self.time_limit)
        labelled = found >= 0
        right = labelled & (classes[found] == testing.labels)
        return np.array([labelled.sum(), right.sum(), sum(costs.classification(t) for t in ticks)])


def decide(
    classifier: Classifier, table: FeatureTable, confidence: float, time_limit: int
) -> tuple[Integers, Integers]:
    """Decide the streams of a table: an engine's decisions, without the engine.

    Returns
    -------
    classes : ndarray of shape (n_streams,)
        Index of the class that is sure first; -1 where none is in time.
    ticks : ndarray of shape (n_streams,)
        Ticks spent.
    """
    n_streams, n_ticks, n_features = table.values.shape
    n_ticks = min(n_ticks, time_limit)
    rows = np.ascontiguousarray(table.values[:, :n_ticks]).reshape(n_streams * n_ticks, n_features)
    probabilities = classifier.probabilities(rows).reshape(n_streams, n_ticks, -1)
    inside = np.arange(n_ticks) < table.lengths[:, np.newaxis]
    sure = inside & (probabilities.max(axis=2) >= confidence)
    first = sure.argmax(axis=1)
    labelled = sure.any(axis=1)
    best = probabilities[np.arange(n_streams), first].argmax(axis=1)
    return np.where(labelled, best, -1), np.where(labelled, first + 1, np.minimum(table.lengths, n_ticks))


def cheapest_good(completeness: Array, accuracy: Array, cost: Array) -> int:
    """Index of the least cost among those within 0.02 of the best accuracy and completeness.

    Where none is within both, the one whose larger shortfall is least.
    """
    shortfall = np.maximum(completeness.max() - completeness, accuracy.max() - accuracy)
    good = shortfall <= max(TOLERANCE, shortfall.min()) + 1e-12
    return int(np.where(good, cost, np.inf).argmin())


def sizes_to_try(n_features: int) -> Integers:
    """Numbers of features to compare: each up to 12, then a third more each time, and all.

    Examples
    --------
    >>> sizes_to_try(40).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 21, 28, 37, 40]
    """
    sizes = [1]
    while sizes[-1] < n_features:
        sizes.append(min(n_features, sizes[-1] + 1 if sizes[-1] < 12 else sizes[-1] * 4 // 3))
    return np.array(sizes)


def stratified_folds(labels: npt.ArrayLike, n_folds: int, seed: int) -> Integers:
    """The fold of each stream, every class spread evenly.

    Raises
    ------
    DataError
        If a class has fewer than four streams, too few to learn from some and test on others.
    """
    labels = np.asarray(labels)
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < 4:
        label = str(classes[counts.argmin()])
        raise DataError(
            f"class {label!r} has only {counts.min()} streams, expected at least 4 to choose the number of "
            "features; give the number (n_features) or record more"
        )
    rng = np.random.default_rng(seed)
    folds = np.empty(len(labels), dtype=np.int64)
    for label in classes:
        members = rng.permutation(np.flatnonzero(labels == label))
        folds[members] = np.arange(len(members)) % min(n_folds, int(counts.min()) // 2)
    return folds


def some_features(table: FeatureTable, chosen: Sequence[int] | Integers) -> FeatureTable:
    """The table of some of the features."""
    features = tuple(table.features[i] for i in chosen)
    return FeatureTable(table.values[:, :, chosen], table.labels, features, table.lengths, table.period)

"""How many of the ranked features to offer a classifier: chosen by its decisions on held-out streams."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.base.progress import Progress
from streamfs.classifiers.classifier import Classifier
from streamfs.costs.costs import Costs
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers, Labels
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation.trajectories import Trajectories

TOLERANCE = 0.02
"""How much accuracy and completeness may stay behind the best for the sake of cost."""

N_FOLDS = 5

Learn = Callable[[FeatureTable], Classifier]
"""Learns a classifier from a table."""


class Fold(NamedTuple):
    """What a classifier that was learnt without some streams says of them."""

    trajectories: Trajectories
    classes: Labels
    labels: Labels
    costs: Costs

    def judge(self, confidence: float) -> Array:
        """Labelled streams, rightly labelled ones, and summed cost of the features that the classifier tests."""
        found, ticks = self.trajectories.decide(confidence)
        labelled = found >= 0
        right = labelled & (self.classes[found] == self.labels)
        return np.array([labelled.sum(), right.sum(), sum(self.trajectories.spent(self.costs, ticks))])


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Classifiers on any features of a table, each learnt without the streams that it is judged on.

    Parameters
    ----------
    table : FeatureTable
        Of the training streams.
    costs : Costs
        Of its features.
    learn : callable
        From a table of some of the features to a classifier.
    time_limit : int
        Ticks.
    seed : int
        Seeds the folds.

    Notes
    -----
    The classifiers of a choice of features are learnt once, and then serve every confidence threshold.
    """

    table: FeatureTable
    costs: Costs
    learn: Learn
    time_limit: int
    seed: int = 0
    _known: dict[tuple[int, ...], list[Fold]] = field(default_factory=dict, init=False)

    def judge(self, chosen: Sequence[int] | Integers, confidence: float) -> Array:
        """Labelled streams, rightly labelled ones and summed cost of all held-out streams, with some features."""
        key = tuple(int(feature) for feature in chosen)
        if key not in self._known:
            self._known[key] = self._learn(key)
        return np.asarray(np.sum([fold.judge(confidence) for fold in self._known[key]], axis=0))

    def _learn(self, chosen: tuple[int, ...]) -> list[Fold]:
        folds = stratified_folds(self.table.labels, N_FOLDS, self.seed)
        table = self.table.with_features(chosen)
        learnt = []
        for fold in range(int(folds.max()) + 1):
            learning, testing = (table.take(np.flatnonzero(part)) for part in (folds != fold, folds == fold))
            classifier = self.learn(learning)
            tested = [chosen[i] for i in classifier.features_tested()]
            trajectories = Trajectories.of(classifier, testing, self.time_limit)
            classes = np.unique(learning.labels[learning.lengths > 0])
            learnt.append(Fold(trajectories, classes, testing.labels, self.costs.take(tested)))
        return learnt


def choose_size(
    validation: CrossValidation, ranking: Integers, confidence: float, progress: Progress | None = None
) -> int:
    """Choose how many features to offer: the number with the least cost among those about as good as the best.

    The ranking is that of all streams, so that a number of features means the same ones in every fold; only the
    classifiers are learnt without the streams that they are judged on.

    Parameters
    ----------
    validation : CrossValidation
        Of the training streams.
    ranking : ndarray of int
        Features, best first.
    confidence : float
        Threshold.
    progress : callable, optional
        Told of the steps.

    Raises
    ------
    TrainingError
        If no number of features gives any stream a label.
    """
    sizes = sizes_to_try(len(ranking))
    figures = np.zeros((len(sizes), 3))
    if progress is not None:
        progress("choosing how many features", 0, len(sizes))
    for index, size in enumerate(sizes):
        figures[index] = validation.judge(ranking[:size], confidence)
        if progress is not None:
            progress("choosing how many features", index + 1, len(sizes))
    n_labelled, n_right, cost = figures.T
    if not n_labelled.any():
        raise TrainingError(
            f"no number of features gives any held-out stream a label at confidence {confidence:g}: "
            "lower the confidence, record more streams, or offer other features"
        )
    completeness = n_labelled / len(validation.table.labels)
    accuracy = np.divide(n_right, n_labelled, out=np.zeros(len(sizes)), where=n_labelled > 0)
    return int(sizes[cheapest_good(completeness, accuracy, cost)])


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
            f"class {label!r} has only {counts.min()} streams to learn from, expected at least 4 to choose the "
            "number of features; give their number or record more"
        )
    rng = np.random.default_rng(seed)
    folds = np.empty(len(labels), dtype=np.int64)
    for label in classes:
        members = rng.permutation(np.flatnonzero(labels == label))
        folds[members] = np.arange(len(members)) % min(n_folds, int(counts.min()) // 2)
    return folds

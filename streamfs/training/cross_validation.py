"""Cross-validation over streams."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from feature_extractors.arrays import Integers
from streamfs.classifiers.classifier import Classifier
from streamfs.classifiers.crossings import levels_of
from streamfs.costs.spending import Levels
from streamfs.data.feature_table import FeatureTable
from streamfs.data.stream_arrays import Labels
from streamfs.errors import DataError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.selection.folds import Fold

N_FOLDS = 5

Learn = Callable[[FeatureTable], Classifier]
"""Fits a classifier to a table."""


class HeldOutStreams(NamedTuple):
    """The test streams of a fold, classified by a classifier that was fitted without them.

    `rows` are the streams' rows in the table, `truth` their classes' indices (-1 if unknown to the classifier),
    and `tested` the features of the table that the classifier tests, at the thresholds `levels`, if asked for.
    """

    rows: Integers
    trajectories: Trajectories
    truth: Integers
    tested: tuple[int, ...]
    levels: Levels | None


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Classifiers on any features of a table, each fitted without the streams that it is tested on.

    Test streams are classified at `ticks`, counted from 1, by default all. If it `counts_levels`, the thresholds
    of the classifiers are returned, too. The result does not depend on `n_jobs`.
    """

    table: FeatureTable
    folds: Sequence[Fold]
    learn: Learn
    time_limit: int
    ticks: Integers | None = None
    n_jobs: int = 1
    counts_levels: bool = False

    def run(self, chosen: Sequence[int]) -> list[HeldOutStreams]:
        """Fit classifiers on the chosen features, fold by fold."""
        run_fold = partial(self._run_fold, self.table.with_features(chosen), chosen)
        n_threads = effective_n_jobs(self.n_jobs)
        if n_threads == 1:
            return [run_fold(fold) for fold in self.folds]
        with ThreadPoolExecutor(n_threads) as threads:
            return list(threads.map(run_fold, self.folds))

    def _run_fold(self, table: FeatureTable, chosen: Sequence[int], fold: Fold) -> HeldOutStreams:
        train, test = table.take(fold.training), self._at_ticks(table, fold.test)
        classifier = self.learn(train)
        tested = {place: table.features[place] for place in classifier.features_tested()}
        return HeldOutStreams(
            fold.test,
            Trajectories.of(classifier, test, self.time_limit),
            class_indices(test, np.unique(train.labels[train.lengths > 0])),
            tuple(chosen[place] for place in tested),
            levels_of(classifier, tested) if self.counts_levels else None,
        )

    def _at_ticks(self, table: FeatureTable, streams: Integers) -> FeatureTable:
        """Return the table of some of the streams at the ticks, without a copy of the other ticks."""
        if self.ticks is None:
            return table.take(streams)
        lengths = np.searchsorted(self.ticks, table.lengths, side="right")
        few = replace(table, values=table.values[np.ix_(streams, self.ticks - 1)], labels=table.labels[streams])
        return replace(few, lengths=lengths[streams])


def class_indices(table: FeatureTable, classes: Labels) -> Integers:
    """Return the index of each stream's class among sorted classes; -1 if it is not one of them."""
    place = np.minimum(np.searchsorted(classes, table.labels), len(classes) - 1)
    return np.where(classes[place] == table.labels, place, -1)


def stratified_folds(labels: npt.ArrayLike, n_folds: int, seed: int) -> tuple[Fold, ...]:
    """Divide streams into folds, every class spread evenly; refuse a class of fewer than four streams."""
    labels = np.asarray(labels)
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < 4:
        label = str(classes[counts.argmin()])
        raise DataError(
            f"class {label!r} has only {counts.min()} streams to train on, expected at least 4 to choose the "
            "number of features; give their number or record more"
        )
    rng = np.random.default_rng(seed)
    fold = np.empty(len(labels), dtype=np.int64)
    for label in classes:
        members = rng.permutation(np.flatnonzero(labels == label))
        fold[members] = np.arange(len(members)) % min(n_folds, int(counts.min()) // 2)
    return tuple(Fold(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(int(fold.max()) + 1))

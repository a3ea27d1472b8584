"""Cross-validation: streams classified by what was fitted without them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from streamfs.classifiers.classifier import Classifier
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers, Labels
from streamfs.errors import DataError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.selection.folds import Fold

N_FOLDS = 5

Learn = Callable[[FeatureTable], Classifier]
"""Fits a classifier to a table."""


class HeldOutStreams(NamedTuple):
    """The test streams of a fold, and what a classifier that was fitted without them makes of them.

    Parameters
    ----------
    rows : ndarray of int
        The streams' rows in the table.
    trajectories : Trajectories
        What the classifier says at every tick.
    truth : ndarray of int
        The index of each stream's class; -1 if the classifier does not know it.
    tested : tuple of int
        Features of the table that the classifier tests.
    """

    rows: Integers
    trajectories: Trajectories
    truth: Integers
    tested: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Classifiers on any features of a table, each fitted without the streams that it is tested on.

    Parameters
    ----------
    table : FeatureTable
        Of the training streams.
    folds : sequence of Fold
        Rows to train and to test on.
    learn : callable
        Fits a classifier to a table of some of the features.
    time_limit : int
        Ticks.
    ticks : ndarray of int, optional
        Ticks, counted from 1, at which test streams are classified; by default all.
    n_jobs : int
        Folds fitted at once; the result is the same for any number.
    """

    table: FeatureTable
    folds: Sequence[Fold]
    learn: Learn
    time_limit: int
    ticks: Integers | None = None
    n_jobs: int = 1

    def run(self, chosen: Sequence[int]) -> list[HeldOutStreams]:
        """Fit some of the features, fold by fold."""
        table = self.table.with_features(chosen)
        jobs = (delayed(self._run_fold)(table, chosen, fold) for fold in self.folds)
        return list(Parallel(self.n_jobs, prefer="threads")(jobs))

    def _run_fold(self, table: FeatureTable, chosen: Sequence[int], fold: Fold) -> HeldOutStreams:
        train, test = table.take(fold.training), table.take(fold.test)
        if self.ticks is not None:
            lengths = np.searchsorted(self.ticks, test.lengths, side="right")
            test = replace(test, values=test.values[:, self.ticks - 1], lengths=lengths)
        classifier = self.learn(train)
        return HeldOutStreams(
            fold.test,
            Trajectories.of(classifier, test, self.time_limit),
            class_indices(test, np.unique(train.labels[train.lengths > 0])),
            tuple(chosen[i] for i in classifier.features_tested()),
        )


def class_indices(table: FeatureTable, classes: Labels) -> Integers:
    """Return the index of each stream's class among sorted classes; -1 if it is not one of them."""
    place = np.minimum(np.searchsorted(classes, table.labels), len(classes) - 1)
    return np.where(classes[place] == table.labels, place, -1)


def stratified_folds(labels: npt.ArrayLike, n_folds: int, seed: int) -> tuple[Fold, ...]:
    """Divide streams into folds, every class spread evenly.

    Raises
    ------
    DataError
        If a class has fewer than four streams, too few to train on some and test on others.
    """
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

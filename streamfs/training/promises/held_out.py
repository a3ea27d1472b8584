"""What subsets of features come to on streams that their classifiers have not seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from feature_extractors.base import Array
from streamfs.costs.spending import Spending
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers
from streamfs.evaluation.trajectories import Trajectories, is_record
from streamfs.relief import position_grid
from streamfs.selection.folds import Fold, make_folds
from streamfs.training.promises.curve import Curve
from streamfs.training.subset_size import Learn

N_FOLDS = 5


class Records(NamedTuple):
    """The ticks at which streams are surer than ever before: those at which they may be decided.

    Parameters
    ----------
    confidence : ndarray of shape (n_records,)
        Of the likeliest class.
    is_right : ndarray of bool of shape (n_records,)
        Whether it is the stream's.
    weights : ndarray of shape (n_records,)
        Those of a stream sum to 1.
    """

    confidence: Array
    is_right: np.ndarray
    weights: Array


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Streams cut into folds, each classified by what was learnt from the others.

    Parameters
    ----------
    table : FeatureTable
        Of all features that may be chosen.
    spending : Spending
        What the streams cost.
    learn : callable
        From a table of some of the features to a classifier.
    time_limit : int
        Ticks.
    groups : ndarray of shape (n_streams,), optional
        Streams of one group are never on both sides of a fold.
    seed : int
        Seeds the folds.
    n_jobs : int
        Folds learnt at once; the result is the same for any number.
    most_ticks : int, optional
        At how many ticks, denser at the beginning, held-out streams are classified at most; by default at all.
    """

    table: FeatureTable
    spending: Spending
    learn: Learn
    time_limit: int
    groups: np.ndarray | None = None
    seed: int = 0
    n_jobs: int = 1
    most_ticks: int | None = None
    folds: tuple[Fold, ...] = field(init=False)

    def __post_init__(self) -> None:
        labels = self.table.labels
        n_folds = N_FOLDS if self.groups is None else min(N_FOLDS, len(np.unique(self.groups)))
        folds = make_folds(np.zeros((len(labels), 1)), labels, self.groups, n_folds, self.seed)
        object.__setattr__(self, "folds", folds)

    @cached_property
    def ticks(self) -> Integers:
        """The ticks at which streams are classified, counted from 1."""
        n_ticks = min(self.table.n_ticks, self.time_limit)
        if self.most_ticks is None or n_ticks <= self.most_ticks:
            return np.arange(1, n_ticks + 1)
        return position_grid(n_ticks, self.most_ticks, "geometric")

    def curve(self, chosen: Sequence[int]) -> Curve:
        """Follow all streams, each held out, down all thresholds, with some of the features."""
        return Curve.of(*self._follow(tuple(chosen)), self.ticks)

    def records(self, chosen: Sequence[int]) -> Records:
        """Return the ticks at which held-out streams may be decided."""
        return self.curve_and_records(chosen)[1]

    def curve_and_records(self, chosen: Sequence[int]) -> tuple[Curve, Records]:
        """Return both `curve` and `records`, of the same classifiers."""
        trajectories, truth, spent = self._follow(tuple(chosen))
        stream, tick = np.nonzero(is_record(trajectories.confidence))
        is_right = trajectories.best[stream, tick] == truth[stream]
        weights = 1.0 / np.bincount(stream)[stream]
        records = Records(trajectories.confidence[stream, tick], is_right, weights)
        return Curve.of(trajectories, truth, spent, self.ticks), records

    def _follow(self, chosen: tuple[int, ...]) -> tuple[Trajectories, Integers, Array]:
        """Trajectories, true classes and spending of all streams, each while it was held out."""
        table = self.table.with_features(chosen)
        parts = Parallel(self.n_jobs, prefer="threads")(delayed(self._part)(table, fold) for fold in self.folds)
        n_streams, n_ticks = len(table.labels), len(self.ticks)
        best, confidence = np.zeros((n_streams, n_ticks), np.int64), np.zeros((n_streams, n_ticks))
        spent, truth = np.zeros((n_streams, n_ticks)), np.full(n_streams, -1)
        for fold, (trajectories, classes, cost) in zip(self.folds, parts, strict=True):
            best[fold.test], confidence[fold.test] = trajectories.best, trajectories.confidence
            spent[fold.test], truth[fold.test] = cost, classes
        return Trajectories(best, confidence, self._seen(table.lengths)), truth, spent

    def _part(self, table: FeatureTable, fold: Fold) -> tuple[Trajectories, Integers, Array]:
        learning, whole = table.take(fold.training), table.take(fold.test)
        testing = replace(whole, values=whole.values[:, self.ticks - 1], lengths=self._seen(whole.lengths))
        classifier = self.learn(learning)
        trajectories = Trajectories.of(classifier, testing, self.time_limit)
        tested = [table.features[i] for i in classifier.features_tested()]
        truth = class_indices(testing, np.unique(learning.labels[learning.lengths > 0]))
        return trajectories, truth, self.spending.until(tested)[np.ix_(fold.test, self.ticks - 1)]

    def _seen(self, lengths: Integers) -> Integers:
        """At how many ticks streams of these lengths are classified."""
        return np.searchsorted(self.ticks, lengths, side="right")


def class_indices(table: FeatureTable, classes: np.ndarray) -> Integers:
    """Index of each stream's class among sorted classes; -1 where it is none of them."""
    place = np.minimum(np.searchsorted(classes, table.labels), len(classes) - 1)
    return np.where(classes[place] == table.labels, place, -1)

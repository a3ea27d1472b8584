"""Curves of subsets of features on streams that their classifiers were not fitted on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from feature_extractors.base import Array
from streamfs.costs.spending import Spending
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers
from streamfs.evaluation.trajectories import Trajectories, is_record
from streamfs.relief import position_grid
from streamfs.selection.folds import Fold, make_folds
from streamfs.training.cross_validation import N_FOLDS, CrossValidation, Learn
from streamfs.training.promises.curve import Curve


class Records(NamedTuple):
    """The ticks at which streams are surer than ever before, at which alone they may be decided.

    All have shape (n_records,): the confidence of the likeliest class, whether that is the stream's class, and
    weights, which sum to 1 over a stream.
    """

    confidence: Array
    is_right: np.ndarray
    weights: Array


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Streams in folds, each classified by a classifier that was fitted to the others.

    Streams of one group are never on both sides of a fold. Held-out streams are classified at `most_ticks` ticks
    at most, denser at the beginning, by default at all. The result does not depend on `n_jobs`.
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
        """Follow all streams, each held out, through all thresholds, with the chosen features."""
        return Curve.of(*self._follow(tuple(chosen)), self.ticks)

    def curve_and_records(self, chosen: Sequence[int]) -> tuple[Curve, Records]:
        """Return the curve, and the ticks at which held-out streams may be decided, of the same classifiers."""
        trajectories, truth, spent = self._follow(tuple(chosen))
        stream, tick = np.nonzero(is_record(trajectories.confidence))
        is_right = trajectories.best[stream, tick] == truth[stream]
        weights = 1.0 / np.bincount(stream)[stream]
        records = Records(trajectories.confidence[stream, tick], is_right, weights)
        return Curve.of(trajectories, truth, spent, self.ticks), records

    def _follow(self, chosen: tuple[int, ...]) -> tuple[Trajectories, Integers, Array]:
        """Return trajectories, true classes and spending of all streams, each while it was held out."""
        validation = CrossValidation(self.table, self.folds, self.learn, self.time_limit, self.ticks, self.n_jobs)
        n_streams, n_ticks = len(self.table.labels), len(self.ticks)
        best, confidence = np.zeros((n_streams, n_ticks), np.int64), np.zeros((n_streams, n_ticks))
        spent, truth = np.zeros((n_streams, n_ticks)), np.full(n_streams, -1)
        for rows, trajectories, classes, tested in validation.run(chosen):
            best[rows], confidence[rows], truth[rows] = trajectories.best, trajectories.confidence, classes
            features = [self.table.features[i] for i in tested]
            spent[rows] = self.spending.until(features)[np.ix_(rows, self.ticks - 1)]
        lengths = np.searchsorted(self.ticks, self.table.lengths, side="right")
        return Trajectories(best, confidence, lengths), truth, spent

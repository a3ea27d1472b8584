"""Streams, each classified at every tick by a classifier that was fitted to others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.classifiers.calibration import Calibration
from streamfs.costs.spending import Spending
from streamfs.data.feature_table import FeatureTable
from streamfs.data.stream_arrays import Labels
from streamfs.errors import DataError
from streamfs.evaluation.trajectories import Trajectories, is_record
from streamfs.procedure.falling import Falling
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.relief import position_grid
from streamfs.selection.folds import Fold, make_folds
from streamfs.training.cross_validation import N_FOLDS, CrossValidation, Learn

MOST_LEFT_OUT = 12
"""Most groups that are held out one by one."""
MOST_NAMED = 6
"""Most classes of which it is said how many streams there are."""


class Records(NamedTuple):
    """The ticks at which streams are surer than ever before, at which alone they may be decided.

    All have shape (n_records,): the confidence of the likeliest class, whether that is the stream's class, and
    weights, which sum to what the stream counts.
    """

    confidence: Array
    is_right: np.ndarray
    weights: Array
    ticks: Integers


class Followed(NamedTuple):
    """What was said of streams at the ticks of a grid, and spent on them until then.

    `truth` is the index of each stream's class, -1 if unknown to its classifier, `spent` has shape (n_streams,
    n_ticks), and `ticks`, counted from 1, are those of the columns of the trajectories. There are
    `n_classes` in all, 0 if they are not counted. Streams count as `weights` say, by default each once. If there
    are several repetitions, the rows of all streams follow again and again, each time held out with others.
    """

    trajectories: Trajectories
    truth: Integers
    spent: Array
    ticks: Integers
    n_classes: int = 0
    weights: Array | None = None
    n_repetitions: int = 1

    @property
    def n_streams(self) -> int:
        """The number of streams."""
        return len(self.truth) // self.n_repetitions

    @property
    def counts(self) -> Array:
        """What each stream counts."""
        return np.ones(self.n_streams) if self.weights is None else self.weights

    @classmethod
    def stacked(cls, each: Sequence["Followed"]) -> "Followed":
        """Return repetitions, which followed the same streams, as one."""
        paths, first = [followed.trajectories for followed in each], each[0]
        parts = ([getattr(path, name) for path in paths] for name in ("best", "confidence", "ticks"))
        return first._replace(
            trajectories=Trajectories(*map(np.concatenate, parts)),
            truth=np.concatenate([followed.truth for followed in each]),
            spent=np.concatenate([followed.spent for followed in each]),
            n_repetitions=len(each),
        )

    def take(self, streams: Integers) -> "Followed":
        """Return some of the streams, in all repetitions."""
        weights = None if self.weights is None else self.weights[streams]
        return self._taken(self.rows(streams))._replace(weights=weights)

    def rows(self, streams: Integers) -> Integers:
        """Return the rows of some of the streams, in all repetitions."""
        return np.concatenate([streams + self.n_streams * n for n in range(self.n_repetitions)])

    def first(self) -> "Followed":
        """Return the first repetition."""
        return self._taken(np.arange(self.n_streams))._replace(n_repetitions=1)

    def _taken(self, rows: Integers) -> "Followed":
        followed = self.trajectories
        taken = Trajectories(followed.best[rows], followed.confidence[rows], followed.ticks[rows])
        return self._replace(trajectories=taken, truth=self.truth[rows], spent=self.spent[rows])

    def by_stream(self, values: Array) -> Array:
        """Return the mean over the repetitions of what each has in the last axis for each stream."""
        each = values.reshape(*values.shape[:-1], self.n_repetitions, self.n_streams)
        return np.asarray(each.mean(axis=-2))

    def since(self, start: int) -> "Followed":
        """Return the same streams, none of which may be decided before a tick."""
        return self._replace(trajectories=self.trajectories.deciding(self.ticks >= start))

    def later(self) -> "Followed":
        """Return the same streams without the first tick of the grid."""
        known = self.trajectories
        trajectories = Trajectories(known.best[:, 1:], known.confidence[:, 1:], known.ticks - 1)
        return self._replace(trajectories=trajectories, spent=self.spent[:, 1:], ticks=self.ticks[1:])

    def flattened(self, falling: Falling) -> "Followed":
        """Return the same streams, whose confidence compares with one threshold where thresholds fall."""
        confidence = falling.flattened(self.trajectories.confidence, self.ticks)
        return self._replace(trajectories=replace(self.trajectories, confidence=confidence))

    def giving_up(self, patience: int, floor: float) -> "Followed":
        """Return the same streams, given up at the first tick from `patience` on that is below a floor."""
        floors = np.where(self.ticks >= patience, floor, 0.0)
        return self._replace(trajectories=self.trajectories.giving_up(floors))

    def calibrated(self, calibration: Calibration, n_classes: int) -> "Followed":
        """Return the same streams with calibrated confidence, which is 0 wherever it was."""
        confidence = self.trajectories.confidence
        counts = np.broadcast_to(self.ticks, confidence.shape)
        said = np.where(confidence > 0.0, calibration.of(confidence, n_classes=n_classes, counts=counts), 0.0)
        return self._replace(trajectories=replace(self.trajectories, confidence=said))

    def is_right(self) -> np.ndarray:
        """Return whether the likeliest class is the stream's, shape (n_streams, n_ticks)."""
        return np.asarray(self.trajectories.best == self.truth[:, np.newaxis])

    def records(self) -> Records:
        """Return the ticks at which alone streams may be decided."""
        stream, tick = np.nonzero(is_record(self.trajectories.confidence))
        counts = np.tile(self.counts / self.n_repetitions, self.n_repetitions)
        weights = counts[stream] / np.bincount(stream)[stream]
        confidence = self.trajectories.confidence[stream, tick]
        return Records(confidence, self.is_right()[stream, tick], weights, self.ticks[tick])


def _require_streams(labels: np.ndarray) -> None:
    """Require enough streams to hold some of them out in each fold."""
    classes, counts = np.unique(labels, return_counts=True)
    if counts.max() < N_FOLDS:
        named = zip(classes[:MOST_NAMED], counts, strict=False)
        found = ", ".join(f"{n} of {label}" for label, n in named)
        found += f", and as few of {len(classes) - MOST_NAMED} others" if len(classes) > MOST_NAMED else ""
        expected = f"expected at least {N_FOLDS} streams of some class, better 20 of each"
        raise DataError(f"there are {found}, {expected}: record more, or cut long ones into windows")


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Streams in folds, each classified by a classifier that was fitted to the others.

    Streams of one group are never on both sides of a fold. Held-out streams are classified at the ticks
    `points`, or at `most_ticks` at most, denser at the beginning; by default at all. If it `has_points_alone`, the
    table is that of the points, as `FeatureTable.at` gives it. If it `leaves_groups_out`, each fold holds one
    group out, or there are `MOST_LEFT_OUT` folds if there are more groups. The result does not depend on `n_jobs`.
    """

    table: FeatureTable
    spending: Spending
    learn: Learn
    time_limit: int
    groups: np.ndarray | None = None
    seed: int = 0
    n_jobs: int = 1
    most_ticks: int | None = None
    points: Integers | None = None
    has_points_alone: bool = False
    leaves_groups_out: bool = False
    folds: tuple[Fold, ...] = field(init=False)

    def __post_init__(self) -> None:
        labels = self.table.labels
        if self.groups is None:
            _require_streams(labels)
        folds = make_folds(np.zeros((len(labels), 1)), labels, self.groups, self._divisions(), self.seed)
        object.__setattr__(self, "folds", folds)

    def _divisions(self) -> int | list[tuple[Integers, Integers]]:
        """Return the number of folds, or the rows to train on and to hold out of each."""
        if self.groups is None:
            return N_FOLDS
        units = np.unique(self.groups)
        most = MOST_LEFT_OUT if self.leaves_groups_out else N_FOLDS
        if not self.leaves_groups_out or len(units) > most:
            return min(most, len(units))
        return [(np.flatnonzero(self.groups != unit), np.flatnonzero(self.groups == unit)) for unit in units]

    def trained_on_part(self, share: float, seed: int) -> Self:
        """Return the same held-out streams, each classified by classifiers fitted to a part of the others.

        The share of each class is drawn at random, two streams of it at least.
        """
        random, labels, folds = np.random.default_rng(seed), self.table.labels, []
        for fold in self.folds:
            drawn = [
                random.permutation(fold.training[labels[fold.training] == label]) for label in np.unique(labels)
            ]
            part = np.concatenate([rows[: max(2, round(share * len(rows)))] for rows in drawn])
            folds.append(fold._replace(training=np.sort(part)))
        return self.divided(folds)

    def divided(self, folds: Iterable[Fold]) -> Self:
        """Return the same streams in other folds; those that no fold tests are not followed."""
        other = replace(self)
        object.__setattr__(other, "folds", tuple(folds))
        return other

    @cached_property
    def ticks(self) -> Integers:
        """The ticks at which streams are classified, counted from 1."""
        if self.points is not None:
            return self.points
        n_ticks = min(self.table.n_ticks, self.time_limit)
        if self.most_ticks is None or n_ticks <= self.most_ticks:
            return np.arange(1, n_ticks + 1)
        return position_grid(n_ticks, self.most_ticks, "geometric")

    def follow(self, chosen: Sequence[int]) -> Followed:
        """Follow all streams, each while it was held out, with the chosen features."""
        ticks = None if self.has_points_alone else self.ticks
        counts = self.spending.counts_levels
        validation = CrossValidation(
            self.table, self.folds, self.learn, self.time_limit, ticks, self.n_jobs, counts
        )
        n_streams, n_ticks = len(self.table.labels), len(self.ticks)
        best, confidence = np.zeros((n_streams, n_ticks), np.int64), np.zeros((n_streams, n_ticks))
        spent, truth = np.zeros((n_streams, n_ticks)), np.full(n_streams, -1)
        for rows, trajectories, classes, tested, levels in validation.run(tuple(chosen)):
            best[rows], confidence[rows], truth[rows] = trajectories.best, trajectories.confidence, classes
            features = [self.table.features[i] for i in tested]
            spent[rows] = self.spending.until(features, levels)[np.ix_(rows, self.ticks - 1)]
        lengths = self.table.lengths
        if ticks is not None:
            lengths = np.searchsorted(ticks, lengths, side="right")
        n_classes = len(np.unique(self.table.labels))
        return Followed(
            Trajectories(best, confidence, lengths), truth, spent, self.ticks, n_classes, self.table.weights
        )

    def follow_repeatedly(self, chosen: Sequence[int], n_repetitions: int) -> Followed:
        """Follow all streams again and again, each time in other folds."""
        seeds = range(self.seed, self.seed + n_repetitions)
        return Followed.stacked([replace(self, seed=seed).follow(chosen) for seed in seeds])


def decided(
    procedure: Procedure, table: FeatureTable, followed: Followed, columns: Integers, stated: Array
) -> Iterator[tuple[Decision, Array]]:
    """Yield decisions on held-out streams as a procedure would make them, and the feature values behind them.

    The table is that of all ticks, or of those that were followed. `columns` are those in which streams were
    decided, -1 for never; streams that end undecided are left out. Nothing is yielded if a class was unknown to
    some classifier.
    """
    seen, last = table.at(followed.ticks), len(followed.ticks) - 1
    for i, column in enumerate(columns.tolist() if (followed.truth >= 0).all() else ()):
        place = column if column >= 0 else last
        tick = int(followed.ticks[place])
        if place < seen.lengths[i] and (column >= 0 or tick == procedure.time_limit):
            best = followed.trajectories.best[i, column]
            label, reason = (None, "timeout") if column < 0 else (procedure.classes[best], "confident")
            yield Decision(str(i), 1, label, float(stated[i]), tick, 0.0, reason, 0.0), seen.values[i, place]


def decision_facts(followed: Followed, columns: Integers, stated: Array, labels: Labels) -> dict[str, Any]:
    """Return what decisions on held-out streams were worth, by class, too.

    `columns` are those in which the streams were decided, -1 for never; `stated` is the confidence there.
    """
    decided = np.flatnonzero(columns >= 0)
    at = columns[decided]
    right = followed.is_right()[decided, at]
    labelled, classes = labels[decided], np.unique(labels)
    return {
        "streams": len(labels),
        "labelled": len(decided),
        "right": int(right.sum()),
        "stated": float(stated[decided].mean()),
        "ticks": float(followed.ticks[at].mean()),
        "sent": float(followed.spent[decided, at].mean()),
        "streams_of": {str(label): int((labels == label).sum()) for label in classes},
        "labelled_of": {str(label): int((labelled == label).sum()) for label in classes},
        "right_of": {str(label): int(right[labelled == label].sum()) for label in classes},
    }

"""Results of all confidence thresholds on some streams at once."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.evaluation.trajectories import Trajectories, is_record

Counts = Integers | Array
"""Numbers of streams; means of such, which need not be whole, if streams were followed repeatedly."""


class ByClass(NamedTuple):
    """Counts of streams by class, for thresholds: labelled as it, and rightly; and how many streams are of it.

    The first two have shape (n_thresholds, n_classes), the last (n_classes,).
    """

    labelled_as: Counts
    right_of: Counts
    streams_of: Counts

    def take(self, places: Any) -> "ByClass":
        """Return some of the thresholds."""
        return self._replace(labelled_as=self.labelled_as[places], right_of=self.right_of[places])

    def before_the_first(self) -> "ByClass":
        """Return the same with a threshold before, at which no stream is labelled."""
        none = np.zeros((1, len(self.streams_of)), np.int64)
        return self._replace(
            labelled_as=np.concatenate([none, self.labelled_as]), right_of=np.concatenate([none, self.right_of])
        )


def _of_no_class() -> ByClass:
    return ByClass(np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64), np.zeros(0, np.int64))


class Point(NamedTuple):
    """Results of one confidence threshold; cost and ticks are means over all streams, undecided ones included."""

    threshold: float
    completeness: float
    accuracy: float
    cost: float
    ticks: float


@dataclass(frozen=True, eq=False)
class Curve:
    """Results on some streams of each confidence threshold that makes a difference.

    Thresholds fall; at the first, at least one stream gets a label. Counts, cost and ticks are sums over all
    streams, or means of such sums if streams were followed repeatedly; `by_class` has the counts of each class.
    """

    thresholds: Array
    n_labelled: Counts
    n_right: Counts
    cost: Array
    ticks: Array
    n_streams: int
    by_class: ByClass = field(default_factory=_of_no_class)

    @classmethod
    def of(
        cls,
        trajectories: Trajectories,
        truth: Integers,
        spent: Array,
        at: Integers | None = None,
        n_classes: int = 0,
    ) -> Self:
        """Follow streams down all thresholds.

        `truth` is the index of each stream's class, -1 if unknown to the classifier; `spent`, of shape
        (n_streams, n_ticks), is what is paid up to and including each tick; `at` gives the ticks of the columns,
        counted from 1, by default all; `n_classes` are counted one by one, by default none. A stream whose episode
        never opens pays what its first column says.

        A stream is decided at the first tick that is sure enough, so only ticks matter at which it is surer than
        ever before. As the threshold falls past the confidence of such a tick, the stream's decision moves to it
        from the next one, or from the end of an undecided stream.
        """
        confidence, n_ticks = trajectories.confidence, trajectories.confidence.shape[1]
        ticks = np.concatenate([[0], np.arange(1, n_ticks + 1) if at is None else at])
        stream, tick = np.nonzero(is_record(confidence))
        is_last = np.append(stream[1:] != stream[:-1], True)[: len(stream)]
        said = trajectories.best[stream, tick]
        right = (said == truth[stream]).astype(np.int64)
        last_tick = np.clip(trajectories.ticks - 1, 0, max(n_ticks - 1, 0))
        undecided = _at(spent, last_tick)
        costs, ended = spent[stream, tick], ticks[trajectories.ticks]
        order = np.argsort(-confidence[stream, tick], kind="stable")
        falling = confidence[stream, tick][order]
        ends = np.append(falling[1:] != falling[:-1], True)[: len(falling)]

        def moved(here: Any, at_the_end: Any, start: float) -> Any:
            is_end = is_last if here.ndim == 1 else is_last[:, np.newaxis]
            after = np.where(is_end, at_the_end, np.roll(here, -1, axis=0))
            return (start + np.cumsum((here - after)[order], axis=0))[ends]

        classes = np.arange(n_classes)
        said_of = (said[:, np.newaxis] == classes).astype(np.int64)
        streams_of = (truth[:, np.newaxis] == classes).sum(axis=0)
        by_class = ByClass(moved(said_of, 0, 0), moved(said_of * right[:, np.newaxis], 0, 0), streams_of)
        return cls(
            falling[ends],
            np.cumsum(is_last[order])[ends],
            moved(right, 0, 0),
            moved(costs, undecided[stream], float(undecided.sum())),
            moved(ticks[tick + 1], ended[stream], float(ended.sum())),
            len(confidence),
            by_class,
        )

    def __len__(self) -> int:
        return len(self.thresholds)

    @property
    def completeness(self) -> Array:
        """Share of the streams given a label."""
        return self.n_labelled / max(self.n_streams, 1)

    @property
    def accuracy(self) -> Array:
        """Share of the labelled streams whose label is right."""
        return self.n_right / self.n_labelled

    def mean_cost(self, *, per_label: bool) -> Array:
        """Return the mean cost of a stream, or of a labelled one, at each threshold."""
        return self.cost / (self.n_labelled if per_label else self.n_streams)

    def doubted(self, errors: float | Array) -> tuple[Array, Array]:
        """Return completeness and accuracy reduced by a number of standard errors, within 0 and 1.

        If these are numbers of shape (n, 1), so are the shares, of shape (n, n_thresholds).
        """
        completeness = reduced(self.completeness, np.full(len(self), self.n_streams), errors)
        return completeness, reduced(self.accuracy, self.n_labelled, errors)

    def point(self, index: int) -> Point:
        """Return the results of one of the thresholds."""
        return Point(
            float(self.thresholds[index]),
            float(self.completeness[index]),
            float(self.accuracy[index]),
            float(self.cost[index]) / self.n_streams,
            float(self.ticks[index]) / self.n_streams,
        )

    def at_threshold(self, threshold: float) -> Point:
        """Return the results of any threshold at which some stream is labelled."""
        index = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        if index < 0:
            raise ValueError(f"threshold is {threshold}, expected one at which a stream is labelled")
        return self.point(index)._replace(threshold=threshold)

    def at(self, thresholds: Array) -> tuple[Counts, Counts]:
        """Return labelled and rightly labelled streams at any thresholds."""
        place = self._places(thresholds)
        labelled, right = (np.append(0, counts)[place] for counts in (self.n_labelled, self.n_right))
        return labelled, right

    def by_class_at(self, thresholds: Array) -> ByClass:
        """Return the counts of each class at any thresholds."""
        if not len(self.by_class.streams_of):
            return self.by_class
        return self.by_class.before_the_first().take(self._places(thresholds))

    def _places(self, thresholds: Array) -> Integers:
        """Return how many thresholds are not below each of some others."""
        return np.searchsorted(-self.thresholds, -np.asarray(thresholds), side="right")

    def averaged(self, n_repetitions: int) -> "Curve":
        """Return the curve of streams that were followed as often, with means in place of sums."""
        if n_repetitions == 1:
            return self
        return replace(
            self,
            n_labelled=self.n_labelled / n_repetitions,
            n_right=self.n_right / n_repetitions,
            cost=self.cost / n_repetitions,
            ticks=self.ticks / n_repetitions,
            n_streams=self.n_streams // n_repetitions,
            by_class=ByClass(*(counts / n_repetitions for counts in self.by_class)),
        )

    def with_others(self, other: "Curve") -> "Curve":
        """Return counts of these streams and of others together at these thresholds, with these cost and ticks."""
        labelled, right = other.at(self.thresholds)
        ours, theirs = self.by_class, other.by_class_at(self.thresholds)
        return replace(
            self,
            n_labelled=self.n_labelled + labelled,
            n_right=self.n_right + right,
            n_streams=self.n_streams + other.n_streams,
            by_class=ByClass(*(one + another for one, another in zip(ours, theirs, strict=True))),
        )

    def thinned(self, most: int = 1000) -> "Curve":
        """Return at most `most` of the thresholds, evenly spread."""
        return self.take(np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).round().astype(int)))

    def take(self, places: Integers) -> "Curve":
        """Return some of the thresholds."""
        return replace(
            self,
            thresholds=self.thresholds[places],
            n_labelled=self.n_labelled[places],
            n_right=self.n_right[places],
            cost=self.cost[places],
            ticks=self.ticks[places],
            by_class=self.by_class.take(places) if len(self.by_class.streams_of) else self.by_class,
        )

    def points(self) -> list[Point]:
        """Return the results of each threshold."""
        return [self.point(index) for index in range(len(self))]


def reduced(share: Array, n: npt.ArrayLike, errors: float | Array) -> Array:
    """Return shares of n streams less some standard errors, within 0 and 1."""
    sizes = np.maximum(n, 1)
    return np.asarray(np.clip(share - errors * np.sqrt((share * (1.0 - share) + 1.0 / sizes) / sizes), 0.0, 1.0))


def _at(values: Array, ticks: Integers) -> Array:
    """Return the value of each stream at its own tick."""
    return np.asarray(values[np.arange(len(ticks)), ticks]) if values.shape[1] else np.zeros(len(ticks))

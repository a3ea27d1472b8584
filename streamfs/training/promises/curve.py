"""Results of all confidence thresholds on some streams at once."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from feature_extractors.base import Array
from streamfs.data.streams import Integers
from streamfs.evaluation.trajectories import Trajectories, is_record


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
    streams.
    """

    thresholds: Array
    n_labelled: Integers
    n_right: Integers
    cost: Array
    ticks: Array
    n_streams: int

    @classmethod
    def of(cls, trajectories: Trajectories, truth: Integers, spent: Array, at: Integers | None = None) -> Self:
        """Follow streams down all thresholds.

        `truth` is the index of each stream's class, -1 if unknown to the classifier; `spent`, of shape
        (n_streams, n_ticks), is what is paid up to and including each tick; `at` gives the ticks of the columns,
        counted from 1, by default all. A stream whose episode never opens pays what its first column says.

        A stream is decided at the first tick that is sure enough, so only ticks matter at which it is surer than
        ever before. As the threshold falls past the confidence of such a tick, the stream's decision moves to it
        from the next one, or from the end of an undecided stream.
        """
        confidence, n_ticks = trajectories.confidence, trajectories.confidence.shape[1]
        ticks = np.concatenate([[0], np.arange(1, n_ticks + 1) if at is None else at])
        stream, tick = np.nonzero(is_record(confidence))
        is_last = np.append(stream[1:] != stream[:-1], True)[: len(stream)]
        right = (trajectories.best[stream, tick] == truth[stream]).astype(np.int64)
        last_tick = np.clip(trajectories.ticks - 1, 0, max(n_ticks - 1, 0))
        undecided = _at(spent, last_tick)
        costs, ended = spent[stream, tick], ticks[trajectories.ticks]
        order = np.argsort(-confidence[stream, tick], kind="stable")
        falling = confidence[stream, tick][order]
        ends = np.append(falling[1:] != falling[:-1], True)[: len(falling)]

        def moved(here: Any, at_the_end: Any, start: float) -> Any:
            after = np.where(is_last, at_the_end, np.roll(here, -1))
            return (start + np.cumsum((here - after)[order]))[ends]

        return cls(
            falling[ends],
            np.cumsum(is_last[order])[ends],
            moved(right, 0, 0),
            moved(costs, undecided[stream], float(undecided.sum())),
            moved(ticks[tick + 1], ended[stream], float(ended.sum())),
            len(confidence),
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

    def doubted(self, errors: float) -> tuple[Array, Array]:
        """Return completeness and accuracy reduced by a number of standard errors, within 0 and 1."""
        shares = ((self.completeness, np.full(len(self), self.n_streams)), (self.accuracy, self.n_labelled))
        completeness, accuracy = (
            np.clip(share - errors * np.sqrt((share * (1.0 - share) + 1.0 / n) / n), 0.0, 1.0)
            for share, n in shares
        )
        return completeness, accuracy

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

    def at(self, thresholds: Array) -> tuple[Integers, Integers]:
        """Return labelled and rightly labelled streams at any thresholds."""
        place = np.searchsorted(-self.thresholds, -np.asarray(thresholds), side="right")
        labelled, right = (np.append(0, counts)[place] for counts in (self.n_labelled, self.n_right))
        return labelled, right

    def thinned(self, most: int = 1000) -> "Curve":
        """Return at most `most` of the thresholds, evenly spread."""
        return self.take(np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).round().astype(int)))

    def take(self, places: Integers) -> "Curve":
        """Return some of the thresholds."""
        return Curve(
            self.thresholds[places],
            self.n_labelled[places],
            self.n_right[places],
            self.cost[places],
            self.ticks[places],
            self.n_streams,
        )

    def points(self) -> list[Point]:
        """Return the results of each threshold."""
        return [self.point(index) for index in range(len(self))]


def _at(values: Array, ticks: Integers) -> Array:
    """Return the value of each stream at its own tick."""
    return np.asarray(values[np.arange(len(ticks)), ticks]) if values.shape[1] else np.zeros(len(ticks))

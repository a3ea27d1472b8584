"""What decisions cost, and the confidence from which they are the cheapest."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.classifiers.calibration import Calibration
from streamfs.data.streams import Integers
from streamfs.procedure.stopping import TickThresholds
from streamfs.training.anticipation import MOST_GROUPS, anticipated_levels
from streamfs.training.cross_validation import N_FOLDS
from streamfs.training.held_out import Followed

LEVELS = np.r_[0.0, np.arange(0.10, 0.96, 0.025), 0.97, 0.98, 0.99, 0.995, 1.0]
"""Thresholds that are compared."""

LUCK = 2.0
"""Squared standard errors by which a share of right answers may be off: several choices were compared."""

FEWEST_POINTS, STREAMS_OF_A_POINT = 20, 4
"""Fewest ticks at which streams may be decided, and how many streams each of more takes."""


@dataclass(frozen=True)
class DecisionCosts:
    """What a decision costs: an error, a delay up to the time limit, and each unit of the features' costs.

    A delay costs its share of the time limit. A stream without a label is an error at the time limit. If costs are
    anticipated, there is a threshold for each tick, from which waiting is not expected to cost less.

    Raises
    ------
    ValueError
        If one is negative or not finite, or an error costs nothing.
    """

    error: float = 1.0
    delay: float = 1.0
    sending: float = 0.0
    is_anticipated: bool = False

    def __post_init__(self) -> None:
        for name in ("error", "delay", "sending"):
            cost = getattr(self, name)
            if not 0.0 <= cost < np.inf:
                raise ValueError(f"{name}_cost is {cost}, expected a number of at least 0")
        if self.error == 0.0:
            raise ValueError("error_cost is 0, expected more: a label that may be wrong needs no readings")

    def of(self, followed: Followed, columns: Integers, time_limit: int) -> Array:
        """Return each stream's cost if it is decided in a column of what was followed, -1 for never."""
        rows, ends = np.arange(len(columns)), np.maximum(followed.trajectories.ticks - 1, 0)
        never = columns < 0
        at = np.where(never, ends, columns)
        wrong = never | ~followed.is_right()[rows, at]
        delay = np.where(never, 1.0, followed.ticks[at] / time_limit)
        return np.asarray(self.error * wrong + self.delay * delay + self.sending * followed.spent[rows, at])

    def at_each(self, followed: Followed, time_limit: int) -> Array:
        """Return each stream's cost if it is decided at each tick that was followed; beyond its end, for never."""
        places = range(len(followed.ticks))
        columns = [np.where(at < followed.trajectories.ticks, at, -1) for at in places]
        return np.stack([self.of(followed, each, time_limit) for each in columns], axis=1)


class Confident(NamedTuple):
    """When streams are decided, and how confidence is stated.

    `columns` are those in which the followed streams were decided, -1 for never, and `stated` the calibrated
    confidence there.
    """

    calibration: Calibration
    thresholds: TickThresholds
    columns: Integers
    stated: Array


def decision_points(n_ticks: int, n_streams: int) -> Integers:
    """Return the ticks at which streams may be decided, evenly spread; of more streams more, and the first.

    With few streams, a class seems to be told by some early tick or other, by luck.
    """
    n_points = min(n_ticks, max(FEWEST_POINTS, n_streams // STREAMS_OF_A_POINT))
    first = 1.0 if n_streams >= FEWEST_POINTS * STREAMS_OF_A_POINT else n_ticks / n_points
    return np.unique(np.round(np.linspace(first, n_ticks, n_points)).astype(np.int64))


def choose_confidence(
    followed: Followed, costs: DecisionCosts, time_limit: int, clock: int, confidence: float | None = None
) -> Confident:
    """Calibrate held-out confidence, and choose the threshold of the least mean cost, unless one is given.

    Confidence is calibrated at the ticks at which streams can be decided, with the number of samples as a clock
    (unless `clock` is -1), and then once more at decisions for which neither calibration nor threshold was chosen
    with the stream's help, so that as many are right as is stated, luck apart (`doubtful_weights`). Without a
    given threshold, streams are decided at the ticks of what was followed alone, at the time limit in any case.
    """
    rule = _Rule.chosen(followed, costs, time_limit, clock, confidence)
    columns, said = np.full(len(followed.truth), -1), np.zeros(len(followed.truth))
    for others, part in _parts(followed.truth):
        own = _Rule.chosen(followed.take(others), costs, time_limit, clock, confidence)
        columns[part], said[part] = own.decide(followed.take(part))
    rows = np.flatnonzero(columns >= 0)
    if not len(rows):
        return Confident(rule.calibration, rule.thresholds(), columns, said)
    right = followed.is_right()[rows, columns[rows]]
    chance = np.bincount(followed.truth + 1).max() / len(followed.truth)
    last = Calibration.fit(said[rows], right, doubtful_weights(right, chance), slope=1.0)
    levels = rule.levels if confidence is not None else last.of(rule.levels)
    corrected = replace(rule, calibration=rule.calibration.then(last), levels=levels)
    return Confident(corrected.calibration, corrected.thresholds(), columns, last.of(said))


@dataclass(frozen=True, eq=False)
class _Rule:
    """A calibration, and the calibrated confidence at which streams are decided, for each of the points."""

    calibration: Calibration
    levels: Array
    points: Integers
    time_limit: int
    is_forced: bool

    @classmethod
    def chosen(
        cls, followed: Followed, costs: DecisionCosts, time_limit: int, clock: int, confidence: float | None
    ) -> "_Rule":
        """Calibrate, and choose the levels of the least cost, unless one is given."""
        records = followed.records()
        counts = None if clock < 0 else records.ticks
        calibration = Calibration.fit(records.confidence, records.is_right, records.weights, counts, clock)
        given = np.full(len(followed.ticks), confidence or 1.0)
        rule = cls(calibration, given, followed.ticks, time_limit, confidence is None)
        if confidence is not None:
            return rule
        said = rule.said(followed)
        if costs.is_anticipated:
            at_each = costs.at_each(followed, time_limit)
            compared = [anticipated_levels(said, at_each, n) for n in range(1, MOST_GROUPS + 1)]
        else:
            compared = [np.full(len(given), level) for level in LEVELS[::-1]]
        tried = [replace(rule, levels=levels) for levels in compared]
        return min(tried, key=lambda each: cautious_mean(costs.of(followed, each.columns(said), time_limit)))

    def said(self, followed: Followed) -> Array:
        """Return the calibrated confidence of each stream and tick, -1 beyond a stream's end."""
        confidence = followed.trajectories.confidence
        counts = None if self.calibration.clock < 0 else np.broadcast_to(followed.ticks, confidence.shape)
        inside = np.arange(confidence.shape[1]) < followed.trajectories.ticks[:, np.newaxis]
        return np.where(inside, self.calibration.of(confidence, counts=counts), -1.0)

    def columns(self, said: Array) -> Integers:
        """Return the column in which each stream is decided, -1 for never."""
        levels = np.where(self.is_forced & (self.points == self.time_limit), 0.0, self.levels)
        sure: npt.NDArray[np.bool_] = said >= levels
        return np.where(sure.any(axis=1), sure.argmax(axis=1), -1)

    def decide(self, followed: Followed) -> tuple[Integers, Array]:
        """Return the column in which each stream is decided, and the confidence there."""
        said = self.said(followed)
        columns = self.columns(said)
        return columns, np.where(columns < 0, 0.0, said[np.arange(len(said)), columns])

    def thresholds(self) -> TickThresholds:
        """Return the levels at the points, 1 at other ticks and 0 at the time limit; or the one level at all."""
        if not self.is_forced:
            return TickThresholds((1,), (self.levels[0],))
        levels = {1: 1.0}
        for point, level in zip(self.points.tolist(), self.levels.tolist(), strict=True):
            levels |= {point: level, point + 1: 1.0}
        levels = {tick: each for tick, each in levels.items() if tick < self.time_limit} | {self.time_limit: 0.0}
        ticks = [tick for tick in sorted(levels) if levels[tick] != levels.get(tick - 1)]
        return TickThresholds(tuple(ticks), tuple(levels[tick] for tick in ticks))


def _parts(truth: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Divide streams into parts, every class spread evenly: yield the others and the part."""
    part = np.empty(len(truth), dtype=np.int64)
    part[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % N_FOLDS
    for number in range(N_FOLDS):
        yield np.flatnonzero(part != number), np.flatnonzero(part == number)


def doubtful_weights(right: npt.NDArray[np.bool_], chance: float) -> Array:
    """Return weights, shape (n,), of right and wrong answers, so that their share is theirs with luck apart.

    The share is drawn towards that of always saying the commonest class, as James and Stein (1961) do with a
    mean: the more, the nearer that lies in standard errors. Channels and thresholds were chosen on the same
    streams, and where nothing tells the classes apart, the luckiest choice was taken.
    """
    n, n_right = len(right), int(right.sum())
    share, smooth = n_right / n, (n_right + 0.5) / (n + 1)
    distance = (share - chance) ** 2
    error = LUCK * smooth * (1.0 - smooth) / n
    kept = 0.0 if distance <= error else 1.0 - error / distance
    believed = chance + kept * (share - chance)
    if n_right in (0, n):
        return np.ones(n)
    return np.where(right, believed / share, (1.0 - believed) / (1.0 - share))


def cautious_mean(costs: Array) -> float:
    """Return the mean cost plus its standard error: what luck with few streams promises is not believed."""
    return float(costs.mean() + costs.std() / np.sqrt(len(costs)))

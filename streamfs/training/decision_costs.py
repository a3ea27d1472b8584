"""What decisions cost, and the confidence from which they are the cheapest."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.classifiers._calibration import NEAREST, TILT
from streamfs.classifiers.calibration import LEAST_SLOPE, Calibration
from streamfs.data.streams import Integers
from streamfs.procedure.stopping import TickThresholds
from streamfs.training.anticipation import MOST_GROUPS, anticipated_levels
from streamfs.training.cross_validation import N_FOLDS
from streamfs.training.held_out import Followed

LEVELS = np.r_[0.0, np.arange(0.10, 0.96, 0.025), 0.97, 0.98, 0.99, 0.995, 1.0]
"""Thresholds at the time limit that are compared."""

FALLS = (0.0, 0.25)
"""By how much the log-odds of thresholds fall while the tick grows by a factor of e: the cheaper is taken."""

LUCK = 4.0
"""Squared standard errors by which a share of right answers may be off: several choices were compared."""

N_BISECTIONS = 60
"""Halvings of the range in which a correction is sought."""

FEWEST_POINTS, MOST_POINTS, STREAMS_OF_A_POINT = 20, 100, 4
"""Fewest and most ticks at which streams may be decided, and how many streams each more than the fewest takes."""

FEWEST_TO_CHOOSE_AMONG = 40
"""Fewest streams of which some are decided at the first tick, and others later."""


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
            object.__setattr__(self, name, float(cost))
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
        delay = self.delay * (followed.ticks / time_limit)
        costs = self.error * ~followed.is_right() + delay + self.sending * followed.spent
        never = self.of(followed, np.full(len(followed.truth), -1), time_limit)
        is_inside = np.arange(len(followed.ticks)) < followed.trajectories.ticks[:, np.newaxis]
        return np.where(is_inside, costs, never[:, np.newaxis])

    def mean_of(self, followed: Followed, columns: Integers, time_limit: int) -> float:
        """Return the cautious mean of what decisions in some columns cost, -1 for never."""
        return cautious_mean(followed.by_stream(self.of(followed, columns, time_limit)), followed.counts)

    def of_all_at(self, column: int, followed: Followed, time_limit: int) -> float:
        """Return what deciding all streams in a column of what was followed costs, cautiously, luck apart."""
        counts, right = followed.counts, followed.by_stream(followed.is_right()[:, column])
        n_streams = effective_number(counts)
        wrong = 1.0 - believed_share(right, chance_of(followed), n_streams, weights=counts)
        luck = np.sqrt(wrong * (1.0 - wrong) / n_streams)
        sent = np.average(followed.by_stream(followed.spent[:, column]), weights=counts)
        delay = followed.ticks[column] / time_limit
        return float(self.error * (wrong + luck) + self.delay * delay + self.sending * sent)


class Confident(NamedTuple):
    """When streams are decided, and how confidence is stated.

    `columns` are those in which the followed streams were decided, -1 for never, and `stated` the calibrated
    confidence there, by rules that were chosen without the stream; `served` has both by the rule that was chosen.
    """

    calibration: Calibration
    thresholds: TickThresholds
    columns: Integers
    stated: Array
    served: tuple[Integers, Array]

    def first(self, n_streams: int) -> "Confident":
        """Return the same of the first streams."""
        columns, said = self.served
        return self._replace(
            columns=self.columns[:n_streams],
            stated=self.stated[:n_streams],
            served=(columns[:n_streams], said[:n_streams]),
        )


def decision_points(n_ticks: int, n_streams: int) -> Integers:
    """Return the ticks at which streams may be decided: the first, and others evenly spread; of more streams more.

    With few streams, a class seems to be told by some early tick or other, by luck (`is_for_all`).
    """
    n_points = min(n_ticks, MOST_POINTS, max(FEWEST_POINTS, n_streams // STREAMS_OF_A_POINT))
    first = 1.0 if n_streams >= FEWEST_POINTS * STREAMS_OF_A_POINT else n_ticks / n_points
    return np.unique(np.round(np.r_[1.0, np.linspace(first, n_ticks, n_points)]).astype(np.int64))


def is_for_all(points: Integers, n_streams: int) -> bool:
    """Return whether the first point is for all streams or none, since luck would choose among so few."""
    is_evenly_spread = round(points[-1] / FEWEST_POINTS) <= 1
    return n_streams < FEWEST_TO_CHOOSE_AMONG and len(points) > 1 and not is_evenly_spread


def choose_confidence(
    followed: Followed, costs: DecisionCosts, time_limit: int, clock: int, confidence: float | None = None
) -> Confident:
    """Calibrate held-out confidence, and choose the threshold of the least mean cost, unless one is given.

    Confidence is calibrated at the ticks at which streams can be decided, with the number of samples as a clock
    (unless `clock` is -1), and then once more where streams are decided, so that as many are right as is stated,
    luck apart (`believed_share`): at decisions for which neither calibration nor threshold was chosen with the
    stream's help, whose share of right ones is fair, and at those of the threshold that was chosen, whose ticks
    are those to come. Without a given threshold, streams are decided at the ticks of what was followed alone, at
    the time limit in any case.
    """
    choose = partial(_Rule.chosen, costs=costs, time_limit=time_limit, clock=clock, confidence=confidence)
    if confidence is None and is_for_all(followed.ticks, followed.n_streams):
        choose = partial(_Rule.chosen_or_at_once, costs=costs, time_limit=time_limit, clock=clock)
    rule = choose(followed)
    columns, said = np.full(len(followed.truth), -1), np.zeros(len(followed.truth))
    for others, part in _parts(followed.truth[: followed.n_streams]):
        rows = followed.rows(part)
        columns[rows], said[rows] = choose(followed.take(others)).decide(followed.take(part))
    if (columns < 0).all():
        return Confident(rule.calibration, rule.thresholds(), columns, said, (columns, said))
    all_columns, all_said = map(np.concatenate, zip((columns, said), rule.decide(followed), strict=True))
    decided = np.flatnonzero(all_columns >= 0)
    rows, counts = decided % len(columns), followed.counts
    right, streams = followed.is_right()[rows, all_columns[decided]], rows % len(counts)
    n_streams = effective_number(counts[np.unique(streams)])
    chance, n_repetitions = chance_of(followed), followed.n_repetitions
    believed = believed_share(right, chance, n_streams, weights=counts[streams], n_repetitions=n_repetitions)
    lowest = rule.lowest if confidence is None else None
    last = correction(all_said[decided], believed, rule.floor, lowest, counts[streams])
    levels = rule.levels
    if confidence is None:
        levels = np.where(levels <= rule.floor, 0.0, last.of(levels.clip(max=1.0)))
        levels[np.isinf(rule.levels)] = np.inf
    corrected = replace(rule, calibration=rule.calibration.then(last), levels=levels)
    served_columns, served_said = corrected.decide(followed)
    return Confident(
        corrected.calibration,
        corrected.thresholds(),
        columns,
        np.maximum(last.of(said), rule.floor),
        (served_columns, np.maximum(served_said, rule.floor)),
    )


@dataclass(frozen=True, eq=False)
class _Rule:
    """A calibration, and the calibrated confidence at which streams are decided, for each of the points."""

    calibration: Calibration
    levels: Array
    points: Integers
    time_limit: int
    is_forced: bool
    floor: float

    @property
    def lowest(self) -> float | None:
        """The lowest threshold that not every confidence reaches, if there is one."""
        return min((level for level in self.levels.tolist() if self.floor < level < np.inf), default=None)

    @classmethod
    def chosen(
        cls, followed: Followed, costs: DecisionCosts, time_limit: int, clock: int, confidence: float | None
    ) -> "_Rule":
        """Calibrate, and choose the levels of the least cost, unless one is given."""
        records = followed.records()
        counts = None if clock < 0 else records.ticks
        calibration = Calibration.fit(records.confidence, records.is_right, records.weights, counts, clock)
        given = np.full(len(followed.ticks), confidence or 1.0)
        floor = 1.0 / (1.0 + max(followed.truth.max(), followed.trajectories.best.max()))
        rule = cls(calibration, given, followed.ticks, time_limit, confidence is None, floor)
        if confidence is not None:
            return rule
        said, at_each = rule.said(followed), costs.at_each(followed, time_limit)
        if costs.is_anticipated:
            compared = [anticipated_levels(said, at_each, n) for n in range(1, MOST_GROUPS + 1)]
            tried = [replace(rule, levels=levels) for levels in compared]
            return min(tried, key=lambda each: costs.mean_of(followed, each.columns(said), time_limit))
        never = costs.of(followed, np.full(len(said), -1), time_limit)
        return replace(rule, levels=rule.cheapest_levels(followed, said, at_each, never))

    @classmethod
    def chosen_or_at_once(cls, followed: Followed, costs: DecisionCosts, time_limit: int, clock: int) -> "_Rule":
        """Choose as if there were no first point, unless it costs less to decide all streams there."""
        rule = cls.chosen(followed.later(), costs, time_limit, clock, None)
        later = replace(rule, levels=np.r_[np.inf, rule.levels], points=followed.ticks)
        waiting = costs.mean_of(followed, later.decide(followed)[0], time_limit)
        is_cheaper = costs.of_all_at(0, followed, time_limit) < waiting
        return replace(later, levels=np.r_[0.0, rule.levels]) if is_cheaper else later

    def said(self, followed: Followed) -> Array:
        """Return the calibrated confidence of each stream and tick, -1 beyond a stream's end."""
        confidence = followed.trajectories.confidence
        counts = None if self.calibration.clock < 0 else np.broadcast_to(followed.ticks, confidence.shape)
        inside = np.arange(confidence.shape[1]) < followed.trajectories.ticks[:, np.newaxis]
        return np.where(inside, self.calibration.of(confidence, counts=counts), -1.0)

    def cheapest_levels(self, followed: Followed, said: Array, at_each: Array, never: Array) -> Array:
        """Return the highest of the cheapest levels, by the costs of streams in each column, or never.

        Those of all points are alike, or fall (`FALLS`).
        """
        tried = LEVELS[::-1, np.newaxis]
        compared: list[tuple[float, Array]] = []
        for fall in FALLS:
            levels = _risen(tried, fall * np.log(self.time_limit / self.points))
            is_reached = (tried <= self.floor) | (self.points == self.time_limit)
            sure = said >= np.where(is_reached, 0.0, levels)[:, np.newaxis]
            columns = np.where(sure.any(axis=2), sure.argmax(axis=2), len(self.points))
            costs = np.column_stack([at_each, never])[np.arange(len(said)), columns]
            means = cautious_means(followed.by_stream(costs), followed.counts)
            compared.append((float(means.min()), levels[means.argmin()]))
        return min(compared, key=lambda each: each[0])[1]

    def columns(self, said: Array) -> Integers:
        """Return the column in which each stream is decided, -1 for never."""
        is_reached = (self.levels <= self.floor) | (self.is_forced & (self.points == self.time_limit))
        levels = np.where(is_reached, 0.0, self.levels)
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
            levels |= {point: min(level, 1.0), point + 1: 1.0}
        levels = {tick: each for tick, each in levels.items() if tick < self.time_limit} | {self.time_limit: 0.0}
        ticks = [tick for tick in sorted(levels) if levels[tick] != levels.get(tick - 1)]
        return TickThresholds(tuple(ticks), tuple(levels[tick] for tick in ticks))


def _parts(truth: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Divide streams into parts, every class spread evenly: yield the others and the part."""
    part = np.empty(len(truth), dtype=np.int64)
    part[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % N_FOLDS
    for number in range(N_FOLDS):
        yield np.flatnonzero(part != number), np.flatnonzero(part == number)


def chance_of(followed: Followed) -> float:
    """Return the share of the commonest class, which is right by chance."""
    counts = followed.counts
    return float(np.bincount(followed.truth[: followed.n_streams] + 1, counts).max() / counts.sum())


def believed_share(
    right: npt.NDArray[np.bool_] | Array,
    chance: float,
    n_streams: float,
    luck: float = LUCK,
    weights: Array | None = None,
    n_repetitions: int = 1,
) -> float:
    """Return the share of right answers for streams, free of luck, and neither 0 nor 1; they count by weights.

    Answers of several repetitions are worth those of one.

    The share is drawn towards that of always saying the commonest class, as James and Stein (1961) do with a
    mean: the more, the nearer that lies in standard errors, of which luck explains the square root of `luck`.
    Channels and thresholds were chosen on the same streams, and where nothing tells the classes apart, the
    luckiest choice was taken.
    """
    weighed = np.ones(len(right)) if weights is None else weights
    n = effective_number(weighed) / n_repetitions
    share = float(np.average(right, weights=weighed))
    smooth = (share * n + 0.5) / (n + 1)
    distance = (share - chance) ** 2
    error = luck * smooth * (1.0 - smooth) / n_streams
    kept = 0.0 if distance <= error else 1.0 - error / distance
    return float(np.clip(chance + kept * (share - chance), 1.0 / (n + 2), (n + 1.0) / (n + 2)))


def correction(
    said: Array, believed: float, floor: float, lowest: float | None, weights: Array | None = None
) -> Calibration:
    """Return the calibration after which the mean confidence is what is believed, no confidence below the floor.

    The logits are shifted; but if the `lowest` threshold would be at the floor or below, on which what is stated
    does not tell streams apart, they are drawn together there instead.
    """
    logits = _logits(said)
    pinned, bottom = (float(x) for x in _logits([lowest or floor, floor * (1.0 + 4.0 * TILT)]))
    low, high = (np.log(LEAST_SLOPE) if lowest else bottom - logits.max()), 40.0

    def at(place: float) -> Calibration:
        if not lowest:
            return Calibration(1.0, float(place))
        slope, shift = np.exp(min(place, 0.0)), bottom + max(place, 0.0)
        return Calibration(float(slope), float(shift - slope * pinned))

    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        found = at(middle)
        stated = np.maximum(floor, 1.0 / (1.0 + np.exp(-found.slope * logits - found.intercept)))
        mean = np.average(stated, weights=weights)
        low, high = (middle, high) if mean < believed else (low, middle)
    return at((low + high) / 2.0)


def _risen(probabilities: Array, rise: Array) -> Array:
    """Return probabilities whose log-odds have risen; 0 and 1 stay what they are."""
    return probabilities / (probabilities + (1.0 - probabilities) * np.exp(-rise))


def _logits(probabilities: npt.ArrayLike) -> Array:
    inside = np.clip(probabilities, NEAREST, 1.0 - NEAREST)
    return np.asarray(np.log(inside / (1.0 - inside)))


def cautious_mean(costs: Array, counts: Array | None = None) -> float:
    """Return the mean cost plus its standard error: what luck with few streams promises is not believed."""
    return float(cautious_means(costs, np.ones(len(costs)) if counts is None else counts))


def cautious_means(costs: Array, counts: Array) -> Array:
    """Return the same over the last axis, of which each place counts as `counts` say."""
    means = np.average(costs, axis=-1, weights=counts)
    squares = np.average((costs - means[..., np.newaxis]) ** 2, axis=-1, weights=counts)
    found: Array = means + np.sqrt(squares) / np.sqrt(effective_number(counts))
    return found


def effective_number(weights: Array) -> float:
    """Return how many streams of equal weight are as much a matter of luck (L. Kish, Survey Sampling, 1965)."""
    largest = float(weights.max())
    shares = weights / largest
    return float(shares.sum() ** 2 / (shares**2).sum())

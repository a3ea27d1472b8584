"""The calibrated confidence from which decisions cost the least."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.classifiers.calibration import Calibration
from streamfs.procedure.stopping import TickThresholds
from streamfs.training.anticipation import MOST_GROUPS, anticipated_levels
from streamfs.training.correction import correction, stretch
from streamfs.training.cross_validation import N_FOLDS
from streamfs.training.decision_costs import TOLERANCE, DecisionCosts, mean_sent
from streamfs.training.decision_points import is_for_all
from streamfs.training.held_out import Followed
from streamfs.training.luck import believed_share, chance_of, effective_number

LEVELS = np.r_[0.0, np.arange(0.10, 0.96, 0.025), 0.97, 0.98, 0.99, 0.995, 1.0]
"""Thresholds at the time limit that are compared."""

FALLS = (0.0, 0.25)
"""By how much the log-odds of thresholds fall while the tick grows by a factor of e: the cheaper is taken."""

SHIFTS = np.arange(3.0, -8.01, -0.25)
"""Shifts of log-odds that are tried, one after the other, until a given confidence is kept."""


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


def choose_confidence(
    followed: Followed, costs: DecisionCosts, time_limit: int, clock: int, confidence: float | None = None
) -> Confident:
    """Calibrate held-out confidence, and choose the threshold of the least mean cost, unless one is given.

    Confidence is calibrated at the ticks at which streams can be decided, with the number of samples as a clock
    (unless `clock` is -1), and then once more where streams are decided, so that as many are right as is stated,
    luck apart (`believed_share`): at decisions for which neither calibration nor threshold was chosen with the
    stream's help, whose share of right ones is fair, and at those of the threshold that was chosen, whose ticks
    are those to come. Without a given threshold, streams are decided at the ticks of what was followed alone, at
    the time limit in any case. A given one stays what it is, so that other streams reach it after a correction:
    the largest shift is taken after which as many are right as is stated, and where they are more, as confidence
    jumps, it is stretched beyond the given one.
    """
    choose = partial(_Rule.chosen, costs=costs, time_limit=time_limit, clock=clock, confidence=confidence)
    if confidence is None and is_for_all(followed.ticks, followed.n_streams):
        choose = partial(_Rule.chosen_or_at_once, costs=costs, time_limit=time_limit, clock=clock)
    divisions = _parts(followed.truth[: followed.n_streams])
    parts = [
        _Part(followed.rows(part), followed.take(part), choose(followed.take(others)))
        for others, part in divisions
    ]
    answers = _Answers(followed, choose(followed), parts)
    return answers.corrected() if confidence is None else answers.kept()


class _Part(NamedTuple):
    """The rows of some of the streams, what was said of them, and a rule that was chosen without them."""

    rows: Integers
    followed: Followed
    rule: "_Rule"


@dataclass(frozen=True, eq=False)
class _Answers:
    """Streams that were followed, the rule that was chosen for them, and their parts."""

    followed: Followed
    rule: "_Rule"
    parts: Sequence[_Part]

    def corrected(self) -> Confident:
        """Return confidence as it is corrected where streams are decided; thresholds move with it."""
        rule, (columns, said) = self.rule, self.fair
        if (columns < 0).all():
            return Confident(rule.calibration, rule.thresholds(), columns, said, (columns, said))
        all_columns, all_said = self.both()
        believed, decided, weights = self.believed(all_columns)
        last = correction(all_said[decided], believed, rule.floor, rule.lowest, weights)
        levels = np.where(rule.levels <= rule.floor, 0.0, last.of(rule.levels.clip(max=1.0)))
        levels[np.isinf(rule.levels)] = np.inf
        corrected = replace(rule, calibration=rule.calibration.then(last), levels=levels)
        served_columns, served_said = corrected.decide(self.followed)
        return Confident(
            corrected.calibration,
            corrected.thresholds(),
            columns,
            np.maximum(last.of(said), rule.floor),
            (served_columns, np.maximum(served_said, rule.floor)),
        )

    def kept(self) -> Confident:
        """Return confidence after the largest shift with which no more is stated than is right.

        Where it jumps beyond the given one, as much is then stated as is right, up to `MOST_STRETCHED` times the
        log-odds: the same streams are decided, up to rounding.
        """
        shifted = [Calibration(1.0, shift) for shift in SHIFTS.tolist()]
        tried = map(self.then, shifted)
        found = next((each for each in tried if each.is_believed()), self.then(shifted[-1]))
        found = found.then(found.stretch())
        (columns, said), (served, stated), rule = found.fair, found.served, found.rule
        said, stated = np.maximum(said, rule.floor), np.maximum(stated, rule.floor)
        return Confident(rule.calibration, rule.thresholds(), columns, said, (served, stated))

    def then(self, calibration: Calibration) -> "_Answers":
        """Return the same with rules that calibrate once more, and compare with the same levels."""
        parts = [part._replace(rule=part.rule.then(calibration)) for part in self.parts]
        return _Answers(self.followed, self.rule.then(calibration), parts)

    def is_believed(self) -> bool:
        """Return whether the mean confidence is at most the share of right decisions, luck apart.

        So it is where no stream is decided.
        """
        columns, said = self.both()
        if (columns < 0).all():
            return True
        believed, decided, weights = self.believed(columns)
        stated = np.maximum(said[decided], self.rule.floor)
        return bool(np.average(stated, weights=weights) <= believed)

    def stretch(self) -> Calibration:
        """Return the stretch of log-odds beyond the given confidence after which as much is stated as is right."""
        columns, said = self.both()
        if (columns < 0).all():
            return Calibration(1.0, 0.0)
        believed, decided, weights = self.believed(columns)
        floor = self.rule.floor
        return stretch(said[decided], believed, floor, max(float(self.rule.levels[0]), floor), weights)

    @cached_property
    def served(self) -> tuple[Integers, Array]:
        """Columns and confidence of the decisions by the rule that was chosen."""
        return self.rule.decide(self.followed)

    @cached_property
    def fair(self) -> tuple[Integers, Array]:
        """Columns and confidence of the decisions by rules that were chosen without the stream."""
        n_rows = len(self.followed.truth)
        columns, said = np.full(n_rows, -1), np.zeros(n_rows)
        for rows, followed, rule in self.parts:
            columns[rows], said[rows] = rule.decide(followed)
        return columns, said

    def both(self) -> tuple[Integers, Array]:
        """Return the fair decisions, and those of the rule that was chosen."""
        (columns, said), (served_columns, served_said) = self.fair, self.served
        return np.concatenate([columns, served_columns]), np.concatenate([said, served_said])

    def believed(self, columns: Integers) -> tuple[float, Integers, Array]:
        """Return the share of right decisions, luck apart, which were decided, and what their streams count.

        All rows may be there twice, as two rules decided them.
        """
        followed, counts = self.followed, self.followed.counts
        decided = np.flatnonzero(columns >= 0)
        rows = decided % len(followed.truth)
        right, streams = followed.is_right()[rows, columns[decided]], rows % len(counts)
        n_streams, weights = effective_number(counts[np.unique(streams)]), counts[streams]
        chance, n_repetitions = chance_of(followed), followed.n_repetitions
        believed = believed_share(right, chance, n_streams, weights=weights, n_repetitions=n_repetitions)
        return believed, decided, weights


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

    def then(self, calibration: Calibration) -> "_Rule":
        """Return the rule that calibrates once more, with the same levels."""
        return replace(self, calibration=self.calibration.then(calibration))

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
        said = rule.said(followed)
        if costs.is_anticipated:
            at_each = costs.at_each(followed, time_limit)
            compared = [anticipated_levels(said, at_each, n) for n in range(1, MOST_GROUPS + 1)]
            tried = [replace(rule, levels=levels) for levels in compared]
            return min(tried, key=lambda each: float(costs.means_of(followed, each.columns(said), time_limit)))
        return rule.cheapest(followed, said, costs)

    @classmethod
    def chosen_or_at_once(cls, followed: Followed, costs: DecisionCosts, time_limit: int, clock: int) -> "_Rule":
        """Choose as if there were no first point, unless it costs less to decide all streams there."""
        rule = cls.chosen(followed.later(), costs, time_limit, clock, None)
        later = replace(rule, levels=np.r_[np.inf, rule.levels], points=followed.ticks)
        waiting = costs.means_of(followed, later.decide(followed)[0], time_limit)
        is_cheaper = costs.of_all_at(0, followed, time_limit) < waiting
        return replace(later, levels=np.r_[0.0, rule.levels]) if is_cheaper else later

    def said(self, followed: Followed) -> Array:
        """Return the calibrated confidence of each stream and tick, -1 beyond a stream's end."""
        confidence = followed.trajectories.confidence
        counts = None if self.calibration.clock < 0 else np.broadcast_to(followed.ticks, confidence.shape)
        inside = np.arange(confidence.shape[1]) < followed.trajectories.ticks[:, np.newaxis]
        return np.where(inside, self.calibration.of(confidence, counts=counts), -1.0)

    def cheapest(self, followed: Followed, said: Array, costs: DecisionCosts) -> "_Rule":
        """Return, of the rules about as cheap as the cheapest, the one that sends least, the highest of equals.

        Costs are compared as sums, unless some rule surely costs less by costs that are no sum.
        """
        levels, columns = self.tried(said)
        compared = dict.fromkeys((costs.additive, costs))
        means, *others = (each.means_of(followed, columns, self.time_limit) for each in compared)
        for other in others:
            best, least = columns[other.argmin()], columns[means.argmin()]
            means = other if costs.excess(followed, best, least, self.time_limit) < 0.0 else means
        good = np.flatnonzero(means <= means.min() + TOLERANCE * costs.error)
        order = np.lexsort((means[good], mean_sent(followed, columns[good], self.time_limit)))
        return replace(self, levels=levels[good[order[0]]])

    def tried(self, said: Array) -> tuple[Array, Integers]:
        """Return levels to compare, the highest first, and the columns in which each decides, -1 for never.

        Those of all points are alike, or fall (`FALLS`). Shapes are (n_tried, n_points) and (n_tried, n_rows).
        """
        found: list[tuple[Array, Integers]] = []
        tried = LEVELS[::-1, np.newaxis]
        is_reached = (tried <= self.floor) | (self.points == self.time_limit)
        for fall in FALLS:
            levels = _risen(tried, fall * np.log(self.time_limit / self.points))
            sure = said >= np.where(is_reached, 0.0, levels)[:, np.newaxis]
            found.append((levels, np.where(sure.any(axis=2), sure.argmax(axis=2), -1)))
        levels, columns = map(np.concatenate, zip(*found, strict=True))
        return levels, columns

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


def _risen(probabilities: Array, rise: Array) -> Array:
    """Return probabilities whose log-odds have risen; 0 and 1 stay what they are."""
    risen: Array = probabilities / (probabilities + (1.0 - probabilities) * np.exp(-rise))
    return risen

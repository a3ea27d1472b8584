"""Train a procedure whose channels, confidence and stopping cost least on held-out streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature, channels_of
from feature_extractors.catalogue import SHAPE_KINDS
from streamfs.base.progress import Progress, step
from streamfs.classifiers.classifier import Classifier
from streamfs.costs.pricing import Pricing
from streamfs.costs.spending import Spending
from streamfs.data.clock import clock_of
from streamfs.data.drawing import draw_streams
from streamfs.data.feature_table import FeatureTable, episode_lengths, require_episodes, tabulate
from streamfs.data.streams import StreamSet
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.guesses import guess_as_good
from streamfs.procedure.kin import Kin
from streamfs.procedure.procedure import Procedure
from streamfs.relief import position_grid
from streamfs.training import arguments
from streamfs.training.channel_choice import ChannelChoice
from streamfs.training.confidence import Confident, choose_confidence
from streamfs.training.cross_validation import Learn
from streamfs.training.decision_costs import DecisionCosts
from streamfs.training.decision_points import decision_points
from streamfs.training.description import made_with, with_card, with_held_out
from streamfs.training.held_out import Followed, OutOfFold, decided, decision_facts
from streamfs.training.later import Later, decided_rightly, held_later
from streamfs.training.learners import (
    FOREST,
    N_SMALL_TREES,
    fit_until_all_tested,
    n_scouts,
    small_leaf_forest,
    small_leaf_learner,
)
from streamfs.training.models import TrainingModel
from streamfs.training.unlabelled import require_decided, require_labels
from streamfs.training.waiting import worth_waiting

MOST_SCOUTED = 500
"""Most streams on which choices of channels are compared."""

MOST_TICKS = 64
"""Most ticks at which held-out streams are followed if a confidence is given, denser at the beginning."""

LATE = 1.0 / 3.0
"""The mean share of all ticks from which decisions fall late: earlier ticks would mislead the trees then."""

MOST_FOLLOWED, MOST_REPETITIONS = 200, 5
"""Few streams are held out again and again in other folds, while no more are followed in all, so often at most."""


def repetitions(n_streams: int) -> int:
    """Return how often streams are held out."""
    return min(MOST_REPETITIONS, max(1, MOST_FOLLOWED // n_streams))


class Offer(NamedTuple):
    """The features over the channels that are worth reading, and whether trees cut the count of samples first.

    The table of all streams and these features is kept if it was computed on the way.
    """

    features: Sequence[Feature]
    by_clock: bool
    table: FeatureTable | None


@dataclass(frozen=True)
class FittedConfidence:
    """A calibrated classifier, the table of its features, when to stop, and what held-out streams gave."""

    classifier: Classifier
    table: FeatureTable
    followed: Followed
    chosen: Confident
    later: Later | None

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features that the classifier tests."""
        return tuple(self.table.features)

    @property
    def held_out(self) -> dict[str, Any]:
        """What decisions on held-out streams were worth."""
        facts = decision_facts(self.followed, self.chosen.columns, self.chosen.stated, self.table.labels)
        return facts if self.later is None else {**facts, "later": self.later._asdict()}


@dataclass(frozen=True, eq=False)
class LeastCost:
    """Streams, the features on offer, what is paid, what to fit, and the confidence, if one is given."""

    streams: StreamSet
    features: Sequence[Feature]
    pricing: Pricing
    costs: DecisionCosts
    model: TrainingModel
    time_limit: int | timedelta | None
    confidence: float | None

    def procedure(self, progress: Progress) -> Procedure:
        """Choose the channels, fit a classifier to all streams, and calibrate it on held-out ones."""
        streams, pricing, classes = self.streams, self.pricing, self.streams.classes
        lengths = episode_lengths(streams, self.features, pricing.max_silence)
        require_episodes(streams, self.features, lengths)
        n_ticks = int(lengths.max())
        limit = arguments.whole_ticks(self.time_limit, n_ticks, streams.period)
        points = self._points(min(n_ticks, limit))
        offered = self._chosen(lengths, points, limit, progress)
        with step(progress, "building the classifier"):
            fitted = self._fit(offered, points, limit)
        thresholds = fitted.chosen.thresholds
        threshold = self.confidence or min((level for level in thresholds.levels if level > 0.0), default=1.0)
        names = [feature.name for feature in offered.features]
        procedure = Procedure(
            fitted.features,
            fitted.classifier,
            classes,
            pricing.costs(streams, fitted.features, shared=True),
            threshold,
            limit,
            streams.period,
            pricing.max_silence,
            pricing.costs(streams, self.features, shared=True),
            made_with(self.model.seed, streams, names),
            thresholds if self.confidence is None else None,
        )
        seen = decided(procedure, fitted.table, fitted.followed, *fitted.chosen.served)
        facts = self._with_advice(fitted, limit)
        shown = with_held_out(procedure, facts, seen, fitted.followed, Kin.of(streams))
        return with_card(shown, streams, pricing)

    def _points(self, n_ticks: int) -> Integers:
        """Return the ticks at which streams may be decided, and are followed while they are held out."""
        if self.confidence is None:
            return decision_points(n_ticks, len(self.streams))
        return position_grid(n_ticks, MOST_TICKS, "geometric")

    @property
    def _has_points_alone(self) -> bool:
        """Whether tables are of the points alone, which are all that a forest is fitted to."""
        return self.model.classifier == FOREST

    def _kept(self, points: Integers) -> Integers | None:
        """Return the ticks of tables, None if all."""
        return points if self._has_points_alone else None

    def _learn(self, points: Integers, limit: int, n_trees: int, *, by_clock: bool = False) -> Learn:
        if self._has_points_alone:
            places = np.arange(1, len(points) + 1)
            return small_leaf_learner(places, self.model.seed, n_trees, by_clock=by_clock)
        return self.model.learner(len(self.streams.classes), points, limit)

    def _chosen(self, lengths: Integers, points: Integers, limit: int, progress: Progress) -> Offer:
        """Return the features over the channels that are worth reading: all, or those that see shape alone.

        Trees cut the count of samples first where decisions with all features fall late (`LATE`). `lengths` are
        those of the streams' episodes.
        """
        streams, pricing = self.streams, self.pricing
        if len(streams) > MOST_SCOUTED:
            drawn = draw_streams(streams.labels, MOST_SCOUTED / len(streams), self.model.seed)
            streams, lengths = streams.take(drawn), lengths[drawn]
        with step(progress, "computing the features"):
            table = tabulate(streams, self.features, pricing.max_silence, self._kept(points))
        spending = pricing.spending(streams, self.features, lengths)
        choice = self._choice(table, spending, points, limit)
        has_clock = self._has_points_alone and clock_of(self.features) >= 0
        by_clock = has_clock and choice.evaluate(choice.start).delay >= LATE
        if by_clock:
            choice = self._choice(table, spending, points, limit, by_clock=True)
        shapes = [i for i, feature in enumerate(self.features) if feature.kind in SHAPE_KINDS]
        if 0 < len(shapes) < len(self.features):
            alone = self._choice(table.with_features(shapes), spending, points, limit, by_clock=by_clock)
            choice = alone if alone.outdoes(choice) else choice
        found = choice.held_out.table.with_features(choice.features(choice.search(progress)))
        is_whole = streams is self.streams and set(channels_of(found.features)) == set(channels_of(self.features))
        return Offer(found.features, by_clock, found if is_whole else None)

    def _choice(
        self, table: FeatureTable, spending: Spending, points: Integers, limit: int, *, by_clock: bool = False
    ) -> ChannelChoice:
        """Return the choice of channels, among those that the features of a table read."""
        among = np.arange(1, len(points) + 1) if self._has_points_alone else points

        n_trees = n_scouts(len(table.labels))

        def importances() -> Array:
            forest = small_leaf_forest(table, among, self.model.seed, n_trees, by_clock=by_clock)
            return forest.feature_importances_

        learn = self._learn(points, limit, n_trees, by_clock=by_clock)
        held_out = self._held_out(table, spending, points, limit, learn)
        return ChannelChoice(held_out, self.costs, importances, self.confidence)

    def _fit(self, offered: Offer, points: Integers, limit: int) -> FittedConfidence:
        """Fit a classifier to all streams, and calibrate it on held-out ones."""
        (features, by_clock, known), streams = offered, self.streams
        learn = self._learn(points, limit, N_SMALL_TREES, by_clock=by_clock)
        clock, max_silence = clock_of(features), self.pricing.max_silence
        _, classifier, table = fit_until_all_tested(
            learn, streams, features, max_silence, clock, self._kept(points), known
        )
        lengths = episode_lengths(streams, table.features, max_silence)
        spending = self.pricing.spending(streams, table.features, lengths)
        held_out = self._held_out(table, spending, points, limit, learn)
        followed = held_out.follow_repeatedly(range(len(table.features)), repetitions(len(streams)))
        clock = clock_of(table.features)

        def at(confidence: float | None) -> Confident:
            return choose_confidence(followed, self.costs, limit, clock, confidence).first(followed.n_streams)

        chosen = at(self.confidence)
        require_decided(chosen.columns, self.confidence, lambda lower: at(lower).columns)
        calibrated = classifier.calibrated(chosen.calibration)
        if self.confidence is not None:
            own = Trajectories.of(calibrated, table, limit).confidence
            require_labels("the classifier gives no stream", self.confidence, own)
        said = followed.first().calibrated(chosen.calibration, followed.n_classes)
        columns = chosen.columns
        usual = (columns >= 0) & said.is_right()[np.arange(len(columns)), columns]
        decide = partial(decided_rightly, chosen=chosen)
        later = held_later(held_out, streams.starts, decide, usual)
        return FittedConfidence(calibrated, table, said, chosen, later)

    def _with_advice(self, fitted: FittedConfidence, limit: int) -> dict[str, Any]:
        """Return what held-out streams gave, and when it would pay to wait, if more would be right later."""
        facts = fitted.held_out
        if self.confidence is not None:
            return facts
        guess = guess_as_good(facts)
        guessed = None if guess is None else guess.share
        costs, columns = self.costs.additive, fitted.chosen.columns
        found = worth_waiting(fitted.followed, columns, costs, limit, guessed)
        return facts if found is None else {**facts, "waiting": found._asdict()}

    def _held_out(
        self, table: FeatureTable, spending: Spending, points: Integers, limit: int, learn: Learn
    ) -> OutOfFold:
        return OutOfFold(
            table,
            spending,
            learn,
            limit,
            table.groups,
            self.model.seed,
            n_jobs=-1,
            points=points,
            has_points_alone=self._has_points_alone,
        )

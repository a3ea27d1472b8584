"""Search features, fit the classifier, and certify its threshold."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from feature_extractors.arrays import Array
from feature_extractors.base import Feature
from streamfs.base.progress import Progress, quiet
from streamfs.classifiers.calibration import Calibration
from streamfs.classifiers.crossings import levels_of
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import FeatureTable, tabulate
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.falling import Falling
from streamfs.procedure.stopping import TickThresholds
from streamfs.training.cross_validation import Learn, class_indices
from streamfs.training.held_out import Followed, OutOfFold
from streamfs.training.later import Later, Mask, held_later
from streamfs.training.learners import BOOSTING, fit_until_all_tested, since
from streamfs.training.promises.candidates import Candidates
from streamfs.training.promises.certificate import Certificate, certify, walk
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.falling_thresholds import FALLS, cheapest_fall
from streamfs.training.promises.finalists import (
    N_FOR_ALL,
    SURE,
    Finalist,
    Way,
    doubt_of,
    finalists,
)
from streamfs.training.promises.giving_up import Patience, cheapest_patience
from streamfs.training.promises.held_out import Curves, HeldOut, accuracy_where, curve_of
from streamfs.training.promises.policies import opens_at_once
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.quantity_moves import QuantityMoves
from streamfs.training.promises.refusal import refusal, too_dear
from streamfs.training.promises.search_log import SearchLog
from streamfs.training.promises.split import TrainTestSplit
from streamfs.training.promises.subset_score import (
    DOUBT,
    Subset,
    SubsetScore,
    evaluate_starts,
    evaluate_subset,
)
from streamfs.training.promises.subset_scorer import SEARCHING, SubsetScorer
from streamfs.training.promises.subset_search import SubsetSearch, search_in_turns

if TYPE_CHECKING:
    from streamfs.classifiers.forest import Forest
    from streamfs.classifiers.tree import Tree

MOST_FOLLOWED, MOST_REPETITIONS = 600, 3
"""Few streams are held out again in other folds, while no more are followed in all, so often at most."""

N_HALVES = 4
"""Halves of the training streams that are drawn to see what more streams would bring."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted and calibrated classifier, which is not changed any more.

    `followed` are the training streams as such classifiers saw them, held out, with calibrated confidence. Nothing
    is decided before the tick `start`, and streams are given up as `patience` says. If thresholds are `falling`,
    confidence is that which compares with the threshold of tick 1, here and in trajectories.
    """

    features: tuple[Feature, ...]
    classifier: "Tree | Forest"
    learner: str
    followed: Followed
    start: int = 1
    patience: Patience | None = None
    falling: Falling | None = None

    @cached_property
    def held_out(self) -> Curve:
        """The curve of all thresholds on the training streams, held out."""
        return curve_of(self.followed if self.patience is None else self.followed.giving_up(*self.patience))

    def rule(self, threshold: float) -> TickThresholds:
        """Return the rule by which streams are decided with a threshold, above which no floor has any effect."""
        make = TickThresholds.since if self.falling is None else self.falling.rule
        if self.patience is None:
            return make(self.start, threshold)
        return make(self.start, threshold, self.patience.tick, min(self.patience.floor, threshold))

    @property
    def levels(self) -> list[Array]:
        """The thresholds with which each feature is compared."""
        return levels_of(self.classifier, dict(enumerate(self.features)))

    def stopping(self, threshold: float) -> TickThresholds | None:
        """Return the same; None if it is one threshold at every tick."""
        is_plain = self.start == 1 and self.patience is None and self.falling is None
        return None if is_plain else self.rule(threshold)

    def evidence(self, threshold: float) -> dict[str, float]:
        """Return from when on the model decides and gives up with a threshold, as plain JSON."""
        found: dict[str, float] = {"start": self.start}
        if self.patience is not None:
            found |= {"patience": self.patience.tick, "floor": min(self.patience.floor, threshold)}
        return found if self.falling is None else found | self.falling._asdict()

    def trajectories(self, table: FeatureTable, time_limit: int) -> Trajectories:
        """Classify every tick of a table from the start up to the time limit, or until streams are given up."""
        found = Trajectories.of(self.classifier, table, time_limit)
        ticks = np.arange(1, found.confidence.shape[1] + 1)
        found = found.deciding(ticks >= self.start)
        if self.falling is not None:
            found = replace(found, confidence=self.falling.flattened(found.confidence, ticks))
        if self.patience is None:
            return found
        return found.giving_up(np.where(ticks >= self.patience.tick, self.patience.floor, 0.0))


@dataclass(frozen=True, eq=False)
class PromiseTrainer:
    """Trains procedures that keep promises.

    The search scores subsets by `scouted`, whose classifiers are smaller; of the `learners`, the one with which
    the features found are the cheapest fits the classifier. Decisions begin at one of the ticks `starts`, and
    thresholds may fall by one of the `falls`. What costs more than `max_cost` on average is refused.
    """

    split: TrainTestSplit
    candidates: Candidates
    pricing: Pricing
    scouted: HeldOut
    learners: Mapping[str, Learn]
    time_limit: int
    starts: Sequence[int] = (1,)
    max_cost: float = inf
    falls: Sequence[float] = FALLS

    def scorer(
        self,
        promise: Promise,
        seconds: float | None = None,
        log: SearchLog | None = None,
        curves: dict[Subset, Curves] | None = None,
        progress: Progress = quiet,
    ) -> SubsetScorer:
        """Return a scorer of subsets for a promise."""
        shared = {} if curves is None else curves
        free, n_test = self.candidates.free, len(self.split.test)
        bounds = self.starts, self.max_cost
        return SubsetScorer(self.scouted, promise, n_test, free, seconds, progress, log, shared, *bounds)

    def search(self, scorer: SubsetScorer, strategy: str = "floating") -> SubsetScore:
        """Search the cheapest features by a floating search of the groupings in turn, or among all subsets.

        All features, and all columns as they were recorded, are scored first. Where features share the cost of
        their channels, quantities are moved at the end.
        """
        search = SubsetSearch(scorer)
        if strategy == "exhaustive":
            search.exhaust([(place,) for place in self.candidates.proposed])
        else:
            search.score_beside(self.candidates.plain)
            search_in_turns(search, self.candidates.groupings)
            if self.pricing.shares_channels:
                search.move(QuantityMoves(self.candidates.features))
        scorer.progress(SEARCHING, len(scorer.scores), len(scorer.scores))
        return scorer.best

    def with_features(self, features: Sequence[Feature]) -> Self:
        """Return the same trainer with these features, and the free ones, as its only candidates."""
        free = tuple(self.candidates.features[place] for place in self.candidates.free)
        every, train, pricing = (*free, *features), self.split.train, self.pricing
        table = tabulate(train, every, pricing.max_silence)
        scouted = replace(self.scouted, table=table, spending=pricing.spending_of(train, table))
        n_free, offers = len(free), self.candidates.offers
        candidates = Candidates(every, tuple(range(n_free)), tuple(range(n_free, len(every))), (), offers)
        return replace(self, candidates=candidates, scouted=scouted)

    def fit(self, subset: Subset, promise: Promise, *starts: int) -> FittedModel:
        """Fit the best learner to all training streams, from the best of some ticks on, and calibrate it."""
        ways = [(subset, start, DOUBT) for start in starts or (1,)]
        return self._fitted_best(self._tried(ways, promise))

    def fit_best(self, scorer: SubsetScorer) -> FittedModel:
        """Fit the best of what a search has scored with the best learner, from its tick or the first one on.

        All features, and all columns as they were recorded, may also wait until the last of the ticks.
        """
        plain = [tuple(sorted(subset)) for subset in self.candidates.plain]
        ways, first = dict[Way, None](), self.starts[0]
        for each in finalists(scorer.scores.values(), plain):
            is_plain = each.subset in plain
            starts = (each.start, first, self.starts[-1]) if is_plain else (each.start, first)
            ways |= dict.fromkeys((each.subset, at, doubt_of(is_plain, at > first)) for at in starts)
        return self._fitted_best(self._tried(ways, scorer.promise))

    def _tried(self, ways: Iterable[Way], promise: Promise) -> list[Finalist]:
        """Follow held-out streams by some ways with the first learner, and by the leading ones with the others.

        The best that does not wait is among these: another learner may be sure sooner.
        """
        first, *others = self.learners
        tried = [self._followed(way, first, promise) for way in ways]
        leading = sorted(tried, key=_score)[-N_FOR_ALL:]
        if all(each.way[1] > self.starts[0] for each in leading):
            leading += sorted((each for each in tried if each.way[1] == self.starts[0]), key=_score)[-1:]
        for name in others:
            if name != BOOSTING or max(tried, key=_score).score.chance < SURE:
                tried += [self._followed(each.way, name, promise) for each in leading]
        return tried

    def _followed(self, way: Way, learner: str, promise: Promise) -> Finalist:
        """Follow held-out streams with a subset and a learner, fitted to the ticks from which it decides.

        Its confidence is calibrated, and its thresholds fall where that is better, before it is scored.
        """
        subset, start, doubt = way
        n_test, chosen = len(self.split.test), [*self.candidates.free, *subset]
        followed = self.held_out(learner, start).follow_repeatedly(chosen, self._n_repetitions()).since(start)
        records = followed.records()
        calibration = Calibration.fit(records.confidence, records.is_right, records.weights)
        said = followed.calibrated(calibration, followed.n_classes)
        falling = cheapest_fall(said, promise, n_test, self.max_cost, self.time_limit, self.falls)
        if falling is not None:
            said = said.flattened(falling)
        score = evaluate_subset(curve_of(said), promise, n_test, subset, self.max_cost, doubt)
        return Finalist(way, learner, score, said, calibration, falling)

    def _n_repetitions(self) -> int:
        """Return how often streams are held out: one division of few streams is luck."""
        if self.scouted.leaves_groups_out:
            return 1
        return min(MOST_REPETITIONS, max(1, MOST_FOLLOWED // len(self.split.train)))

    def _fitted_best(self, tried: Iterable[Finalist]) -> FittedModel:
        """Fit the best that tests a feature: where a class is rare, a tree may say that all are of the other."""
        *better, worst = sorted(tried, key=_score, reverse=True)
        for each in better:
            with suppress(TrainingError):
                return self._fitted(each)
        return self._fitted(worst)

    def _fitted(self, best: Finalist) -> FittedModel:
        subset, start, _ = best.way
        features = [self.candidates.features[i] for i in (*self.candidates.free, *subset)]
        first = next((place for place, feature in enumerate(features) if opens_at_once(feature)), -1)
        is_later = any(feature.columns and not opens_at_once(feature) for feature in features)
        kept = first if is_later else -1  # an episode needs a channel to open
        tested, fitted, _ = fit_until_all_tested(
            self._learner(best.learner, start), self.split.train, features, self.pricing.max_silence, kept
        )
        classifier = cast("Tree | Forest", fitted.frozen().calibrated(best.calibration))
        read = tuple(features[i] for i in tested)
        return FittedModel(read, classifier, best.learner, best.followed, start, falling=best.falling)

    def tuned(self, model: FittedModel, promise: Promise) -> FittedModel:
        """Return a model that gives streams up, if that is better on held-out streams."""
        n_test = len(self.split.test)
        patience = cheapest_patience(model.followed, promise, model.start, n_test, self.max_cost)
        return replace(model, patience=patience)

    def certify(self, model: FittedModel, promise: Promise) -> Certificate:
        """Test the thresholds of a model on the test streams.

        Raise a `PromiseError` if none passes, or if the last that passes costs too much.
        """
        curve = self.curve(model, self.split.test)
        certificate = certify(curve, promise, walk(model.held_out, promise, curve.n_streams).thresholds)
        if certificate is None:
            classes, gain = np.unique(self.split.train.labels).tolist(), self.gain(model, promise)
            n_streams = len(self.split.train) + curve.n_streams
            raise refusal(curve, promise, n_streams, model.held_out, classes, gain, self.max_cost)
        if certificate.cost > self.max_cost:
            raise too_dear(curve, certificate, self.max_cost)
        return certificate

    def gain(self, model: FittedModel, promise: Promise) -> float:
        """Return how much more accurate such models are than those fitted to half of the streams, at least 0.

        Both are followed on the same held-out streams, and compared where as many are labelled: as many as were
        promised, or else half. What such models are is not known of one that others have fitted: then it is 0.
        """
        if model.learner not in self.learners:
            return 0.0
        chosen, held_out = self._places(model), self.held_out(model.learner, model.start)
        share = promise.completeness or 0.5
        halves = (
            held_out.trained_on_part(0.5, draw).follow(chosen).since(model.start) for draw in range(N_HALVES)
        )
        if model.falling is not None:
            halves = (half.flattened(model.falling) for half in halves)
        before = [accuracy_where(curve_of(half), share) for half in halves]
        return max(0.0, accuracy_where(curve_of(model.followed), share) - float(np.mean(before)))

    def later(self, model: FittedModel, threshold: float) -> Later | None:
        """Return how later streams fare with such models of earlier ones, if surely worse: see `held_later`."""
        if model.learner not in self.learners:
            return None

        def decide(held_out: OutOfFold) -> Mask:
            followed = held_out.follow(self._places(model)).since(model.start)
            if model.classifier.calibration is not None:
                followed = followed.calibrated(model.classifier.calibration, followed.n_classes)
            return rightly(followed if model.falling is None else followed.flattened(model.falling))

        def rightly(followed: Followed) -> Mask:
            given_up = followed if model.patience is None else followed.giving_up(*model.patience)
            labels, _ = given_up.trajectories.decide(threshold)
            return np.asarray((labels >= 0) & (labels == followed.truth))

        usual = rightly(model.followed.first())
        return held_later(self.held_out(model.learner, model.start), self.split.train.starts, decide, usual)

    def _places(self, model: FittedModel) -> list[int]:
        """Return the places of a model's features among the candidates."""
        place = {feature.name: i for i, feature in enumerate(self.candidates.features)}
        return [place[feature.name] for feature in model.features]

    def curve(self, model: FittedModel, streams: StreamSet) -> Curve:
        """Follow streams that the model was not fitted to through all its thresholds."""
        return curve_of(self.follow(model, streams))

    def follow(self, model: FittedModel, streams: StreamSet) -> Followed:
        """Follow streams that the model was not fitted to, tick by tick."""
        table = tabulate(streams, model.features, self.pricing.max_silence)
        trajectories = model.trajectories(table, self.time_limit)
        classes = np.unique(self.split.train.labels)
        truth = class_indices(table, classes)
        spending = self.pricing.spending_of(streams, table)
        spent = spending.until(model.features, model.levels if spending.counts_levels else None)
        n_ticks = trajectories.confidence.shape[1]
        return Followed(trajectories, truth, spent[:, :n_ticks], np.arange(1, n_ticks + 1), len(classes))

    def held_out(self, learner: str, start: int = 1) -> HeldOut:
        """Return curves of subsets at every tick, with one of the learners, fitted from a tick on."""
        return replace(self.scouted, learn=self._learner(learner, start), most_ticks=None)

    def evaluate(self, subset: Sequence[int], promise: Promise) -> SubsetScore:
        """Score a subset on held-out streams, as the search does."""
        return self._score(self.scouted.curves([*self.candidates.free, *subset], self.starts), subset, promise)

    def evaluate_learner(self, name: str, found: SubsetScore, promise: Promise) -> SubsetScore:
        """Score a subset with one of the learners, as `fit` does."""
        chosen = [*self.candidates.free, *found.subset]
        curves = self.held_out(name, found.start).curves(chosen, (found.start,))
        return self._score(curves, found.subset, promise)

    def _learner(self, name: str, start: int) -> Learn:
        return since(self.learners[name], start, self.time_limit)

    def _score(self, curves: Curves, subset: Sequence[int], promise: Promise) -> SubsetScore:
        return evaluate_starts(curves, promise, len(self.split.test), tuple(subset), self.max_cost)


def _score(finalist: Finalist) -> float:
    return finalist.score.score

"""Search features, fit the classifier, and certify its threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, quiet
from streamfs.classifiers.calibration import Calibration
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import tabulate
from streamfs.data.streams import StreamSet
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.cross_validation import Learn, class_indices
from streamfs.training.learners import fit_until_all_tested
from streamfs.training.promises.candidates import Candidates
from streamfs.training.promises.certificate import Certificate, certify, walk
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.held_out import HeldOut
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.refusal import refusal
from streamfs.training.promises.search_log import SearchLog
from streamfs.training.promises.split import TrainTestSplit
from streamfs.training.promises.subset_score import Subset, SubsetScore, evaluate_subset
from streamfs.training.promises.subset_scorer import SEARCHING, SubsetScorer
from streamfs.training.promises.subset_search import SubsetSearch, search_in_turns

if TYPE_CHECKING:
    from streamfs.classifiers.forest import Forest
    from streamfs.classifiers.tree import Tree


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted and calibrated classifier, which is not changed any more.

    `held_out` is the curve of such classifiers on the training streams, held out, over calibrated thresholds.
    """

    features: tuple[Feature, ...]
    classifier: "Tree | Forest"
    learner: str
    held_out: Curve


@dataclass(frozen=True, eq=False)
class PromiseTrainer:
    """Trains procedures that keep promises.

    The search scores subsets by `scouted`, whose classifiers are smaller; of the `learners`, the one with which
    the features found are the cheapest fits the classifier.
    """

    split: TrainTestSplit
    candidates: Candidates
    pricing: Pricing
    scouted: HeldOut
    learners: Mapping[str, Learn]
    time_limit: int

    def scorer(
        self,
        promise: Promise,
        seconds: float | None = None,
        log: SearchLog | None = None,
        curves: dict[Subset, Curve] | None = None,
        progress: Progress = quiet,
    ) -> SubsetScorer:
        """Return a scorer of subsets for a promise."""
        shared = {} if curves is None else curves
        free, n_test = self.candidates.free, len(self.split.test)
        return SubsetScorer(self.scouted, promise, n_test, free, seconds, progress, log, shared)

    def search(self, scorer: SubsetScorer, strategy: str = "floating") -> SubsetScore:
        """Search the cheapest features by a floating search of the groupings in turn, or among all subsets."""
        search = SubsetSearch(scorer)
        if strategy == "exhaustive":
            search.exhaust([(place,) for place in self.candidates.proposed])
        else:
            search_in_turns(search, self.candidates.groupings)
        scorer.progress(SEARCHING, len(scorer.scores), len(scorer.scores))
        return scorer.best

    def fit(self, subset: Subset, promise: Promise) -> FittedModel:
        """Fit the classifier to all training streams, and calibrate it."""
        chosen = [*self.candidates.free, *subset]
        followed = {name: self.held_out(name).curve_and_records(chosen) for name in self.learners}
        name = max(self.learners, key=lambda name: self._score(followed[name][0], subset, promise).score)
        curve, records = followed[name]
        calibration = Calibration.fit(records.confidence, records.is_right, records.weights)
        features = [self.candidates.features[i] for i in chosen]
        tested, fitted = fit_until_all_tested(
            self.learners[name], self.split.train, features, self.pricing.max_silence
        )
        classifier = cast("Tree | Forest", fitted.calibrated(calibration))
        calibrated = replace(curve, thresholds=calibration.of(curve.thresholds, n_classes=classifier.n_classes))
        return FittedModel(tuple(features[i] for i in tested), classifier, name, calibrated)

    def certify(self, model: FittedModel, promise: Promise) -> Certificate:
        """Test the thresholds of a model on the test streams; raise a `PromiseError` if none passes."""
        curve = self.curve(model, self.split.test)
        certificate = certify(curve, promise, walk(model.held_out, promise, curve.n_streams))
        if certificate is None:
            raise refusal(curve, promise, len(self.split.train) + curve.n_streams)
        return certificate

    def curve(self, model: FittedModel, streams: StreamSet) -> Curve:
        """Follow streams that the model was not fitted to through all its thresholds."""
        table = tabulate(streams, model.features, self.pricing.max_silence)
        trajectories = Trajectories.of(model.classifier, table, self.time_limit)
        truth = class_indices(table, np.unique(self.split.train.labels))
        spent = self.pricing.spending(streams, model.features, table.lengths).until(model.features)
        return Curve.of(trajectories, truth, spent)

    def held_out(self, learner: str) -> HeldOut:
        """Return curves of subsets at every tick, with one of the learners."""
        return replace(self.scouted, learn=self.learners[learner], most_ticks=None)

    def evaluate(self, subset: Sequence[int], promise: Promise, learner: str | None = None) -> SubsetScore:
        """Score a subset on held-out streams, by default as the search does."""
        held_out = self.scouted if learner is None else self.held_out(learner)
        return self._score(held_out.curve([*self.candidates.free, *subset]), subset, promise)

    def _score(self, curve: Curve, subset: Sequence[int], promise: Promise) -> SubsetScore:
        return evaluate_subset(curve, promise, len(self.split.test), tuple(subset))

"""Train a procedure on ranked features, or on all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature
from streamfs.base.progress import Progress, step
from streamfs.classifiers.classifier import Classifier
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import FeatureTable, require_episodes, tabulate
from streamfs.data.streams import StreamSet
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.kin import Kin
from streamfs.procedure.procedure import Procedure
from streamfs.selection.by_name import MakeSelector
from streamfs.training import arguments
from streamfs.training.description import made_with, with_card, with_held_out
from streamfs.training.held_out import Followed, OutOfFold, decided, decision_facts
from streamfs.training.learners import FittedFeatures, fit_until_all_tested
from streamfs.training.models import TrainingModel, training_positions
from streamfs.training.subset_size import SizeValidation, choose_size
from streamfs.training.true_threshold import TrueThreshold
from streamfs.training.unlabelled import leaf_reason, require_labels


@dataclass(frozen=True, eq=False)
class RankedFeatures:
    """Streams, the features on offer with their costs, what ranks them, how many to take, and what to fit."""

    streams: StreamSet
    features: Sequence[Feature]
    pricing: Pricing
    costs: Costs | None
    make_selector: MakeSelector | None
    n_features: int | None
    model: TrainingModel
    time_limit: int | timedelta | None

    def procedure(self, progress: Progress) -> Procedure:
        """Rank the features, choose how many, and fit a classifier on them."""
        streams, features, pricing = self.streams, self.features, self.pricing
        costs = pricing.costs(streams, features) if self.costs is None else self.costs
        with step(progress, "computing the features"):
            table = tabulate(streams, features, pricing.max_silence)
        require_episodes(streams, table.features, table.lengths)
        longest = int(table.lengths.max())
        limit = arguments.whole_ticks(self.time_limit, longest, streams.period)
        positions = training_positions(longest, limit)
        learn = self.model.learner(len(streams.classes), positions, limit)
        validation = SizeValidation(table, costs, learn, limit, self.model.seed, self.model.is_tree)
        offered = self._offered(validation, positions, progress)
        with step(progress, "building the classifier"):
            fitted = fit_until_all_tested(learn, streams, [features[i] for i in offered], pricing.max_silence)
        with step(progress, "deciding held-out streams"):
            stated = self._stated(validation, offered, fitted)
        tested = offered[fitted.chosen]
        procedure = Procedure(
            tuple(features[i] for i in tested),
            stated.classifier,
            streams.classes,
            costs.take(tested),
            stated.threshold,
            limit,
            streams.period,
            pricing.max_silence,
            costs.take(offered),
            made_with(self.model.seed, streams, [features[i].name for i in offered]),
        )
        if stated.followed is not None:
            held_out = stated.followed, stated.columns, stated.confidence
            facts = {**decision_facts(*held_out, table.labels), "asked": self.model.confidence}
            seen = decided(procedure, table.with_features(tested.tolist()), *held_out)
            procedure = with_held_out(procedure, facts, seen, stated.followed, Kin.of(streams))
        return with_card(procedure, streams, pricing)

    def _offered(self, validation: SizeValidation, positions: Integers, progress: Progress) -> Integers:
        """Return the indices of the features that are offered to the classifier, best first; all if not ranked."""
        table: FeatureTable = validation.table
        if self.make_selector is None:
            return np.arange(len(table.features))
        with step(progress, "ranking the features"):
            selector = self.make_selector(
                validation.costs,
                confidence=self.model.confidence,
                horizon=validation.time_limit,
                positions=positions,
                random_state=validation.seed,
            )
            ranking: Integers = selector.fit(table).ranking_
        if self.n_features is not None:
            return ranking[: self.n_features]
        return ranking[: choose_size(validation, ranking, self.model.confidence, progress)]

    def _stated(self, validation: SizeValidation, offered: Integers, fitted: FittedFeatures) -> "_Stated":
        """Calibrate the classifier on held-out streams; raise a TrainingError if no stream is given a label.

        If a class has one stream only, none can be held out, and nothing is calibrated.
        """
        table, limit, confidence = validation.table, validation.time_limit, self.model.confidence
        classifier = fitted.classifier
        own = Trajectories.of(classifier, fitted.table, limit).confidence
        if np.unique(table.labels, return_counts=True)[1].min() < 2:
            require_labels("the classifier gives no stream", confidence, own)
            return _Stated(classifier, confidence)
        spending = self.pricing.spending(self.streams, table.features, table.lengths)
        out_of_fold = OutOfFold(table, spending, validation.learn, limit, table.groups, validation.seed)
        followed = out_of_fold.follow(offered.tolist())
        reason = leaf_reason(confidence, table.labels, out_of_fold.folds) if validation.is_tree else ""
        plain = followed.trajectories.confidence
        require_labels("the classifier gives no held-out stream", confidence, plain, own, reason=reason)
        require_labels("the classifier gives no stream", confidence, own, reason=reason)
        true = TrueThreshold.of(followed, confidence)
        said = followed.calibrated(true.calibration, followed.n_classes)
        return _Stated(classifier.calibrated(true.calibration), true.threshold, said, true.columns, true.stated)


class _Stated(NamedTuple):
    """A classifier that is calibrated, if it can be, its threshold, and what held-out streams showed.

    `columns` are those in which these were decided, and `confidence` what was stated there.
    """

    classifier: Classifier
    threshold: float
    followed: Followed | None = None
    columns: Integers = np.zeros(0, np.int64)
    confidence: Array = np.zeros(0)

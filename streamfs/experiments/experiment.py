"""The paper's experiment: several ways to train a classifier, compared over confidence thresholds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature, channels_of
from streamfs.classifiers.c45 import C45Classifier
from streamfs.classifiers.classifier import Classifier
from streamfs.classifiers.tree import Tree
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.costs.spending import messages_sent
from streamfs.data.feature_table import FeatureTable, require_episodes, tabulate
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.experiments.outcome import (
    COST_BASED,
    MEASURES,
    NAIVE,
    NO_FLOOR,
    PROMISE,
    PROMISED_COMPLETENESS,
    RELIEF,
    STREAM_RELIEF,
    Outcome,
    check_method,
)
from streamfs.relief import StreamRelief, position_grid
from streamfs.selection.by_name import SELECTORS, MakeSelector, Selector
from streamfs.training.promises import Promise
from streamfs.training.promises.held_out import Curves
from streamfs.training.promises.problem import trainer_of
from streamfs.training.query_sensitive import NAMED, NeighborsLearner, named_neighbors
from streamfs.training.subset_size import SizeValidation, choose_size


class Experiment:
    """One split of labelled streams, on which every method is trained and tested.

    As in the paper every feature tuple is an instance of weight 1 (`train` weights them by stream), costs are
    transmission rates, and trees are C4.5 with Laplace's correction in the leaves. The time limit is the length of
    the longest train stream. The number of features is chosen by the same rule for Relief and for StreamRelief, on
    folds of streams, and both take their instances at the same dozen evenly spread ticks; the paper takes every
    tick. An episode starts, for every method, at the tick at which all channels of all features have a value;
    `train` starts it as soon as those of the chosen features have.
    """

    def __init__(
        self,
        training: StreamSet,
        testing: StreamSet,
        features: Sequence[Feature],
        prices: Mapping[str, float] | None = None,
        seed: int = 0,
    ) -> None:
        for what, part in (("train on", training), ("test on", testing)):
            if not len(part):
                raise DataError(f"there are no streams to {what}, expected some of each class: record more")
        radio = profile("transmissions")
        self._streams, self._prices = (training, testing), prices
        self.training, self.testing = tabulate(training, features), tabulate(testing, features)
        require_episodes(training, self.training.features, self.training.lengths)
        self.costs = Costs.estimate(training, features, radio, prices=prices)
        self._sent = messages_sent(testing, channels_of(features), prices)
        self._opening = testing.lengths - self.testing.lengths
        self.time_limit = int(self.training.lengths.max())
        self.seed = seed
        self._validation = SizeValidation(self.training, self.costs, self._fit, self.time_limit, seed)
        self._trees: dict[tuple[int, ...], tuple[Tree, Trajectories]] = {}

    def run(self, method: str, thresholds: Sequence[float], n_features: int | None = None) -> Iterator[Outcome]:
        """Train by a method, and test at each confidence threshold.

        The number of ranked features to offer, `n_features`, is by default cross-validated at each threshold.
        """
        if n_features is not None and not 1 <= n_features <= len(self.costs):
            raise ValueError(f"n_features is {n_features}, expected 1 to {len(self.costs)}")
        check_method(method)
        if method in (NAIVE, COST_BASED):
            return self._run_on_all(method, thresholds)
        if method in NAMED:
            return self._run_lazy(method, thresholds)
        if method == PROMISE:
            return self._run_promise(thresholds)
        return self._run_selection(method, thresholds, n_features)

    def _run_on_all(self, method: str, thresholds: Sequence[float]) -> Iterator[Outcome]:
        tree = self._fit(self.training, self.costs.each if method == COST_BASED else None)
        trajectories = Trajectories.of(tree, self.testing, self.time_limit)
        for confidence in thresholds:
            yield self._outcome(method, confidence, np.arange(len(self.costs)), tree, trajectories)

    def _run_selection(
        self, method: str, thresholds: Sequence[float], n_features: int | None
    ) -> Iterator[Outcome]:
        selector = self._selector(method)
        for confidence in thresholds:
            if isinstance(selector, StreamRelief):
                selector = selector.at_confidence(confidence)
            chosen = selector.ranking_[:n_features]
            if n_features is None:
                chosen = chosen[: self._size(chosen, confidence)]
            yield self._outcome(method, confidence, chosen, *self._tree_of(chosen))

    def _run_lazy(self, method: str, thresholds: Sequence[float]) -> Iterator[Outcome]:
        """Fit neighbours for each threshold: the higher it is, the more of them vote."""
        everything, positions = np.arange(len(self.costs)), position_grid(self.time_limit)
        for confidence in thresholds:
            try:
                model = named_neighbors(method, confidence, len(np.unique(self.training.labels)))
                lazy = NeighborsLearner(model, positions, self.seed)(self.training)
            except TrainingError:  # no number of neighbours reaches this confidence
                yield self._undecided(method, confidence)
                continue
            trajectories = Trajectories.of(lazy, self.testing, self.time_limit)
            yield self._outcome(method, confidence, everything, lazy, trajectories)

    def _run_promise(self, accuracies: Sequence[float]) -> Iterator[Outcome]:
        """Search and test each promise; each subset is scored only once."""
        training, testing = self._streams
        pricing = Pricing(profile("transmissions"), self._prices)
        trainer = trainer_of(training, self.training.features, pricing, self.time_limit, self.seed)
        features = (*self.training.features, *(trainer.candidates.features[i] for i in trainer.candidates.free))
        table, curves = tabulate(testing, list(dict.fromkeys(features))), dict[tuple[int, ...], Curves]()
        for accuracy in accuracies:
            promise = Promise(accuracy, PROMISED_COMPLETENESS)
            try:
                trainer.split.require_enough(promise)
                found = trainer.search(trainer.scorer(promise, curves=curves))
                model = trainer.fit(found.subset, promise, found.start)
                threshold = trainer.certify(model, promise).point.threshold
            except DataError:  # or a PromiseError: these streams cannot show that the promise is kept
                yield self._refused(accuracy)
                continue
            chosen = [table.features.index(feature) for feature in model.features]
            trajectories = model.trajectories(table.with_features(chosen), self.time_limit)
            paid = np.array([i for i in chosen if i < len(self.costs)])
            outcome = self._outcome(PROMISE, threshold, paid, None, trajectories)
            yield replace(outcome, confidence=accuracy)

    def _refused(self, accuracy: float) -> Outcome:
        """Return the outcome of a refused promise."""
        unknown = dict.fromkeys(MEASURES, float("nan"))
        return Outcome(PROMISE, accuracy, self.seed, **unknown)  # type: ignore[arg-type]

    def _undecided(self, method: str, confidence: float) -> Outcome:
        """Return the outcome of a classifier that cannot be fitted: no stream gets a label or sends anything."""
        nothing = dict.fromkeys(("ticks", "cost", "sent", "offered_cost"), 0.0)
        return Outcome(
            method, confidence, self.seed, 0.0, float("nan"), **nothing, n_tested=0, n_offered=len(self.costs)
        )

    def _fit(self, table: FeatureTable, costs: Array | None = None) -> Tree:
        values, labels, _ = table.instances(self.time_limit)
        classifier = C45Classifier("gain_ratio" if costs is None else "gain_per_cost", feature_costs=costs)
        return classifier.fit(values, labels).tree_

    def _selector(self, method: str) -> Selector:
        makers: dict[str, MakeSelector] = {
            **SELECTORS,
            RELIEF: SELECTORS["relief"],
            STREAM_RELIEF: SELECTORS["streamrelief"],
            NO_FLOOR: partial(StreamRelief, floor=None),
        }
        selector = makers[method](
            self.costs,
            confidence=1.0,
            horizon=self.time_limit,
            positions=position_grid(self.time_limit),
            random_state=self.seed,
        )
        selector.fit(self.training)
        return selector

    def _size(self, ranking: Integers, confidence: float) -> int:
        try:
            return choose_size(self._validation, ranking, confidence)
        except TrainingError:  # no number of features labels any stream: one costs least
            return 1

    def _tree_of(self, chosen: Integers) -> tuple[Tree, Trajectories]:
        key = tuple(chosen.tolist())
        if key not in self._trees:
            tree = self._fit(self.training.with_features(key))
            self._trees[key] = tree, Trajectories.of(tree, self.testing.with_features(key), self.time_limit)
        return self._trees[key]

    def _outcome(
        self,
        method: str,
        confidence: float,
        offered: Integers,
        classifier: Classifier | None,
        trajectories: Trajectories,
    ) -> Outcome:
        """Measure a method at a threshold; without a classifier, count all offered features as tested."""
        classes = np.unique(self.training.labels)
        found, ticks = trajectories.decide(confidence)
        labelled = found >= 0
        right = classes[found[labelled]] == self.testing.labels[labelled]
        tested = offered if classifier is None else offered[list(classifier.features_tested())]
        spent = float(ticks.mean())
        return Outcome(
            method,
            confidence,
            self.seed,
            completeness=float(labelled.mean()),
            accuracy=float(right.mean()) if len(right) else float("nan"),
            ticks=spent,
            cost=float(np.mean(trajectories.spent(self.costs.take(tested), ticks))),
            sent=float(np.mean(self._messages(tested, trajectories, ticks))),
            offered_cost=self.costs.take(offered).classification(spent),
            n_tested=len(tested),
            n_offered=len(offered),
        )

    def _messages(self, tested: Integers, trajectories: Trajectories, ticks: Integers) -> Array:
        """Return the cost of each stream's messages: of a channel, for as long as it is requested."""
        features = [self.training.features[i] for i in tested]
        streams, sent = np.arange(len(ticks)), np.zeros(len(ticks))
        for channel in channels_of(features):
            last = trajectories.asked_ticks([channel in feature.columns for feature in features], ticks)
            sent += self._sent[channel][streams, self._opening + last - 1]
        return sent

"""The experiment of the paper: four ways to build a classifier, compared over confidence thresholds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import t as student

from feature_extractors.base import Array, Feature, channels_of
from streamfs.classifiers.c45 import C45Classifier
from streamfs.classifiers.tree import Tree
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.costs.spending import messages_sent
from streamfs.data.feature_table import FeatureTable, require_episodes, tabulate
from streamfs.data.streams import Integers, StreamSet
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.procedure import Classifier
from streamfs.relief import StreamRelief, position_grid
from streamfs.selection.by_name import SELECTORS, MakeSelector, Selector
from streamfs.training.promises import Promise
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.plan import maker_of
from streamfs.training.query_sensitive import NAMED, NeighborsLearner, named_neighbors
from streamfs.training.subset_size import CrossValidation, choose_size

NAIVE, COST_BASED, RELIEF, LITERAL, STREAM_RELIEF = "naive", "cost-based", "Relief", "literal", "StreamRelief"
METHODS = (NAIVE, COST_BASED, RELIEF, LITERAL, STREAM_RELIEF)
"""The four ways of section 3: C4.5 on all features, C4.5 that splits by gain over cost, and C4.5 on the features
that Relief or StreamRelief selects, the last one to the letter of the paper and with the relevance floor."""

NO_FLOOR = "no floor"
"""StreamRelief without its relevance floor, beside `METHODS`, to see what the floor changes."""

PROMISE = "promise"
"""The cheapest features and threshold with which the accuracy is promised that stands for the threshold, at
`PROMISED_COMPLETENESS`, beside `METHODS`; its figures are NaN where the promise is refused."""

PROMISED_COMPLETENESS = 0.9

OTHERS = (*(name for name in SELECTORS if name not in ("streamrelief", "literal", "relief")), *NAMED)
"""The other selections by name, each with C4.5 on its features, and the neighbours that ask streams for more where
they are unusual, beside `METHODS`."""

MEASURES = ("completeness", "accuracy", "ticks", "cost", "sent", "offered_cost", "n_tested", "n_offered")


@dataclass(frozen=True)
class Outcome:
    """What one method came to on one split, at one confidence threshold.

    Parameters
    ----------
    method : str
        One of `METHODS`, `NO_FLOOR`, `PROMISE`, or one of `OTHERS`.
    confidence : float
        Threshold; the promised accuracy of `PROMISE`.
    seed : int
        Of the split.
    completeness, accuracy : float
        Share of the test streams given a label, and of those with the right one; accuracy is NaN where none is
        labelled.
    ticks : float
        Mean ticks spent.
    cost : float
        Mean classification cost over the features that the classifier tests (equation 1); neighbours that ask pay
        a feature at the ticks at which they ask for it.
    sent : float
        Mean cost of the messages that the nodes of a stream really send until its decision: those of the channels
        that the classifier reads, each once, for as long as it asks for them.
    offered_cost : float
        The same as cost over all features that were offered to the classifier.
    n_tested, n_offered : int
        How many these are.
    """

    method: str
    confidence: float
    seed: int
    completeness: float
    accuracy: float
    ticks: float
    cost: float
    sent: float
    offered_cost: float
    n_tested: int
    n_offered: int


def check_method(method: str) -> None:
    """Refuse a method that there is not.

    Raises
    ------
    ValueError
        Naming those that there are.
    """
    methods = (*METHODS, NO_FLOOR, PROMISE, *OTHERS)
    if method not in methods:
        raise ValueError(f"there is no method {method!r}, expected one of {', '.join(methods)}")


class Experiment:
    """One split of labelled streams, on which every method learns and is tested.

    Parameters
    ----------
    training, testing : StreamSet
        The streams.
    features : sequence of Feature
        What the methods choose from.
    prices : mapping of str to float, optional
        What a message of a column costs, by quantity; 1 where none is named.
    seed : int
        Seeds the folds, the probes and Relief's prefixes.

    Raises
    ------
    DataError
        If there are no streams, or a class of which none ever has all its readings at once.

    Notes
    -----
    As in the paper every feature tuple is an instance of weight 1 (`train` weighs them by stream), costs are
    frequencies of transmission, and trees are C4.5 with Laplace's correction in the leaves. The time limit is the
    longest training stream. The number of features is chosen for Relief and for StreamRelief by the same rule, on
    folds of streams, and both take their instances at the same dozen ticks, spread evenly; the paper takes every
    tick. An episode opens for every method at the tick at which all channels of all features have a value, where
    `train` would open it as soon as those of the features it chose have.
    """

    def __init__(
        self,
        training: StreamSet,
        testing: StreamSet,
        features: Sequence[Feature],
        prices: Mapping[str, float] | None = None,
        seed: int = 0,
    ) -> None:
        for what, part in (("learn from", training), ("test on", testing)):
            if not len(part):
                raise DataError(f"there are no streams to {what}, expected some of each class: record more")
        radio = profile("transmissions")
        self._streams, self._prices = (training, testing), prices
        self.training, self.testing = tabulate(training, features), tabulate(testing, features)
        require_episodes(self.training, training)
        self.costs = Costs.estimate(training, features, radio, prices=prices)
        self._sent = messages_sent(testing, channels_of(features), prices)
        self._opening = testing.lengths - self.testing.lengths
        self.time_limit = int(self.training.lengths.max())
        self.seed = seed
        self._validation = CrossValidation(self.training, self.costs, self._learn, self.time_limit, seed)
        self._trees: dict[tuple[int, ...], tuple[Tree, Trajectories]] = {}

    def run(self, method: str, thresholds: Sequence[float], n_features: int | None = None) -> Iterator[Outcome]:
        """Learn by a method, and test at each threshold.

        Parameters
        ----------
        method : str
            One of `METHODS`, `NO_FLOOR`, `PROMISE`, or one of `OTHERS`.
        thresholds : sequence of float
            Of confidence.
        n_features : int, optional
            How many of the ranked features to offer; by default chosen at each threshold by cross-validation.

        Raises
        ------
        ValueError
            If there is no such method, or there are not so many features.
        """
        if n_features is not None and not 1 <= n_features <= len(self.costs):
            raise ValueError(f"n_features is {n_features}, expected 1 to {len(self.costs)}")
        check_method(method)
        if method in (NAIVE, COST_BASED):
            costs = self.costs.each if method == COST_BASED else None
            tree = self._learn(self.training, costs)
            trajectories = Trajectories.of(tree, self.testing, self.time_limit)
            everything = np.arange(len(self.costs))
            for confidence in thresholds:
                yield self._outcome(method, confidence, everything, tree, trajectories)
            return
        if method in NAMED:
            yield from self._run_lazy(method, thresholds)
            return
        if method == PROMISE:
            yield from self._run_promise(thresholds)
            return
        selector = self._selector(method)
        for confidence in thresholds:
            if isinstance(selector, StreamRelief):
                selector = selector.at_confidence(confidence)
            chosen = selector.ranking_[:n_features]
            if n_features is None:
                chosen = chosen[: self._size(chosen, confidence)]
            yield self._outcome(method, confidence, chosen, *self._tree_of(chosen))

    def _run_lazy(self, method: str, thresholds: Sequence[float]) -> Iterator[Outcome]:
        """Neighbours are learnt anew at each threshold: the higher it is, the more of them vote."""
        everything, positions = np.arange(len(self.costs)), position_grid(self.time_limit)
        for confidence in thresholds:
            try:
                model = named_neighbors(method, confidence, len(np.unique(self.training.labels)))
                lazy = NeighborsLearner(model, positions, self.seed)(self.training)
            except TrainingError:  # no neighbours that there are, or none at all, can be so sure
                yield self._undecided(method, confidence)
                continue
            trajectories = Trajectories.of(lazy, self.testing, self.time_limit)
            yield self._outcome(method, confidence, everything, lazy, trajectories)

    def _run_promise(self, accuracies: Sequence[float]) -> Iterator[Outcome]:
        """Each promise is searched and tested anew; what subsets come to is judged once."""
        training, testing = self._streams
        pricing = Pricing(profile("transmissions"), self._prices)
        maker = maker_of(training, self.training.features, pricing, self.time_limit, self.seed)
        features = (*self.training.features, *(maker.candidates.features[i] for i in maker.candidates.free))
        table, curves = tabulate(testing, list(dict.fromkeys(features))), dict[tuple[int, ...], Curve]()
        for accuracy in accuracies:
            maker.promise = Promise(accuracy, PROMISED_COMPLETENESS)
            try:
                maker.division.require_enough(maker.promise)
                frozen = maker.freeze(maker.search(curves=curves).best)
                threshold = maker.certify(frozen).point.threshold
            except DataError:  # PromiseError, too: these streams cannot show that the promise is kept
                yield self._refused(accuracy)
                continue
            chosen = [table.features.index(feature) for feature in frozen.features]
            trajectories = Trajectories.of(frozen.classifier, table.with_features(chosen), self.time_limit)
            paid = np.array([i for i in chosen if i < len(self.costs)])
            outcome = self._outcome(PROMISE, threshold, paid, None, trajectories)
            yield replace(outcome, confidence=accuracy)

    def _refused(self, accuracy: float) -> Outcome:
        """What comes of a promise that is not made."""
        unknown = dict.fromkeys(MEASURES, float("nan"))
        return Outcome(PROMISE, accuracy, self.seed, **unknown)  # type: ignore[arg-type]

    def _undecided(self, method: str, confidence: float) -> Outcome:
        """What comes of a classifier that is never learnt: no stream is labelled, and none asked for anything."""
        nothing = dict.fromkeys(("ticks", "cost", "sent", "offered_cost"), 0.0)
        return Outcome(
            method, confidence, self.seed, 0.0, float("nan"), **nothing, n_tested=0, n_offered=len(self.costs)
        )

    def _learn(self, table: FeatureTable, costs: Array | None = None) -> Tree:
        values, labels, _ = table.instances(self.time_limit)
        classifier = C45Classifier("gain_ratio" if costs is None else "gain_per_cost", feature_costs=costs)
        return classifier.fit(values, labels).tree_

    def _selector(self, method: str) -> Selector:
        makers: dict[str, MakeSelector] = {
            **SELECTORS,
            RELIEF: SELECTORS["relief"],
            LITERAL: SELECTORS["literal"],
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
        except TrainingError:  # nothing is labelled with any number of features: the first costs least
            return 1

    def _tree_of(self, chosen: Integers) -> tuple[Tree, Trajectories]:
        key = tuple(chosen.tolist())
        if key not in self._trees:
            tree = self._learn(self.training.with_features(key))
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
        """What a method comes to; without a classifier, all features that are offered are tested."""
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
        """Cost of the messages of each stream, of a channel for as long as it is asked for."""
        features = [self.training.features[i] for i in tested]
        streams, sent = np.arange(len(ticks)), np.zeros(len(ticks))
        for channel in channels_of(features):
            last = trajectories.asked_ticks([channel in feature.columns for feature in features], ticks)
            sent += self._sent[channel][streams, self._opening + last - 1]
        return sent


def summarise(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Take means over seeds, with 95 % confidence intervals.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Of several seeds.

    Returns
    -------
    list of dict
        One a method and threshold: the means by name, and half the width of each interval (Student's t) under the
        name with ``_ci`` behind it, NaN for a single seed. Accuracy is taken over the seeds in which a stream was
        labelled, and all means over those, of ``seeds``, in which no promise was ``refused``.
    """
    cells: dict[tuple[str, float], list[Outcome]] = {}
    for outcome in outcomes:
        cells.setdefault((outcome.method, outcome.confidence), []).append(outcome)
    rows = []
    for (method, confidence), cell in cells.items():
        row: dict[str, Any] = {"method": method, "confidence": confidence, "seeds": len(cell)}
        row["refused"] = sum(np.isnan(outcome.completeness) for outcome in cell)
        for measure in MEASURES:
            values = np.array([getattr(outcome, measure) for outcome in cell], dtype=np.float64)
            row[measure], row[f"{measure}_ci"] = mean_and_interval(values[~np.isnan(values)])
        rows.append(row)
    return rows


def mean_and_interval(values: Array) -> tuple[float, float]:
    """Mean, and half the width of its 95 % confidence interval (Student's t).

    Examples
    --------
    >>> mean, half = mean_and_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(mean, 3), round(half, 3)
    (2.0, 2.484)
    """
    n = len(values)
    if not n:
        return float("nan"), float("nan")
    half = float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return float(values.mean()), half

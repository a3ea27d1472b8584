"""From labelled, recorded streams to a procedure."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import feature_extractors as fx
import streamfs
from feature_extractors.base import Array, Feature
from feature_extractors.report import Policy, channel_name
from streamfs.classifiers.c45 import C45Classifier
from streamfs.costs import Costs
from streamfs.energy import Profile, profile
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation import Progress
from streamfs.procedure import Classifier, Procedure
from streamfs.relief import StreamRelief
from streamfs.streams import Integers, StreamSet
from streamfs.tables import FeatureTable, tabulate

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

MAX_POSITIONS = 12
"""Positions at most at which weights are computed, unless told otherwise: spread evenly over the ticks."""

TOLERANCE = 0.02
"""How much accuracy and completeness may stay behind the best for the sake of cost."""

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Trainer:
    """What stays the same while tables, folds and numbers of features change.

    Parameters
    ----------
    costs : Costs
        Of all the features.
    confidence : float
        Threshold.
    time_limit : int
        Ticks.
    select : callable or None
        From costs to an unfitted selector with `fit` and `ranking_`; None keeps all features in order.
    make : callable
        From a table of the chosen features to a classifier.
    """

    costs: Costs
    confidence: float
    time_limit: int
    select: Callable[[Costs], Any] | None
    make: Callable[[FeatureTable, int], Classifier]

    def rank(self, table: FeatureTable) -> tuple[Integers, int]:
        """Indices of the features, best first, and how many of them may be offered: the relevant ones, if any."""
        n_features = len(table.features)
        if self.select is None:
            return np.arange(n_features), n_features
        selector = self.select(self.costs).fit(table)
        n_relevant = int(getattr(selector, "relevant_", np.zeros(0)).sum())
        return selector.ranking_, n_relevant or n_features

    def choose_size(self, table: FeatureTable, seed: int, progress: Progress) -> int:
        """The number of features whose out-of-fold cost is least, among those about as good as the best.

        Raises
        ------
        TrainingError
            If no number of features gives any stream a label.
        """
        folds = stratified_folds(table.labels, N_FOLDS, seed)
        sizes = sizes_to_try(self.rank(table)[1])
        figures = np.zeros((len(sizes), 3))
        for fold in range(folds.max() + 1):
            progress("choosing the number of features", fold, folds.max() + 1)
            learning, testing = (table.take(np.flatnonzero(part)) for part in (folds != fold, folds == fold))
            ranking, _ = self.rank(learning)
            for index, size in enumerate(sizes):
                figures[index] += self._judge(learning, testing, ranking[:size])
        progress("choosing the number of features", folds.max() + 1, folds.max() + 1)
        n_labelled, n_right, cost = figures.T
        if not n_labelled.any():
            raise TrainingError(
                f"no number of features gives any held-out stream a label at confidence {self.confidence:g}: "
                "lower the confidence, record more streams, or offer other features"
            )
        completeness = n_labelled / len(folds)
        accuracy = np.divide(n_right, n_labelled, out=np.zeros(len(sizes)), where=n_labelled > 0)
        return int(sizes[cheapest_good(completeness, accuracy, cost)])

    def _judge(self, learning: FeatureTable, testing: FeatureTable, chosen: Integers) -> Array:
        """Labelled streams, rightly labelled ones and summed cost of the features `chosen` on a fold."""
        classifier = self.make(some_features(learning, chosen), self.time_limit)
        classes = np.unique(learning.labels)
        tested = list(classifier.features_tested())  # type: ignore[attr-defined]  # both kinds have it
        costs = self.costs.take(chosen[tested])
        found, ticks = decide(classifier, some_features(testing, chosen), self.confidence, self.time_limit)
        labelled = found >= 0
        right = labelled & (classes[found] == testing.labels)
        return np.array([labelled.sum(), right.sum(), sum(costs.classification(t) for t in ticks)])


def train(
    streams: StreamSet,
    *,
    features: Sequence[Feature] | None = None,
    costs: Costs | None = None,
    energy_profile: Profile | str = "transmissions",
    a: float = 1.0,
    b: float = 1.0,
    confidence: float = 0.9,
    time_limit: int | None = None,
    select: Callable[..., Any] | None = StreamRelief,
    n_features: int | None = None,
    positions: npt.ArrayLike | None = None,
    model: "RiverClassifier | None" = None,
    min_leaf: float = 2,
    seed: int = 0,
    progress: Progress | None = None,
) -> Procedure:
    """Learn a procedure: rank the features, choose how many, and build a classifier on them.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams.
    features : sequence of Feature, optional
        What to choose from; by default the catalogue over `default_channels`.
    costs : Costs, optional
        Of the features; by default the mean cost a tick of their channels' transmissions on the streams.
    energy_profile : Profile or str
        What a message costs, where the costs are estimated.
    a, b : float
        Weights of each-time and one-time costs, where the costs are estimated.
    confidence : float
        Threshold at which a stream is given a label.
    time_limit : int, optional
        Ticks; by default those of the longest stream.
    select : callable, optional
        `StreamRelief`, `StreamRelief.literal`, or another that is called with the costs and the keywords
        `confidence`, `horizon`, `positions` and `random_state`; None offers all features to the classifier.
    n_features : int, optional
        How many of the ranked features to offer; by default chosen by cross-validation over streams.
    positions : array_like of int, optional
        Ticks at which weights are computed; by default at most 12, spread evenly.
    model : river.base.Classifier, optional
        A River classifier to teach instead of a C4.5 tree.
    min_leaf : float
        Streams that a leaf of the tree holds at least.
    seed : int
        Seeds the folds and the probes.
    progress : callable, optional
        Told of the steps.

    Returns
    -------
    Procedure
        With the features that the classifier tests, and no others.

    Raises
    ------
    DataError
        If the streams have one class only, too few streams of a class, or a column is missing.
    TrainingError
        If the tree finds no feature that tells the classes apart.

    Notes
    -----
    The classifier learns from one row a stream and tick up to the time limit, weighed by 1 / ticks of its stream,
    so that `min_leaf` and the leaves' confidence count streams. The number of features is the one with the least
    out-of-fold cost among those within 0.02 of the best out-of-fold accuracy and completeness.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 30)
    >>> values = rng.normal(np.where(labels == "calm", 0, 2)[:, None, None], 1, (60, 12, 1))
    >>> procedure = train(StreamSet(values, labels, ["noise"]), features=[fx.get("mean(noise)")])
    >>> [feature.name for feature in procedure.features]
    ['mean(noise)']
    """
    progress = progress or _quiet
    if len(streams.classes) < 2:
        raise DataError(f"there is one class only, {list(streams.classes)}, expected at least two")
    features = tuple(fx.catalogue(default_channels(streams)) if features is None else features)
    if not features:
        raise ValueError("there are no features to choose from")
    if costs is None:
        used = profile(energy_profile) if isinstance(energy_profile, str) else energy_profile
        costs = Costs.estimate(streams, features, used, a=a, b=b)
    table = tabulate(streams, features)
    limit = int(table.lengths.max()) if time_limit is None else time_limit
    trainer = Trainer(
        costs, confidence, limit, _selector(select, confidence, limit, positions, seed), _maker(model, min_leaf)
    )
    size = n_features
    if size is None:
        size = len(features) if select is None else trainer.choose_size(table, seed, progress)
    if not 1 <= size <= len(features):
        raise ValueError(f"n_features is {size}, expected 1 to {len(features)}")
    progress("ranking the features", 0, 1)
    ranking, _ = trainer.rank(table)
    progress("ranking the features", 1, 1)
    chosen, classifier = _settle(streams, features, ranking[:size], trainer)
    return Procedure(
        tuple(features[i] for i in chosen),
        classifier,
        streams.classes,
        costs.take(chosen),
        confidence,
        limit,
        streams.period,
        costs.take(ranking[:size]),
        _about(seed, streams, [features[i].name for i in ranking[:size]]),
    )


def default_channels(streams: StreamSet) -> list[str]:
    """Channels worth trying on some streams: each column at every tick, on change, and as a flag.

    A column is reported on a change of half its standard deviation, and flagged above its median; columns that
    are the same quantity of two roles (``a.light``, ``b.light``) share both figures, which are rounded.
    """
    channels = []
    for column in streams.columns:
        quantity = column.rpartition(".")[2]
        readings = np.concatenate([streams.column(c) for c in streams.columns if c.rpartition(".")[2] == quantity])
        known = readings[~np.isnan(readings)]
        policies = [Policy()]
        if len(known) and known.std() > 0:
            policies += [
                Policy("delta", round_to(known.std() / 2, 2)),
                Policy("flag", round_to(np.median(known), 3)),
            ]
        channels += [channel_name(column, policy) for policy in policies]
    return channels


def round_to(value: float, n_digits: int) -> float:
    """Round to some significant digits."""
    return float(f"{value:.{n_digits}g}")


def decide(
    classifier: Classifier, table: FeatureTable, confidence: float, time_limit: int
) -> tuple[Integers, Integers]:
    """Decide the streams of a table: an engine's decisions, without the engine.

    Returns
    -------
    classes : ndarray of shape (n_streams,)
        Index of the class that is sure first; -1 where none is in time.
    ticks : ndarray of shape (n_streams,)
        Ticks spent.
    """
    n_streams, n_ticks, n_features = table.values.shape
    n_ticks = min(n_ticks, time_limit)
    rows = np.ascontiguousarray(table.values[:, :n_ticks]).reshape(n_streams * n_ticks, n_features)
    probabilities = classifier.probabilities(rows).reshape(n_streams, n_ticks, -1)
    inside = np.arange(n_ticks) < table.lengths[:, np.newaxis]
    sure = inside & (probabilities.max(axis=2) >= confidence)
    first = sure.argmax(axis=1)
    labelled = sure.any(axis=1)
    best = probabilities[np.arange(n_streams), first].argmax(axis=1)
    return np.where(labelled, best, -1), np.where(labelled, first + 1, np.minimum(table.lengths, n_ticks))


def cheapest_good(completeness: Array, accuracy: Array, cost: Array) -> int:
    """Index of the least cost among those within 0.02 of the best accuracy and completeness.

    Where none is within both, the one whose larger shortfall is least.
    """
    shortfall = np.maximum(completeness.max() - completeness, accuracy.max() - accuracy)
    good = shortfall <= max(TOLERANCE, shortfall.min()) + 1e-12
    return int(np.where(good, cost, np.inf).argmin())


def sizes_to_try(n_features: int) -> Integers:
    """Numbers of features to compare: each up to 12, then a third more each time, and all.

    Examples
    --------
    >>> sizes_to_try(40).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 21, 28, 37, 40]
    """
    sizes = [1]
    while sizes[-1] < n_features:
        sizes.append(min(n_features, sizes[-1] + 1 if sizes[-1] < 12 else sizes[-1] * 4 // 3))
    return np.array(sizes)


def stratified_folds(labels: npt.ArrayLike, n_folds: int, seed: int) -> Integers:
    """The fold of each stream, every class spread evenly.

    Raises
    ------
    DataError
        If a class has fewer than four streams, too few to learn from some and test on others.
    """
    labels = np.asarray(labels)
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < 4:
        label = str(classes[counts.argmin()])
        raise DataError(
            f"class {label!r} has only {counts.min()} streams, expected at least 4 to choose the number of "
            "features; give the number (n_features) or record more"
        )
    rng = np.random.default_rng(seed)
    folds = np.empty(len(labels), dtype=np.int64)
    for label in classes:
        members = rng.permutation(np.flatnonzero(labels == label))
        folds[members] = np.arange(len(members)) % min(n_folds, int(counts.min()) // 2)
    return folds


def some_features(table: FeatureTable, chosen: Sequence[int] | Integers) -> FeatureTable:
    """The table of some of the features."""
    features = tuple(table.features[i] for i in chosen)
    return FeatureTable(table.values[:, :, chosen], table.labels, features, table.lengths, table.period)


def _settle(
    streams: StreamSet, features: Sequence[Feature], chosen: Integers, trainer: Trainer
) -> tuple[Integers, Classifier]:
    """Fit the classifier until it tests every feature that it reads.

    With a feature its channel goes, and an episode may open earlier: so the table is made anew.
    """
    while True:
        table = tabulate(streams, [features[i] for i in chosen])
        classifier = trainer.make(table, trainer.time_limit)
        tested = list(classifier.features_tested())  # type: ignore[attr-defined]  # both kinds have it
        if not tested:
            raise TrainingError(
                f"none of {', '.join(features[i].name for i in chosen)} tells the classes apart on "
                f"{len(streams)} streams: record more, or offer other features"
            )
        if len(tested) == len(chosen):
            return chosen, classifier
        chosen = chosen[tested]


def _maker(model: "RiverClassifier | None", min_leaf: float) -> Callable[[FeatureTable, int], Classifier]:
    def make(table: FeatureTable, time_limit: int) -> Classifier:
        streams, ticks = table.rows(np.arange(1, min(table.n_ticks, time_limit) + 1))
        values, labels = table.values[streams, ticks - 1], table.labels[streams]
        if model is None:
            weights = 1.0 / np.minimum(table.lengths, time_limit)[streams]
            return C45Classifier(min_leaf=min_leaf).fit(values, labels, sample_weight=weights).tree_
        from streamfs.classifiers.online import OnlineClassifier  # noqa: PLC0415 - River is slow to import

        classes = [str(c) for c in np.unique(table.labels)]
        return OnlineClassifier(model, table.names, classes).learn(values, labels.tolist())

    return make


def _selector(
    select: Callable[..., Any] | None, confidence: float, limit: int, positions: npt.ArrayLike | None, seed: int
) -> Callable[[Costs], Any] | None:
    if select is None:
        return None
    grid = np.unique(np.linspace(1, limit, min(limit, MAX_POSITIONS)).round()) if positions is None else positions

    def make(costs: Costs) -> Any:
        return select(costs, confidence=confidence, horizon=limit, positions=grid, random_state=seed)

    return make


def _about(seed: int, streams: StreamSet, offered: list[str]) -> dict[str, Any]:
    return {
        "streamfs": streamfs.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seed": seed,
        "streams": len(streams),
        "offered": offered,
    }


def _quiet(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""

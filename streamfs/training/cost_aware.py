"""Train a procedure on the features that are worth their cost."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, quiet, step
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import require_episodes, tabulate
from streamfs.data.streams import Integers, StreamSet
from streamfs.procedure.procedure import Procedure
from streamfs.relief import position_grid
from streamfs.relief.positions import check_positions
from streamfs.selection.by_name import MakeSelector
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.training import arguments
from streamfs.training.cross_validation import Learn
from streamfs.training.description import made_with, with_card
from streamfs.training.learners import (
    FOREST,
    LEARNERS,
    fit_until_all_tested,
    forest_learner,
    river_learner,
    tree_learner,
)
from streamfs.training.query_sensitive import NAMED, NeighborsLearner, named_neighbors, require_reach
from streamfs.training.subset_size import SizeValidation, choose_size

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

MODELS = (*LEARNERS, *NAMED)
"""Models by name."""

OWN_LEARNERS: dict[str, Learn] = {}
"""Learners registered by `register_learner`, by name."""


def train(
    streams: StreamSet,
    *,
    features: Sequence[Feature | str] | None = None,
    costs: Costs | None = None,
    pricing: Pricing | str = "transmissions",
    confidence: float = 0.9,
    time_limit: int | timedelta | None = None,
    horizon: int | timedelta | None = None,
    select: str | MakeSelector | None = "streamrelief",
    n_features: int | None = None,
    positions: npt.ArrayLike | None = None,
    model: "str | QuerySensitiveNeighbors | RiverClassifier | Learn | None" = None,
    min_leaf: float = 2,
    seed: int = 0,
    progress: Progress | None = None,
) -> Procedure:
    """Train a procedure: rank the features, choose how many, and fit a classifier on them.

    `train_promised` instead finds the cheapest procedure with which an accuracy can be promised.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams.
    features : sequence of Feature or str, optional
        Features to choose from, or their names; by default `default_features`.
    costs : Costs, optional
        Costs of the features; by default the mean cost per tick of their channels' transmissions on the streams.
    pricing : Pricing or str
        How costs are estimated: a radio's name, or a `Pricing` with prices and weights. Its `max_silence` applies
        to given `costs`, too.
    confidence : float
        Threshold at which a stream is labelled.
    time_limit : int or timedelta, optional
        In ticks, or in time; by default the ticks of the longest stream.
    horizon : int or timedelta, optional
        The time limit, by StreamRelief's name for it.
    select : str or callable, optional
        ``"streamrelief"``, ``"literal"``, ``"relief"``, or a callable that makes a selector from the costs and the
        keywords `confidence`, `horizon`, `positions` and `random_state`. None offers all features to the
        classifier.
    n_features : int, optional
        How many of the ranked features to offer; by default chosen by cross-validation over streams.
    positions : array_like of int, optional
        Ticks at which weights are computed, and of which neighbours store the rows; by default at most 12, evenly
        spread.
    model : str, QuerySensitiveNeighbors, river.base.Classifier or callable, optional
        What to fit: ``"c45"``, a tree, the default; ``"extra-trees"``, a forest; ``"qsfs1"`` or ``"qsfs2"``,
        neighbours that request some channels only while a stream is unusual, as few as can reach the confidence;
        such neighbours with parameters of your own; a River classifier; or a function from a `FeatureTable` to a
        `Classifier`, given itself or by the name under which `register_learner` was called.
    min_leaf : float
        Least number of streams in a leaf of a tree.
    seed : int
        Seeds the folds, the probes and the forests.
    progress : callable, optional
        Called with the progress of each step.

    Returns
    -------
    Procedure
        With the features that the classifier tests, and no others.

    Raises
    ------
    DataError
        If the streams have one class only, too few streams of a class, or a column is missing.
    TrainingError
        If the tree finds no feature that separates the classes, or neighbours cannot reach the confidence.
    ValueError
        If the confidence, the number of features or the model is out of range.
    TypeError
        If the streams are not a `StreamSet`, or the features not a sequence of features.

    Notes
    -----
    The tree is fitted on one row per stream and tick up to the time limit, weighted by 1 / ticks of its stream, so
    that `min_leaf` and the leaves' confidence count streams. Neighbours store one row per stream and position, at
    most a thousand. The number of features is the cheapest, out of fold, of those within 0.02 of the best
    out-of-fold accuracy and completeness.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 30)
    >>> values = rng.normal(np.where(labels == "calm", 0, 2)[:, None, None], 1, (60, 12, 1))
    >>> procedure = train(StreamSet(values, labels, ["noise"]), features=["mean(noise)"])
    >>> [feature.name for feature in procedure.features]
    ['mean(noise)']
    """
    arguments.require_classes(streams)
    time_limit = arguments.either_limit(time_limit, horizon)
    make_selector = arguments.selector_of(select)
    features = arguments.offered_features(streams, features)
    pricing = arguments.pricing_of(pricing, costs, len(features))
    progress = progress or quiet
    if costs is None:
        costs = pricing.costs(streams, features)
    with step(progress, "computing the features"):
        table = tabulate(streams, features, pricing.max_silence)
    require_episodes(table, streams)
    longest = int(table.lengths.max())
    limit = arguments.whole_ticks(time_limit, longest, streams.period)
    _check(confidence, n_features, len(features), ranked=make_selector is not None)
    grid = position_grid(min(limit, longest)) if positions is None else check_positions(positions)
    learn = _learner(model, min_leaf, confidence, len(streams.classes), limit, grid, seed)
    validation = SizeValidation(table, costs, learn, limit, seed)
    offered = _offered(validation, make_selector, n_features, confidence, grid, progress)
    with step(progress, "building the classifier"):
        tested, classifier = fit_until_all_tested(
            learn, streams, [features[i] for i in offered], pricing.max_silence
        )
    procedure = Procedure(
        tuple(features[i] for i in offered[tested]),
        classifier,
        streams.classes,
        costs.take(offered[tested]),
        confidence,
        limit,
        streams.period,
        pricing.max_silence,
        costs.take(offered),
        made_with(seed, streams, [features[i].name for i in offered]),
    )
    return with_card(procedure, streams, pricing)


def register_learner(name: str, learn: Learn) -> None:
    """Let `train` fit a model of your own by its name.

    Parameters
    ----------
    name : str
        What `train(model=...)` is given.
    learn : callable
        Fits a classifier to a `FeatureTable`.

    Raises
    ------
    ValueError
        If the name belongs to another model.
    """
    if name in MODELS or OWN_LEARNERS.get(name, learn) is not learn:
        raise ValueError(f"name is {name!r}, expected one that is not taken")
    OWN_LEARNERS[name] = learn


def _check(confidence: float, n_features: int | None, n_offered: int, *, ranked: bool) -> None:
    """Validate the confidence and the number of features."""
    if not 0 < confidence <= 1:
        raise ValueError(f"confidence is {confidence}, expected more than 0 and at most 1")
    if n_features is not None and not ranked:
        raise ValueError(f"n_features is {n_features}, but select is None: the features have no order")
    if n_features is not None and not 1 <= n_features <= n_offered:
        raise ValueError(f"n_features is {n_features}, expected 1 to {n_offered}")


def _offered(
    validation: SizeValidation,
    make_selector: MakeSelector | None,
    n_features: int | None,
    confidence: float,
    positions: Integers,
    progress: Progress,
) -> Integers:
    """Return the indices of the features that are offered to the classifier, best first; all if not ranked."""
    table = validation.table
    if make_selector is None:
        return np.arange(len(table.features))
    with step(progress, "ranking the features"):
        selector = make_selector(
            validation.costs,
            confidence=confidence,
            horizon=validation.time_limit,
            positions=positions,
            random_state=validation.seed,
        )
        ranking: Integers = selector.fit(table).ranking_
    if n_features is None:
        n_features = choose_size(validation, ranking, confidence, progress)
    return ranking[:n_features]


def _learner(
    model: "str | QuerySensitiveNeighbors | RiverClassifier | Learn | None",
    min_leaf: float,
    confidence: float,
    n_classes: int,
    limit: int,
    positions: Integers,
    seed: int,
) -> Learn:
    """Return the function that fits a model."""
    model = OWN_LEARNERS.get(model, model) if isinstance(model, str) else model
    if callable(model):
        return model
    if isinstance(model, str) and model not in MODELS:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(MODELS)}, or a classifier")
    if isinstance(model, str) and model in NAMED:
        model = named_neighbors(model, confidence, n_classes)
    if isinstance(model, QuerySensitiveNeighbors):
        require_reach(model, confidence, n_classes)
        return NeighborsLearner(model, positions[positions <= limit], seed)
    if model == FOREST:
        return forest_learner(min_leaf, limit, seed)
    if model is None or isinstance(model, str):
        return tree_learner(min_leaf, limit)
    return river_learner(model, limit)

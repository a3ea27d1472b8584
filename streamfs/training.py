"""From labelled, recorded streams to a procedure."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import feature_extractors as fx
from feature_extractors.base import Feature, channels_of
from feature_extractors.report import split_channel
from streamfs.channels import default_features
from streamfs.choosing import CrossValidation, Learn, choose_size
from streamfs.costs import Costs
from streamfs.energy import Profile, profile
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation import Progress, require_streams
from streamfs.lazy_learning import NAMED, NeighborsLearner, named_neighbors, require_reach
from streamfs.learners import FOREST, LEARNERS, forest_learner, river_learner, tree_learner
from streamfs.model_card import build_card
from streamfs.model_header import check_distinct
from streamfs.procedure import Classifier, Procedure
from streamfs.promises import Promise
from streamfs.promises.plan import Plan
from streamfs.promises.pricing import Pricing, own_costs
from streamfs.relief import position_grid
from streamfs.relief.positions import check_positions
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.selectors import SELECTORS, MakeSelector
from streamfs.streams import Integers, StreamSet
from streamfs.tables import require_episodes, tabulate

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

DEFAULT_CONFIDENCE = 0.9

MODELS = (*LEARNERS, *NAMED)
"""What can be taught, by name."""

Model = str | QuerySensitiveNeighbors


def train(
    streams: StreamSet,
    *,
    features: Sequence[Feature | str] | None = None,
    costs: Costs | None = None,
    energy_profile: Profile | str = "transmissions",
    a: float = 1.0,
    b: float = 1.0,
    prices: Mapping[str, float] | None = None,
    confidence: float | None = None,
    time_limit: int | timedelta | None = None,
    horizon: int | timedelta | None = None,
    select: str | MakeSelector | None = "streamrelief",
    n_features: int | None = None,
    positions: npt.ArrayLike | None = None,
    max_silence: float | None = None,
    model: "Model | RiverClassifier | None" = None,
    min_leaf: float = 2,
    promise: Promise | None = None,
    groups: npt.ArrayLike | None = None,
    search: str = "floating",
    vary: bool = True,
    seconds: float | None = None,
    resume: str | Path | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Procedure:
    """Learn a procedure: rank the features, choose how many, and build a classifier on them; or keep a promise.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams.
    features : sequence of Feature or str, optional
        What to choose from, or its text names; by default `default_features`.
    costs : Costs, optional
        Of the features; by default the mean cost a tick of their channels' transmissions on the streams.
    energy_profile : Profile or str
        What a message costs, where the costs are estimated.
    a, b : float
        Weights of each-time and one-time costs, where the costs are estimated.
    prices : mapping of str to float, optional
        Where the costs are estimated, the factor by which a message of a quantity (``light``) is dearer. Not
        beside `costs`.
    confidence : float, optional
        Threshold at which a stream is given a label, by default 0.9; a promise finds its own.
    time_limit : int or timedelta, optional
        In ticks, or in time; by default the ticks of the longest stream.
    horizon : int or timedelta, optional
        The time limit by the name that StreamRelief gives it.
    select : str or callable, optional
        ``"streamrelief"``, ``"literal"``, ``"relief"``, or what makes a selector of one's own: it is called with
        the costs and the keywords `confidence`, `horizon`, `positions` and `random_state`. None offers all
        features to the classifier.
    n_features : int, optional
        How many of the ranked features to offer; by default chosen by cross-validation over streams.
    positions : array_like of int, optional
        Ticks at which weights are computed, and of which neighbours store the rows; by default at most 12, spread
        evenly.
    max_silence : float, optional
        Seconds after which a channel that sends on change repeats its value, and beyond which a value is held no
        more; by default for ever.
    model : str, QuerySensitiveNeighbors or river.base.Classifier, optional
        What to teach: ``"c45"``, a tree, the default; ``"extra-trees"``, a forest; ``"qsfs1"`` or ``"qsfs2"``,
        neighbours that ask for some channels only while a stream is unusual, as few as can reach the confidence,
        or such neighbours with parameters of one's own; or a River classifier.
        With a promise, one of the first two; by default whichever is cheaper.
    min_leaf : float
        Streams that a leaf of a tree holds at least.
    promise : Promise, optional
        Find the cheapest features and threshold that keep it; see the notes.
    groups : array_like of shape (n_streams,), optional
        With a promise: what streams have in common, such as the room or the site. None is on both sides of a fold
        or of the test.
    search : {"floating", "exhaustive"}
        With a promise: how subsets of features are searched; exhaustively of ten at most, as they are offered.
    vary : bool
        With a promise: whether the same features over cheaper channels are searched, too. Not where `costs` are
        given, which say nothing of these.
    seconds : float, optional
        With a promise: time for the search, after which the best so far is taken.
    resume : path, optional
        With a promise: a file of what the search has judged, written as it goes and read by the next one.
    seed : int
        Seeds the folds, the probes and the forests.
    n_jobs : int
        With a promise: threads; by default as many as there are cores. The result is the same for any number.
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
        If the tree finds no feature that tells the classes apart, or neighbours cannot reach the confidence.
    PromiseError
        If no threshold keeps the promise: with the best there is, and how many more streams might do.
    TypeError
        If the streams are no `StreamSet`, or the features no sequence of features.

    Notes
    -----
    The tree learns from one row a stream and tick up to the time limit, weighed by 1 / ticks of its stream, so
    that `min_leaf` and the leaves' confidence count streams. Neighbours store one row a stream and position, a
    thousand at most. The number of features is the one with the least
    out-of-fold cost among those within 0.02 of the best out-of-fold accuracy and completeness.

    With a promise, three fifths of the streams are searched and learnt from: of more than ten features those that
    are proposed, and the same over cheaper channels, by floating search on what the messages of their channels
    cost, each once, until a stream is decided, at about the lowest threshold that is likely to pass the test; the
    procedure's own costs charge a channel once, too. Then the classifier is frozen, and its thresholds are tested
    on the other two fifths. With probability 1 - risk the promise is kept on streams that are drawn as these were,
    each on its own. It is no guarantee elsewhere, such as in other buildings, nor for pairs that share nodes.

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
    require_streams(streams)
    progress = progress or _quiet
    if horizon is not None and time_limit is not None:
        raise ValueError(
            f"horizon is {horizon} and time_limit {time_limit}, expected one of them: they are the same"
        )
    time_limit = horizon if time_limit is None else time_limit
    if len(streams.classes) < 2:
        raise DataError(f"there is one class only, {list(streams.classes)}, expected at least two")
    make_selector = selector_of(select)
    features = offered_features(streams, features)
    used = profile(energy_profile) if isinstance(energy_profile, str) else energy_profile
    _check_costs(costs, len(features), prices)
    weights = (a, b) if costs is None else (costs.a, costs.b)
    if promise is not None:
        _refuse("beside a promise", confidence=confidence, n_features=n_features, positions=positions)
        _check_learner(model)
        plan = Plan(
            streams,
            promise,
            features,
            pricing=Pricing(used, prices, max_silence, *weights, own_costs(features, costs)),
            make_selector=make_selector,
            learners=(model,) if isinstance(model, str) else LEARNERS,
            min_leaf=min_leaf,
            time_limit=whole_ticks(time_limit, int(streams.lengths.max()), streams.period),
            groups=groups,
            search=search,
            vary=vary and costs is None,
            seconds=seconds,
            resume=resume,
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
        )
        kept = plan.procedure(made_with(seed, streams, [feature.name for feature in features]))
        return _with_card(kept, streams, used, prices, plan.maker.division.testing)
    if costs is None:
        costs = Costs.estimate(streams, features, used, max_silence=max_silence, prices=prices, a=a, b=b)
    asked = {"search": search if search != "floating" else None, "vary": vary if not vary else None}
    _refuse("without a promise, which alone needs it", groups=groups, seconds=seconds, resume=resume, **asked)
    confidence = DEFAULT_CONFIDENCE if confidence is None else confidence
    progress("computing the features", 0, 1)
    table = tabulate(streams, features, max_silence)
    progress("computing the features", 1, 1)
    require_episodes(table, streams)
    limit = whole_ticks(time_limit, int(table.lengths.max()), streams.period)
    if not 0 < confidence <= 1:
        raise ValueError(f"confidence is {confidence}, expected more than 0 and at most 1")
    _check_number(n_features, len(features), ranked=make_selector is not None)
    grid = position_grid(min(limit, int(table.lengths.max())))
    positions = grid if positions is None else check_positions(positions)
    lazy = _neighbours(model, confidence, len(streams.classes))
    learn = (
        _learner(model, min_leaf, limit, seed)
        if lazy is None
        else NeighborsLearner(lazy, positions[positions <= limit], seed)
    )
    offered = np.arange(len(features))
    if make_selector is not None:
        progress("ranking the features", 0, 1)
        selector = make_selector(
            costs, confidence=confidence, horizon=limit, positions=positions, random_state=seed
        )
        offered = selector.fit(table).ranking_[:n_features]
        progress("ranking the features", 1, 1)
        if n_features is None:
            validation = CrossValidation(table, costs, learn, limit, seed)
            offered = offered[: choose_size(validation, offered, confidence, progress)]
    progress("building the classifier", 0, 1)
    chosen, classifier = _settle(streams, features, offered, learn, max_silence)
    progress("building the classifier", 1, 1)
    procedure = Procedure(
        tuple(features[i] for i in chosen),
        classifier,
        streams.classes,
        costs.take(chosen),
        confidence,
        limit,
        streams.period,
        max_silence,
        costs.take(offered),
        made_with(seed, streams, [features[i].name for i in offered]),
    )
    return _with_card(procedure, streams, used, prices)


def _settle(
    streams: StreamSet, features: Sequence[Feature], chosen: Integers, learn: Learn, max_silence: float | None
) -> tuple[Integers, Classifier]:
    """Fit the classifier until it tests every feature that it reads.

    With a feature its channel goes, and an episode may open earlier: so the table is made anew.
    """
    while True:
        table = tabulate(streams, [features[i] for i in chosen], max_silence)
        classifier = learn(table)
        tested = list(classifier.features_tested())
        if not tested:
            raise TrainingError(
                f"none of {', '.join(features[i].name for i in chosen)} tells the classes apart on "
                f"{len(streams)} streams: record more, or offer other features"
            )
        if len(tested) == len(chosen):
            return chosen, classifier
        chosen = chosen[tested]


def whole_ticks(time_limit: int | timedelta | None, longest: int, period: float) -> int:
    """Whole ticks of a time limit, by default those of the longest stream.

    Raises
    ------
    ValueError
        If it is shorter than a tick.
    """
    if time_limit is None:
        return longest
    if isinstance(time_limit, timedelta):
        ticks = int(time_limit.total_seconds() / period + 1e-9)
        if ticks < 1:
            raise ValueError(f"time limit is {time_limit}, expected at least one tick of {period:g} s")
        return ticks
    if time_limit < 1 or time_limit != int(time_limit):
        raise ValueError(f"time limit is {time_limit}, expected whole ticks, at least 1")
    return int(time_limit)


def offered_features(streams: StreamSet, features: Sequence[Feature | str] | None) -> tuple[Feature, ...]:
    """The features to choose from.

    Raises
    ------
    DataError
        If no column has a reading, or a feature's is not there.
    ValueError
        If there is no feature, one is there twice, or a text is no feature's name.
    TypeError
        If it is one feature and no sequence, or holds something else.
    """
    if np.isnan(streams.values).all():
        raise DataError(f"no stream has a reading in any column of {', '.join(streams.columns)}")
    if features is None:
        features = default_features(streams)
    if isinstance(features, (str, Feature)):
        raise TypeError(
            f"features is {_named(features)!r}, expected a sequence of features: [{_named(features)!r}]"
        )
    if not features:
        raise ValueError("there are no features to choose from")
    found = tuple(fx.get(feature) if isinstance(feature, str) else feature for feature in features)
    for feature in found:
        if not isinstance(feature, Feature):
            raise TypeError(
                f"features holds {feature!r}, expected features or their names, such as 'mean(a.light)'"
            )
    check_distinct("feature", [feature.name for feature in found])
    for channel in channels_of(found):
        streams.column(split_channel(channel)[0])
    return found


def _named(feature: Feature | str) -> str:
    return feature.name if isinstance(feature, Feature) else feature


def _neighbours(
    model: "Model | RiverClassifier | None", confidence: float, n_classes: int
) -> QuerySensitiveNeighbors | None:
    """The neighbours to teach; None where something else is to learn.

    Raises
    ------
    ValueError
        If there is no model of that name.
    TrainingError
        If they cannot reach the confidence.
    """
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(f"model is {model!r}, expected one of {', '.join(MODELS)}, or a classifier")
        return named_neighbors(model, confidence, n_classes) if model in NAMED else None
    if not isinstance(model, QuerySensitiveNeighbors):
        return None
    require_reach(model, confidence, n_classes)
    return model


def _learner(model: "Model | RiverClassifier | None", min_leaf: float, time_limit: int, seed: int) -> Learn:
    if model == FOREST:
        return forest_learner(min_leaf, time_limit, seed)
    if model is None or isinstance(model, (str, QuerySensitiveNeighbors)):
        return tree_learner(min_leaf, time_limit)
    return river_learner(model, time_limit)


def _check_number(n_features: int | None, n_offered: int, *, ranked: bool) -> None:
    """Refuse a number of features that there is not.

    Raises
    ------
    ValueError
        If features are not ranked, or fewer than that many.
    """
    if n_features is None:
        return
    if not ranked:
        raise ValueError(f"n_features is {n_features}, but select is None: the features have no order")
    if not 1 <= n_features <= n_offered:
        raise ValueError(f"n_features is {n_features}, expected 1 to {n_offered}")


def _refuse(where: str, **given: object) -> None:
    """Refuse parameters that have no meaning.

    Raises
    ------
    ValueError
        Naming the first that is given.
    """
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is {value}, expected none {where}")


def _check_costs(costs: Costs | None, n_features: int, prices: Mapping[str, float] | None) -> None:
    """Refuse costs of another number of features, and prices beside costs.

    Raises
    ------
    ValueError
        Saying which.
    """
    if costs is None:
        return
    if len(costs) != n_features:
        raise ValueError(f"there are {len(costs)} costs, expected {n_features}, one a feature")
    _refuse("beside costs: prices are for costs that are estimated", prices=prices or None)


def _check_learner(model: "Model | RiverClassifier | None") -> None:
    """Refuse what cannot keep a promise.

    Raises
    ------
    ValueError
        Naming what can.
    """
    if model is not None and model not in LEARNERS:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(LEARNERS)} beside a promise")


def selector_of(select: str | MakeSelector | None) -> MakeSelector | None:
    """What makes the selector.

    Raises
    ------
    ValueError
        If there is none of that name.
    TypeError
        If it is neither a name nor can be called.
    """
    if isinstance(select, str):
        if select not in SELECTORS:
            raise ValueError(f"select is {select!r}, expected one of {', '.join(SELECTORS)}, or None")
        return SELECTORS[select]
    if select is not None and not callable(select):
        raise TypeError(f"select is {select!r}, expected one of {', '.join(SELECTORS)}, a class, or None")
    return select


def _with_card(
    procedure: Procedure,
    streams: StreamSet,
    radio: Profile,
    prices: Mapping[str, float] | None,
    measured_on: StreamSet | None = None,
) -> Procedure:
    card = build_card(procedure, streams, radio, measured_on=measured_on, prices=prices)
    return replace(procedure, about={**procedure.about, "card": card})


def made_with(seed: int, streams: StreamSet, offered: list[str]) -> dict[str, Any]:
    """What is said of any procedure: versions, seed, how many streams, and the features that were offered."""
    return {
        "streamfs": version("streamfs"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "seed": seed,
        "streams": len(streams),
        "offered": offered,
    }


def _quiet(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""

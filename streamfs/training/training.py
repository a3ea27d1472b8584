"""From labelled, recorded streams to a procedure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, quiet
from streamfs.costs.costs import Costs
from streamfs.costs.energy import Profile
from streamfs.costs.pricing import Pricing, own_costs
from streamfs.costs.radio_profiles import profile
from streamfs.data.streams import StreamSet, require_streams
from streamfs.errors import DataError
from streamfs.evaluation.model_card import build_card
from streamfs.procedure.procedure import Procedure
from streamfs.selection.by_name import MakeSelector
from streamfs.training.arguments import made_with, offered_features, refuse, selector_of, whole_ticks
from streamfs.training.cost_aware import Model, Ranked
from streamfs.training.learners import LEARNERS
from streamfs.training.promises import Promise
from streamfs.training.promises.plan import Plan

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

DEFAULT_CONFIDENCE = 0.9


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
    >>> procedure = train(StreamSet(values, labels, ["noise"]), features=["mean(noise)"])
    >>> [feature.name for feature in procedure.features]
    ['mean(noise)']
    """
    require_streams(streams)
    if len(streams.classes) < 2:
        raise DataError(f"there is one class only, {list(streams.classes)}, expected at least two")
    time_limit = _time_limit(time_limit, horizon)
    make_selector = selector_of(select)
    features = offered_features(streams, features)
    radio = profile(energy_profile) if isinstance(energy_profile, str) else energy_profile
    _check_costs(costs, len(features), prices)
    if promise is None:
        asked = {"search": search if search != "floating" else None, "vary": vary if not vary else None}
        refuse("without a promise, which alone needs it", groups=groups, seconds=seconds, resume=resume, **asked)
        if costs is None:
            costs = Costs.estimate(streams, features, radio, max_silence=max_silence, prices=prices, a=a, b=b)
        ranked = Ranked(
            streams,
            features,
            costs,
            make_selector=make_selector,
            n_features=n_features,
            model=model,
            min_leaf=min_leaf,
            confidence=DEFAULT_CONFIDENCE if confidence is None else confidence,
            time_limit=time_limit,
            positions=positions,
            max_silence=max_silence,
            seed=seed,
            progress=progress or quiet,
        )
        return _with_card(ranked.procedure(), streams, radio, prices)
    refuse("beside a promise", confidence=confidence, n_features=n_features, positions=positions)
    weights = (a, b) if costs is None else (costs.a, costs.b)
    plan = Plan(
        streams,
        promise,
        features,
        pricing=Pricing(radio, prices, max_silence, *weights, own_costs(features, costs)),
        make_selector=make_selector,
        learners=_promised_learners(model),
        min_leaf=min_leaf,
        time_limit=whole_ticks(time_limit, int(streams.lengths.max()), streams.period),
        groups=groups,
        search=search,
        vary=vary and costs is None,
        seconds=seconds,
        resume=resume,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress or quiet,
    )
    kept = plan.procedure(made_with(seed, streams, [feature.name for feature in features]))
    return _with_card(kept, streams, radio, prices, plan.maker.division.testing)


def _time_limit(time_limit: int | timedelta | None, horizon: int | timedelta | None) -> int | timedelta | None:
    """The time limit, by whichever of its names.

    Raises
    ------
    ValueError
        If it is given by both.
    """
    if horizon is not None and time_limit is not None:
        raise ValueError(
            f"horizon is {horizon} and time_limit {time_limit}, expected one of them: they are the same"
        )
    return horizon if time_limit is None else time_limit


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
    refuse("beside costs: prices are for costs that are estimated", prices=prices or None)


def _promised_learners(model: "Model | RiverClassifier | None") -> tuple[str, ...]:
    """What may keep a promise, by name: one, or all.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    if model is None:
        return LEARNERS
    if not isinstance(model, str) or model not in LEARNERS:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(LEARNERS)} beside a promise")
    return (model,)


def _with_card(
    procedure: Procedure,
    streams: StreamSet,
    radio: Profile,
    prices: Mapping[str, float] | None,
    measured_on: StreamSet | None = None,
) -> Procedure:
    card = build_card(procedure, streams, radio, measured_on=measured_on, prices=prices)
    return replace(procedure, about={**procedure.about, "card": card})

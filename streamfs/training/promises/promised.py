"""Train the cheapest procedure with which a promise is kept."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, quiet
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing, own_costs
from streamfs.data.streams import StreamSet
from streamfs.procedure.card_schema import read_sends
from streamfs.procedure.procedure import Procedure
from streamfs.selection.by_name import MakeSelector
from streamfs.training import arguments
from streamfs.training.description import made_with, with_card
from streamfs.training.learners import LEARNERS
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.search_settings import SearchSettings
from streamfs.training.query_sensitive import NAMED

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

    from streamfs.classifiers.estimator import ProbabilisticModel
    from streamfs.training.cross_validation import Learn


def train_promised(
    streams: StreamSet,
    promise: Promise,
    *,
    features: Sequence[Feature | str] | None = None,
    costs: Costs | None = None,
    pricing: Pricing | str = "transmissions",
    time_limit: int | timedelta | None = None,
    horizon: int | timedelta | None = None,
    select: str | MakeSelector | None = "streamrelief",
    classifier: "str | RiverClassifier | ProbabilisticModel | Learn | None" = None,
    min_leaf: float = 2,
    groups: npt.ArrayLike | None = None,
    search: SearchSettings | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Procedure:
    """Train the cheapest features, classifier and threshold with which a promise is kept.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams.
    promise : Promise
        To be kept.
    features : sequence of Feature or str, optional
        Features to choose from, or their names; by default `default_features`, and over the channels found all
        kinds of features that `train` offers.
    costs : Costs, optional
        Costs of the features; by default the messages of their channels, each channel charged once.
    pricing : Pricing or str
        How costs are estimated: a radio's name, or a `Pricing` with prices and weights. Its `max_silence` applies
        to given `costs`, too.
    time_limit : int or timedelta, optional
        In ticks, or in time; by default the ticks of the longest stream.
    horizon : int or timedelta, optional
        The time limit, by StreamRelief's name for it.
    select : str or callable, optional
        What ranks the features where they are many, as in `train`. None searches all of them.
    classifier : {"c45", "extra-trees", "boosting"}, River classifier, ProbabilisticModel, or callable, optional
        By default whichever is the cheapest. Classifiers and functions are as of `train`; features are
        then searched with forests. A River classifier does not learn while it serves, since what was tested is
        what was promised.
    min_leaf : float
        Least number of streams in a leaf of a tree; of a forest, whose trees are averaged, a quarter of it.
    groups : array_like of shape (n_streams,), optional
        What streams have in common, such as the room or the site. Streams of a group are never on both sides of a
        fold or of the test; nor are those of the groups that a set of streams has, if none are given here.
    search : SearchSettings, optional
        Strategy, time limit and log of the search.
    seed : int
        Seeds the folds, the probes and the forests.
    n_jobs : int
        Threads; by default as many as there are cores. The result is the same for any number.
    progress : callable, optional
        Called with the progress of each step.

    Returns
    -------
    Procedure
        With the features that the classifier tests, and no others; the evidence is its ``about["promise"]``.

    Raises
    ------
    DataError
        If the streams have one class only, too few streams of a class or for the test, or a column is missing.
    TrainingError
        If no feature separates the classes.
    PromiseError
        If no threshold keeps the promise: with the best there is, and how many more streams might do.
    ValueError
        If the model cannot keep a promise, or an option is out of range.
    TypeError
        If the streams are not a `StreamSet`, the features not a sequence of features, or the promise not a
        `Promise`.

    Notes
    -----
    Three fifths of the streams are searched and trained on: more than ten features are first reduced to those that
    are proposed, and the same over cheaper channels; then a floating search minimises what the messages of their
    channels are expected to cost, each once, until a stream is decided, the more so the less likely the test
    passes. Then the classifier is fixed, and its thresholds are tested on the other two fifths. With probability
    1 - risk the promise is kept on streams that are drawn as these were, each on its own. It is not a guarantee
    elsewhere, such as in other buildings, nor for pairs that share nodes.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 60)
    >>> values = rng.normal(np.where(labels == "calm", 0, 2)[:, None, None], 1, (120, 12, 1))
    >>> streams = StreamSet(values, labels, ["noise"])
    >>> procedure = train_promised(streams, Promise(accuracy=0.8), features=["mean(noise)"], n_jobs=1)
    >>> evidence = procedure.about["promise"]
    >>> evidence["right"], evidence["labelled"], evidence["streams"]
    (44, 48, 48)
    """
    arguments.require_classes(streams)
    time_limit = arguments.either_limit(time_limit, horizon)
    make_selector = arguments.selector_of(select)
    is_rich = features is None
    features = arguments.offered_features(streams, features)
    pricing = arguments.pricing_of(pricing, costs, len(features))
    search = SearchSettings() if search is None else search
    if costs is not None:
        pricing = replace(pricing, a=costs.a, b=costs.b, own=own_costs(features, costs))
        search = replace(search, as_offered=True)
    problem = PromiseProblem(
        streams,
        promise,
        features,
        pricing,
        make_selector,
        _learners(classifier),
        min_leaf,
        arguments.whole_ticks(time_limit, int(streams.lengths.max()), streams.period),
        groups,
        search,
        seed,
        n_jobs,
        classifier,
        is_rich,
    )
    about = made_with(seed, streams, [feature.name for feature in features])
    procedure, split = problem.procedure(about, progress or quiet), problem.split
    pricing = replace(pricing, sends=read_sends(procedure.about))
    return with_card(procedure, streams, pricing, split.test, split.test_groups)


def _learners(classifier: object) -> tuple[str, ...]:
    """Return the names of the models that may keep the promise: of one, or of all."""
    if classifier is None:
        return LEARNERS
    if isinstance(classifier, str) and classifier in NAMED:
        raise ValueError(f"classifier is {classifier!r}, expected one of {', '.join(LEARNERS)} besides a promise")
    return (classifier if isinstance(classifier, str) else _name_of(classifier),)


def _name_of(given: object) -> str:
    """Return the name of a function, or of an object's class."""
    return str(getattr(given, "__name__", type(given).__name__))

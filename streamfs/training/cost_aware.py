"""Train a procedure on recorded streams."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, quiet
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing, own_costs
from streamfs.data.clock import CLOCK, clock_of
from streamfs.data.rich_features import rich_features
from streamfs.data.streams import StreamSet
from streamfs.procedure.procedure import Procedure
from streamfs.selection.by_name import MakeSelector
from streamfs.training import arguments
from streamfs.training.balance import Balance
from streamfs.training.decision_costs import DecisionCosts
from streamfs.training.description import with_ties
from streamfs.training.kept_together import held_out_together
from streamfs.training.learners import FOREST
from streamfs.training.least_cost import LeastCost
from streamfs.training.models import TREE, TrainingModel
from streamfs.training.ranked import RankedFeatures

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

    from streamfs.classifiers.estimator import ProbabilisticModel
    from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
    from streamfs.training.cross_validation import Learn

CHANNELS = "channels"

USUAL_CONFIDENCE = 0.9
"""The threshold of classifiers on ranked features, unless one is given."""


def train(
    streams: StreamSet,
    *,
    features: Sequence[Feature | str] | None = None,
    costs: Costs | None = None,
    pricing: Pricing | str = "transmissions",
    confidence: float | str | None = None,
    error_cost: float | None = None,
    delay_cost: float | None = None,
    sending_cost: float | None = None,
    time_limit: int | timedelta | None = None,
    horizon: int | timedelta | None = None,
    select: str | MakeSelector | None = CHANNELS,
    n_features: int | None = None,
    classifier: "str | QuerySensitiveNeighbors | RiverClassifier | ProbabilisticModel | Learn | None" = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Procedure:
    """Train a procedure: choose what to read, fit a classifier, and choose when to decide.

    `train_promised` instead finds the cheapest procedure with which an accuracy can be promised.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams; those of one group (`StreamSet.grouped`) are never held out and trained on at
        once. What they count (`StreamSet.weighted`) is honoured, or refused where a model or selector knows no
        weights.
    features : sequence of Feature or str, optional
        Features to choose from, or their names; by default `default_features`, and on chosen channels all kinds of
        features of a column, if there are few columns, and normalised patterns. A forest has ``count()`` besides,
        which costs nothing, unless you give costs.
    costs : Costs, optional
        Costs of the features; by default the mean cost per tick of their channels' transmissions on the streams.
    pricing : Pricing or str
        How costs are estimated: a radio's name, or a `Pricing` with prices and weights. Its `max_silence` applies
        to given `costs`, too.
    confidence : float or "anticipated", optional
        Threshold at which a stream is labelled. By default it is chosen so that errors and delays on held-out
        streams cost least, or are best balanced, and every stream that reaches the time limit is labelled there;
        for features that a selector ranks, 0.9. ``"anticipated"`` chooses one for each tick: a stream waits while
        that is expected to cost less (ECONOMY-gamma).
    error_cost, delay_cost : float, optional
        What a wrong label costs, and what a delay up to the time limit costs; a shorter delay costs its share. One
        that is not given is 1. If no cost nor confidence is, what is chosen on held-out streams has the best
        harmonic mean of accuracy and earliness, which is 1 less the mean delay after the first tick.
    sending_cost : float, optional
        What sending costs beside errors and delays: each unit of `pricing`, such as a transmission or a joule,
        that the chosen channels send until the decision, or of the `costs` of their features. By default nothing:
        what is sent decides only between choices that are about as good.
    time_limit : int or timedelta, optional
        In ticks, or in time; by default the ticks of the longest stream.
    horizon : int or timedelta, optional
        The time limit, by StreamRelief's name for it.
    select : str or callable, optional
        ``"channels"``, the default, takes all features of the channels whose decisions on held-out streams cost
        least; of about equal ones, those that send least. To rank features: ``"streamrelief"``, ``"literal"``,
        ``"relief"``, or a callable that makes a selector from the costs and the keywords `confidence`, `horizon`,
        `positions` and `random_state`. None offers all features to the classifier.
    n_features : int, optional
        How many ranked features to offer; by default chosen by cross-validation over streams.
    classifier : str, QuerySensitiveNeighbors, River classifier, ProbabilisticModel, or callable, optional
        What to fit: ``"extra-trees"``, a forest, the default; ``"c45"``, a tree, the default on ranked or all
        features; ``"boosting"``, gradient boosting of trees; ``"qsfs1"`` or ``"qsfs2"``, neighbours that request
        some channels only while a stream is unusual, as few as can reach the confidence; such neighbours with
        parameters of your own; a River classifier; a classifier of scikit-learn, or another `ProbabilisticModel`,
        which takes NaN or has an imputer before it; or a function from a `FeatureTable` to a `Classifier`, given
        itself or by the name under which `register_learner` was called.
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
        If the tree finds no feature that separates the classes, neighbours cannot reach the confidence, or no
        held-out stream, or none at all, is given a label at it.
    ValueError
        If the confidence, a cost, the number of features or the model is out of range.
    TypeError
        If the streams are not a `StreamSet`, or the features not a sequence of features.

    Notes
    -----
    On chosen channels, the classifier's confidence is calibrated: on held-out streams, at the ticks at which they
    can be decided, with the number of samples so far, and again where they are decided.

    On ranked or all features, the threshold is one on what the classifier states. So streams are decided when the
    papers say; but both, threshold and confidence, are then calibrated on held-out streams, so that as many labels
    are right as is stated: the procedure's confidence is what the given one is worth. A tree is fitted on one row
    per stream and tick up to the time limit, weighted by 1 / ticks of its stream, so that leaves and their
    confidence count streams: a leaf of n streams, all of one of C classes, states (n + 1) / (n + C), and 0.9 takes
    44 streams of a class if there are six, 8 if there are two. Neighbours store one row per stream and position,
    at most a thousand. The number of features is the cheapest, out of fold, of those within 0.02 of the best
    out-of-fold accuracy and completeness.

    The procedure keeps how many held-out streams were labelled, and rightly, in all and by class, in
    ``about["held_out"]``, unless a class has one stream only.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 30)
    >>> values = rng.normal(np.where(labels == "calm", 0, 2)[:, None, None], 1, (60, 12, 1))
    >>> procedure = train(StreamSet(values, labels, ["noise"]), features=["mean(noise)"])
    >>> [feature.name for feature in procedure.features]
    ['count()', 'mean(noise)']
    """
    arguments.require_classes(streams)
    arguments.require_seed(seed)
    limit = arguments.either_limit(time_limit, horizon)
    is_anticipated, confidence = arguments.confidence_of(confidence, select, CHANNELS)
    streams = arguments.counting(streams, select, CHANNELS, is_anticipated=is_anticipated)
    arguments.require_classes(streams)
    streams, ties = held_out_together(streams)
    asked = {"error": error_cost, "delay": delay_cost, "sending": sending_cost}
    given = {name: cost for name, cost in asked.items() if cost is not None}
    decision_costs = DecisionCosts(is_anticipated=is_anticipated, **given)
    if not given and confidence is None and not is_anticipated:
        decision_costs = Balance()
    if select != CHANNELS and given:
        raise ValueError(
            f"error_cost, delay_cost and sending_cost are given, but select is not {CHANNELS!r}: other selections "
            "are fitted to a confidence"
        )
    make_selector = arguments.selector_of(select, CHANNELS)
    if features is None and select == CHANNELS and costs is None:
        features = rich_features(streams, seed)
    offered = arguments.offered_features(streams, features)
    is_forest = select == CHANNELS and classifier in (None, FOREST)
    if is_forest and costs is None and clock_of(offered) < 0:
        offered = (CLOCK, *offered)
    pricing = arguments.pricing_of(pricing, costs, len(offered))
    if n_features is not None and make_selector is None:
        raise ValueError(f"n_features is {n_features}, but select is {select!r}: the features have no order")
    if n_features is not None and not 1 <= n_features <= len(offered):
        raise ValueError(f"n_features is {n_features}, expected 1 to {len(offered)}")
    if select == CHANNELS:
        pricing = replace(pricing, own=own_costs(offered, costs))
        chosen = TrainingModel(FOREST if classifier is None else classifier, confidence or USUAL_CONFIDENCE, seed)
        cheapest = LeastCost(streams, offered, pricing, decision_costs, chosen, limit, confidence)
        return with_ties(cheapest.procedure(progress or quiet), ties)
    chosen = TrainingModel(TREE if classifier is None else classifier, confidence or USUAL_CONFIDENCE, seed)
    ranked = RankedFeatures(streams, offered, pricing, costs, make_selector, n_features, chosen, limit)
    return with_ties(ranked.procedure(progress or quiet), ties)

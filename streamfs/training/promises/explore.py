"""Explore what could be promised at what cost: search for many promises, and keep the trade-off."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, quiet
from streamfs.costs.pricing import Pricing
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError
from streamfs.selection.by_name import MakeSelector
from streamfs.training import arguments
from streamfs.training.learners import FOREST, LEARNERS
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.explored import Front
from streamfs.training.promises.front import FrontPoint, front
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.search_and_certify import PromiseTrainer
from streamfs.training.promises.search_settings import SearchSettings

if TYPE_CHECKING:
    from streamfs.training.promises.held_out import Curves
    from streamfs.training.promises.subset_score import Subset

ACCURACIES = (0.8, 0.85, 0.9, 0.95)
COMPLETENESSES = (0.7, 0.9)
"""The promises searched for: each of these accuracies at each of these completenesses."""

BEHIND = 0.05
"""If no subset is as accurate as the least of the accuracies, points this much behind the best are shown."""

SHORT_LIST = 48
"""Points, as the search sees them, whose features are followed at every tick."""

LEAST_SECONDS = 0.1
"""Time in which a search scores at least one subset whose curve is known."""

N_THRESHOLDS = 200
"""Most thresholds of a subset that become points."""

Names = tuple[str, ...]
"""Names of features, the free ones first."""


def explore(
    streams: StreamSet,
    features: Sequence[Feature | str] | None = None,
    *,
    accuracies: Sequence[float] = ACCURACIES,
    completenesses: Sequence[float] = COMPLETENESSES,
    pricing: Pricing | str = "transmissions",
    time_limit: int | timedelta | None = None,
    select: str | MakeSelector | None = "streamrelief",
    classifier: str = FOREST,
    min_leaf: float = 2,
    groups: npt.ArrayLike | None = None,
    risk: float = Promise.risk,
    search: SearchSettings | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Front:
    """Search the cheapest features for many promises, and keep every threshold on them that nothing else beats.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams. Two fifths are set apart, to measure the chosen points on.
    features : sequence of Feature or str, optional
        Features to choose from, or their names; by default `default_features`.
    accuracies, completenesses : sequence of float
        Every pair of them is a promise to search for. Points that are less accurate, or less complete, than the
        least of them are left out.
    pricing, time_limit, select, min_leaf, groups, seed, n_jobs, progress
        As in `train_promised`.
    classifier : {"extra-trees", "c45", "boosting"}
        The classifier.
    risk : float
        Of each of the bounds on a point that is measured.
    search : SearchSettings, optional
        Whether features are varied, and the time for all searches; they are floating, and not logged.

    Returns
    -------
    Front
        Its points are figures on held-out streams, and the best of many: on new streams they are a little worse.

    Raises
    ------
    DataError
        If there are too few streams to set some apart, or for any of the promises.
    TrainingError
        If no threshold labels enough streams, or there was no time to score a subset.
    ValueError
        If there is nothing to promise.
    """
    report = progress or quiet
    problem = exploration(
        streams,
        features,
        pricing=pricing,
        time_limit=time_limit,
        select=select,
        classifier=classifier,
        min_leaf=min_leaf,
        groups=groups,
        risk=risk,
        search=search,
        seed=seed,
        n_jobs=n_jobs,
    )
    promises = _promises(problem, accuracies, completenesses)
    trainer = replace(problem.trainer(report), starts=(1,))
    scouted = _scout(trainer, promises, problem.search.seconds, report)
    least = min(accuracies), min(completenesses)
    best = {point.features for point in front(points_of(scouted, *least), SHORT_LIST)}
    followed = _follow(trainer, [names for names in scouted if names in best], report)
    return Front(front(points_of(followed, *least)), problem)


def exploration(
    streams: StreamSet,
    features: Sequence[Feature | str] | None = None,
    *,
    pricing: Pricing | str = "transmissions",
    time_limit: int | timedelta | None = None,
    select: str | MakeSelector | None = "streamrelief",
    classifier: str = FOREST,
    min_leaf: float = 2,
    groups: npt.ArrayLike | None = None,
    risk: float = Promise.risk,
    search: SearchSettings | None = None,
    seed: int = 0,
    n_jobs: int = -1,
) -> PromiseProblem:
    """Return the problem that `explore` explores, which describes the parameters; `Front.read` takes it."""
    arguments.require_classes(streams)
    if classifier not in LEARNERS:
        raise ValueError(f"classifier is {classifier!r}, expected one of {', '.join(LEARNERS)}")
    found = arguments.offered_features(streams, features)
    pricing = arguments.pricing_of(pricing, None, len(found))
    if pricing.sends is not None:
        raise ValueError(f"sends is {pricing.sends!r}, expected None: points are of what readings cost")
    if pricing.prices is not None:  # in any order they are the same exploration
        pricing = replace(pricing, prices=dict(sorted(pricing.prices.items())))
    return PromiseProblem(
        streams,
        Promise(risk=risk),
        found,
        pricing,
        arguments.selector_of(select),
        (classifier,),
        min_leaf,
        arguments.whole_ticks(time_limit, int(streams.lengths.max()), streams.period),
        groups,
        SearchSettings() if search is None else search,
        seed,
        n_jobs,
    )


def _promises(
    problem: PromiseProblem, accuracies: Sequence[float], completenesses: Sequence[float]
) -> list[Promise]:
    """Return the promises that the streams set apart could pass."""
    risk, split = problem.promise.risk, problem.split
    asked = [Promise(accuracy, completeness, risk) for accuracy in accuracies for completeness in completenesses]
    if not asked:
        raise ValueError("there are no accuracies, or no completenesses, expected at least one of each")
    split.require_enough(min(asked, key=lambda promise: promise.fewest_streams))
    return [promise for promise in asked if promise.fewest_streams <= len(split.test)]


def _scout(
    trainer: PromiseTrainer, promises: Sequence[Promise], seconds: float | None, progress: Progress
) -> dict[Names, Curve]:
    """Search for each promise, in its share of the time; the curve of a subset is computed once."""
    until = None if seconds is None else time.monotonic() + seconds
    curves: dict[Subset, Curves] = {}
    for n_left, promise in zip(range(len(promises), 0, -1), promises, strict=True):
        share = None if until is None else max((until - time.monotonic()) / n_left, LEAST_SECONDS)
        report = partial(_report, progress, promise)
        trainer.search(trainer.scorer(promise, share, curves=curves, progress=report))
    free, features = trainer.candidates.free, trainer.candidates.features
    return {tuple(features[i].name for i in (*free, *subset)): by_start[1] for subset, by_start in curves.items()}


def _follow(trainer: PromiseTrainer, subsets: Sequence[Names], progress: Progress) -> dict[Names, Curve]:
    """Fit the classifier of the end to subsets, and follow held-out streams at every tick."""
    place = {feature.name: i for i, feature in enumerate(trainer.candidates.features)}
    held_out = trainer.held_out(next(iter(trainer.learners)))
    curves: dict[Names, Curve] = {}
    for names in subsets:
        progress("following the best", len(curves), len(subsets))
        curves[names] = held_out.curves([place[name] for name in names])[1]
    progress("following the best", len(curves), len(subsets))
    return curves


def _report(progress: Progress, promise: Promise, _what: str, done: int, total: int) -> None:
    progress(f"accuracy {promise.accuracy:g}, completeness {promise.completeness:g}", done, total)


def points_of(curves: Mapping[Names, Curve], accuracy: float, completeness: float) -> list[FrontPoint]:
    """Return the thresholds of all subsets that are accurate and complete enough."""
    found = [
        FrontPoint(p.accuracy, p.completeness, p.cost, p.ticks, p.threshold, names)
        for names, curve in curves.items()
        for p in curve.thinned(N_THRESHOLDS).points()
        if p.completeness >= completeness
    ]
    if not found:
        raise TrainingError(
            f"no threshold labels {completeness:g} of the streams that were held out: explore less"
        )
    best = max(point.accuracy for point in found)
    least = accuracy if best >= accuracy else best - BEHIND
    return [point for point in found if point.accuracy >= least]

"""What could be promised at what cost: searches for many promises, and the trade-off that comes of them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import feature_extractors as fx
from feature_extractors.base import Feature
from streamfs.base.progress import Progress
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError
from streamfs.procedure.procedure import Procedure
from streamfs.training.description import made_with, with_card
from streamfs.training.promises.cheapest import Judged, Subset
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.exploration import identity, plan_of
from streamfs.training.promises.front import FrontPoint, front, read_front, write_front
from streamfs.training.promises.measured import measured
from streamfs.training.promises.problem import PromiseProblem, SearchSettings
from streamfs.training.promises.promise import Promise

ACCURACIES = (0.8, 0.85, 0.9, 0.95)
COMPLETENESSES = (0.7, 0.9)
"""The promises that are searched for: each of these accuracies at each of these completenesses."""

BEHIND = 0.05
"""Where no subset is as accurate as the least of the accuracies, points so much behind the best are shown."""

SHORT_LIST = 48
"""Points, as the search sees them, whose features are learnt and followed at every tick."""

LEAST_SECONDS = 0.1
"""Time for a search to judge one subset at least whose curve is known."""

N_THRESHOLDS = 200
"""Thresholds of a subset that are looked at, at most."""

Names = tuple[str, ...]
"""Names of features, those that cost nothing first."""


@dataclass(frozen=True, eq=False)
class Front:
    """Points of which none is beaten by another, and what it takes to make procedures of them.

    Parameters
    ----------
    points : tuple of FrontPoint
        The cheapest first.
    plan : PromiseProblem
        What was explored.
    """

    points: tuple[FrontPoint, ...]
    plan: PromiseProblem

    @classmethod
    def read(cls, path: str | Path, plan: PromiseProblem) -> Self:
        """Read the points that `write` has written; the plan must be of the same streams and options.

        Raises
        ------
        DataError
            If the file holds no points, or those of another exploration.
        """
        return cls(read_front(path, identity(plan)), plan)

    def write(self, path: str | Path) -> None:
        """Write the points as CSV: their number from 1, what they come to, threshold and features."""
        write_front(self.points, identity(self.plan), path)

    def procedure(self, index: int) -> Procedure:
        """Make a procedure of a point, and measure it on the streams that took no part in the exploration.

        Parameters
        ----------
        index : int
            Place of the point, from 0.

        Returns
        -------
        Procedure
            Its ``about["point"]`` has what came of it on those streams: shares, and lower bounds on accuracy and
            on completeness, each of which holds with probability 1 - the risk on streams drawn as these were.

        Raises
        ------
        ValueError
            If there is no such point.
        TrainingError
            If none of the streams set apart gets a label.

        Notes
        -----
        The bounds are exact (C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated
        in the case of the binomial, Biometrika 26, 1934). One threshold that is settled beforehand needs no
        sequence of tests. Who measures many points and takes the best of them has chosen by these streams: then
        the bounds do not hold.
        """
        if not 0 <= index < len(self.points):
            raise ValueError(f"index is {index}, expected 0 to {len(self.points) - 1}")
        point = self.points[index]
        features = [fx.get(name) for name in point.features]
        plan = replace(self.plan, features=features, make_selector=None, search=SearchSettings(vary=False))
        frozen = plan.maker.freeze(Judged(plan.maker.candidates.proposed, 0.0, 0.0, 0.0))
        calibration, n_classes = frozen.classifier.calibration, len(plan.streams.classes)
        threshold = point.threshold
        if calibration is not None:
            threshold = float(calibration.of(threshold, n_classes=n_classes))
        found = measured(plan.maker, frozen, threshold, plan.promise.risk)
        found["held_out"] = {name: getattr(point, name) for name in FrontPoint._fields[:4]}
        about = made_with(plan.seed, plan.streams, [f.name for f in plan.features]) | {
            "classifier": frozen.learner,
            "point": found,
        }
        procedure = plan.assembled(frozen, threshold, about)
        return with_card(procedure, plan.streams, plan.pricing, plan.maker.division.testing)


def explore(
    streams: StreamSet,
    features: Sequence[Feature | str] | None = None,
    *,
    accuracies: Sequence[float] = ACCURACIES,
    completenesses: Sequence[float] = COMPLETENESSES,
    **options: Any,
) -> Front:
    """Search the cheapest features for many promises, and keep whatever threshold on them nothing else beats.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams. Two fifths are set apart, to measure the points on that are chosen.
    features : sequence of Feature or str, optional
        What to choose from; by default `default_features`.
    accuracies, completenesses : sequence of float
        Every pair of them is a promise to search for. Points that are less accurate, or less complete, than the
        least of them are left out.
    **options
        Those of `plan_of`.

    Returns
    -------
    Front
        The points are what held-out streams have come to: the best of many, so that new streams come to a little
        less.

    Raises
    ------
    DataError
        If there are too few streams to set some apart, or for any of the promises.
    TrainingError
        If no threshold labels enough streams, or there was no time to judge any subset.
    ValueError
        If there is nothing to promise.
    """
    plan = plan_of(streams, features, **options)
    scouted = _scout(plan, _promises(plan, accuracies, completenesses))
    least = min(accuracies), min(completenesses)
    best = {point.features for point in front(points_of(scouted, *least), SHORT_LIST)}
    followed = _follow(plan, [features for features in scouted if features in best])
    return Front(front(points_of(followed, *least)), plan)


def _promises(plan: PromiseProblem, accuracies: Sequence[float], completenesses: Sequence[float]) -> list[Promise]:
    """The promises that the streams set apart could pass."""
    risk, division = plan.promise.risk, plan.maker.division
    asked = [Promise(accuracy, completeness, risk) for accuracy in accuracies for completeness in completenesses]
    if not asked:
        raise ValueError("there are no accuracies, or no completenesses, expected at least one of each")
    division.require_enough(min(asked, key=lambda promise: promise.fewest_streams))
    return [promise for promise in asked if promise.fewest_streams <= len(division.testing)]


def _scout(plan: PromiseProblem, promises: Sequence[Promise]) -> dict[Names, Curve]:
    """Search for each promise, in its share of the time; what a subset comes to is computed once."""
    until = None if plan.search.seconds is None else time.monotonic() + plan.search.seconds
    curves: dict[Subset, Curve] = {}
    maker = plan.maker
    maker.scouted  # noqa: B018 - computed here, so that it is told of as no part of a search
    for n_left, promise in zip(range(len(promises), 0, -1), promises, strict=True):
        share = None if until is None else max((until - time.monotonic()) / n_left, LEAST_SECONDS)
        maker.promise, maker.progress = promise, partial(_tell, plan.progress, promise)
        maker.search(seconds=share, curves=curves)
    free, features = maker.candidates.free, maker.candidates.features
    return {tuple(features[i].name for i in (*free, *subset)): curve for subset, curve in curves.items()}


def _follow(plan: PromiseProblem, subsets: Sequence[Names]) -> dict[Names, Curve]:
    """Learn subsets with what is to classify in the end, and follow held-out streams at every tick."""
    place = {feature.name: i for i, feature in enumerate(plan.maker.candidates.features)}
    held_out = plan.maker.held_out(plan.learners[0])
    curves: dict[Names, Curve] = {}
    for names in subsets:
        plan.progress("following the best", len(curves), len(subsets))
        curves[names] = held_out.curve([place[name] for name in names])
    plan.progress("following the best", len(curves), len(subsets))
    return curves


def _tell(progress: Progress, promise: Promise, _what: str, done: int, total: int) -> None:
    progress(f"accuracy {promise.accuracy:g}, completeness {promise.completeness:g}", done, total)


def points_of(curves: Mapping[Names, Curve], accuracy: float, completeness: float) -> list[FrontPoint]:
    """Thresholds of all subsets that are accurate and complete enough."""
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

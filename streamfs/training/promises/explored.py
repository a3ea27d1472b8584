"""The explored trade-off, from whose points procedures are made."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv

import feature_extractors as fx
from streamfs.base.container import digest
from streamfs.errors import TrainingError
from streamfs.procedure.procedure import Procedure
from streamfs.training.description import made_with, with_card
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.front import FrontPoint, read_front, write_front
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.search_settings import SearchSettings


@dataclass(frozen=True, eq=False)
class Front:
    """Points of which none is beaten by another, and the problem that they solve.

    Parameters
    ----------
    points : tuple of FrontPoint
        The cheapest first.
    problem : PromiseProblem
        What was explored.
    """

    points: tuple[FrontPoint, ...]
    problem: PromiseProblem

    @classmethod
    def read(cls, path: str | Path, problem: PromiseProblem) -> Self:
        """Read the points that `write` has written; the problem must be of the same streams and options.

        Raises
        ------
        DataError
            If the file holds no points, or those of another exploration.
        """
        return cls(read_front(path, identity(problem)), problem)

    def write(self, path: str | Path) -> None:
        """Write the points as CSV: their number from 1, figures, threshold and features."""
        write_front(self.points, identity(self.problem), path)

    def procedure(self, index: int) -> Procedure:
        """Make a procedure of a point, and measure it on the streams that were set apart.

        Parameters
        ----------
        index : int
            Of the point, from 0.

        Returns
        -------
        Procedure
            Its ``about["point"]`` has its figures on those streams: shares, and lower bounds on accuracy and
            completeness, each of which holds with probability 1 - the risk on streams drawn as these were.

        Raises
        ------
        ValueError
            If there is no such point.
        TrainingError
            If none of the streams set apart gets a label.

        Notes
        -----
        The bounds are exact (C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated
        in the case of the binomial, Biometrika 26, 1934). One threshold that is fixed beforehand needs no sequence
        of tests. Whoever measures many points and takes the best of them has chosen by these streams: then the
        bounds do not hold.
        """
        if not 0 <= index < len(self.points):
            raise ValueError(f"index is {index}, expected 0 to {len(self.points) - 1}")
        point, risk = self.points[index], self.problem.promise.risk
        features = [fx.get(name) for name in point.features]
        problem = replace(
            self.problem, features=features, make_selector=None, search=SearchSettings(as_offered=True)
        )
        trainer = replace(problem.trainer(), falls=())  # a point is one threshold at all ticks
        model = trainer.fit(trainer.candidates.proposed, problem.promise)
        calibration, n_classes = model.classifier.calibration, len(problem.streams.classes)
        threshold = point.threshold
        if calibration is not None:
            threshold = float(calibration.of(threshold, n_classes=n_classes))
        about = made_with(problem.seed, problem.streams, [f.name for f in features]) | {
            "classifier": model.learner,
            "point": {
                **measured(trainer.curve(model, problem.split.test), threshold, risk),
                "searched_on": len(problem.split.train),
                "held_out": {name: getattr(point, name) for name in FrontPoint._fields[:4]},
            },
        }
        procedure = problem.assembled(model, threshold, about)
        split = problem.split
        return with_card(procedure, problem.streams, problem.pricing, split.test, split.test_groups)


def measured(curve: Curve, threshold: float, risk: float) -> dict[str, Any]:
    """Return the results of a fixed threshold on held-out streams, with lower bounds, as plain JSON."""
    labelled, right = (int(counts[0]) for counts in curve.at(np.array([threshold])))
    if not labelled:
        raise TrainingError(f"none of the {curve.n_streams} streams that were set apart gets a label")
    point = curve.at_threshold(threshold)
    return {
        "threshold": threshold,
        "risk": risk,
        "streams": curve.n_streams,
        "labelled": labelled,
        "right": right,
        "accuracy": point.accuracy,
        "accuracy_at_least": lower_bound(right, labelled, risk),
        "completeness": point.completeness,
        "completeness_at_least": lower_bound(labelled, curve.n_streams, risk),
        "cost": point.cost,
        "ticks": point.ticks,
    }


def lower_bound(n_good: int, n: int, risk: float) -> float:
    """Return the least share for which `n_good` of `n` are not improbable (Clopper and Pearson)."""
    return float(betaincinv(n_good, n - n_good + 1, risk)) if n_good else 0.0


def identity(problem: PromiseProblem) -> str:
    """Return a digest of what decides which streams are set apart, and what points mean."""
    train = problem.split.train
    rates = problem.pricing.rates(train.period)
    waiting = (rates,) if rates.tick or rates.control else ()
    words = train.names, train.columns, train.labels.tolist(), problem.pricing, problem.learners, *waiting
    numbers = train.period, train.lengths.tolist(), problem.min_leaf, problem.time_limit, problem.seed
    return digest(repr((words, numbers)).encode() + train.values.tobytes())

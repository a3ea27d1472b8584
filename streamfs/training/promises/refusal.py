"""The refusal of a promise that cannot be kept."""

from typing import Any

import numpy as np

from streamfs.errors import TrainingError
from streamfs.training.promises.curve import Curve, Point
from streamfs.training.promises.promise import Promise

PROBABLE = 0.8
"""Probability with which the test passes with the number of streams that are said to be needed."""

MOST_STREAMS = 1_000_000
"""Number of streams above which no number is said to be enough."""


class PromiseError(TrainingError):
    """A promise that could not be certified; there is no procedure.

    Parameters
    ----------
    message : str
        What fell short.
    best : Point or None
        The threshold that came nearest, on the streams of the test.
    curve : list of dict
        Results of thresholds there.
    streams_needed : int or None
        Estimated number of streams in all, if more might suffice.
    """

    def __init__(
        self, message: str, best: Point | None, curve: list[dict[str, Any]], streams_needed: int | None
    ) -> None:
        super().__init__(message)
        self.best = best
        self.curve = curve
        self.streams_needed = streams_needed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.best, self.curve, self.streams_needed)


def refusal(curve: Curve, promise: Promise, n_streams: int) -> PromiseError:
    """Return an error that says how close a classifier is to a promise; `n_streams` counts all streams."""
    asked = f"accuracy {promise.accuracy:g}"
    if promise.completeness is not None:
        asked += f" at completeness {promise.completeness:g}"
    asked += f" (risk {promise.risk:g})"
    if not len(curve):
        return PromiseError(f"{asked} cannot be promised: no stream of the test is labelled", None, [], None)
    margin = curve.accuracy - promise.accuracy
    if promise.completeness is not None:
        margin = np.minimum(margin, curve.completeness - promise.completeness)
    enough = curve.n_labelled >= min(promise.fewest_labelled, int(curve.n_labelled.max()))
    place = int(np.where(enough, margin, -np.inf).argmax())
    best, test = curve.point(place), curve.n_streams
    needed = _streams_needed(promise, best, test)
    in_all = None if needed is None else max(n_streams + 1, round(n_streams * needed / test))
    labels = f"labels {best.completeness:.3f} of {test} streams of the test, {best.accuracy:.3f} of them rightly"
    if in_all is None:
        advice = "more streams would not help: promise less, allow more time, or offer other features"
    else:
        advice = (
            f"if these are the true shares, about {in_all} streams are needed, {in_all - n_streams} more than "
            "there are; or promise less"
        )
    message = f"{asked} cannot be promised: the best threshold, {best.threshold:.3g}, {labels}; {advice}"
    return PromiseError(message, best, [point._asdict() for point in curve.thinned(12).points()], in_all)


def _streams_needed(promise: Promise, point: Point, n_streams: int) -> int | None:
    """Return how many streams a test of these shares needs to pass probably; None if no number does."""
    n = n_streams
    while n <= MOST_STREAMS:
        if promise.chances(point.completeness, point.accuracy, n) >= PROBABLE:
            return n
        n = n * 11 // 10 + 1
    return None

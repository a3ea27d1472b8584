"""The refusal of a promise that cannot be kept."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from streamfs.errors import TrainingError
from streamfs.training.promises.certificate import Certificate, chances, p_values, walk
from streamfs.training.promises.curve import Curve, Point
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.subset_score import evaluate_subset

PROBABLE = 0.8
"""Probability with which the test passes with the number of streams that are said to be needed."""

MOST_STREAMS = 1_000_000
"""Number of streams in all above which no number is said to be enough."""


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
        Estimated number of streams in all, if more might suffice: by the shares of the test and of the held-out
        training streams together, and by what the second half of the training streams has brought.
    streams_between : tuple of int or None
        The same if the shares are a standard error more, or less, than there; None for no number.
    failed : {"accuracy", "completeness", "order", "cost"} or None
        What the test failed by; the order, if a later threshold would have passed.
    supported : float or None
        Highest accuracy that the held-out training streams support at the same completeness.
    """

    def __init__(
        self,
        message: str,
        best: Point | None,
        curve: list[dict[str, Any]],
        streams_needed: int | None,
        streams_between: tuple[int | None, int | None] = (None, None),
        failed: str | None = None,
        supported: float | None = None,
    ) -> None:
        super().__init__(message)
        self.best = best
        self.curve = curve
        self.streams_needed = streams_needed
        self.streams_between = streams_between
        self.failed = failed
        self.supported = supported

    def __reduce__(self) -> tuple[Any, ...]:
        facts = self.best, self.curve, self.streams_needed, self.streams_between, self.failed, self.supported
        return type(self), (str(self), *facts)


def refusal(
    curve: Curve,
    promise: Promise,
    n_streams: int,
    held_out: Curve,
    classes: Sequence[str] = (),
    gain: float = 0.0,
    max_cost: float = inf,
) -> PromiseError:
    """Return an error that says how close a classifier is to a promise, and what failed.

    `n_streams` counts all streams, `held_out` is the curve of the training streams, `classes` are named, and
    `gain` is by how much accuracy has grown with the second half of the training streams. Thresholds that cost
    more than `max_cost` are not advised.
    """
    if not len(curve):
        return PromiseError(
            f"{_asked(promise)} cannot be promised: no stream of the test is labelled", None, [], None
        )
    costs, test = curve.mean_cost(per_label=promise.completeness is None), curve.n_streams
    affordable = curve.take(np.flatnonzero(costs <= max_cost))
    if not len(affordable):
        message = (
            f"{_asked(promise)} cannot be promised: the best model that was found costs {costs.min():.4g} a "
            f"{_paid_for(promise)} or more on the streams of the test, expected at most {max_cost:g}: allow more"
        )
        return PromiseError(message, curve.point(int(costs.argmin())), _rows(curve), None, failed="cost")
    best = affordable.point(_nearest(affordable, promise))
    everything = affordable.with_others(held_out)
    there = everything.take(np.array([_nearest(everything, promise)]))
    needed, least, most = (
        _streams_needed(there, promise, errors, test, n_streams, gain) for errors in (0.0, -1.0, 1.0)
    )
    failed, why = _failure(curve, promise, walk(held_out, promise, test).thresholds, classes)
    supported = _supported(held_out, promise, test, max_cost)
    labels = f"labels {best.completeness:.3f} of {test} streams of the test, {best.accuracy:.3f} of them rightly"
    message = (
        f"{_asked(promise)} cannot be promised: the best threshold, {best.threshold:.3g}, {labels}; {why}; "
        f"{_advice(needed, least, most, n_streams)}; {_support(supported, promise)}"
    )
    return PromiseError(message, best, _rows(curve), needed, (least, most), failed, supported)


def _nearest(curve: Curve, promise: Promise) -> int:
    """Return the place of the threshold that comes nearest to a promise, or exceeds it by most."""
    margin = curve.accuracy - promise.accuracy
    if promise.completeness is not None:
        margin = np.minimum(margin, curve.completeness - promise.completeness)
    if promise.per_class is not None:
        margin = np.minimum(margin, promise.least_share(curve.by_class) - promise.accuracy)
    enough = curve.n_labelled >= min(promise.fewest_labelled, int(curve.n_labelled.max()))
    return int(np.where(enough, margin, -np.inf).argmax())


def _advice(needed: int | None, least: int | None, most: int | None, n_streams: int) -> str:
    """Return how many streams might suffice, in words."""
    if needed is None and least is None:
        return "more streams would not help: promise less, allow more time, or offer other features"
    if needed is None:
        return (
            "if these are the true shares, more streams would not help, but from "
            f"{least} on they might if the shares are a standard error better"
        )
    more = f"{least} to {most}" if most is not None else f"{least} or any number more"
    return (
        f"if these are the true shares, about {needed} streams are needed, {needed - n_streams} more than there "
        f"are ({more}, a standard error up or down); or promise less"
    )


def _support(supported: float | None, promise: Promise) -> str:
    if supported is None:
        return "held-out streams support no accuracy of a half or more"
    if supported == promise.accuracy:
        return "held-out streams support this promise, so that the test may have been bad luck"
    return f"held-out streams support an accuracy of {supported:.2f}"


def _failure(curve: Curve, promise: Promise, thresholds: Array, classes: Sequence[str]) -> tuple[str | None, str]:
    """Return what a test of falling thresholds failed by, as a word and in words."""
    labelled, right = curve.at(thresholds)
    accurate = p_values(curve, promise, thresholds) <= promise.accuracy_risk
    complete = np.ones(len(thresholds), dtype=bool)
    if promise.completeness is not None:
        complete = promise.completeness_p_values(labelled, curve.n_streams) <= promise.completeness_risk
    if not len(thresholds):
        return None, "no threshold could be tested"
    if (accurate & complete).any():
        which = float(thresholds[accurate & complete][0])
        return "order", f"{which:.3g} would have passed, but the test, in its order, ended before"
    if not accurate[0]:
        found = f"{right[0]} of {labelled[0]} labels are right{_by_class(curve, promise, thresholds, classes)}"
        return "accuracy", f"the accuracy failed at the first threshold tested, {thresholds[0]:.3g}, where {found}"
    last = int(np.append(accurate, False).argmin()) - 1
    found = f"{labelled[last]} of {curve.n_streams} streams have a label"
    return "completeness", f"the accuracy passed down to {thresholds[last]:.3g}, but there only {found}"


def _by_class(curve: Curve, promise: Promise, thresholds: Array, classes: Sequence[str]) -> str:
    """Say how many labels of each class are right at the first threshold, if that was promised."""
    if promise.per_class is None:
        return ""
    counts = curve.by_class_at(thresholds[:1])
    of_which = counts.labelled_as[0] if promise.per_class == "labelled" else counts.streams_of
    found = zip(classes, counts.right_of[0], of_which, strict=True)
    listed = ", ".join(f"{right} of {n} {label}" for label, right, n in found)
    return f", of the {'labels' if promise.per_class == 'labelled' else 'streams'} of each class {listed}"


def _supported(held_out: Curve, promise: Promise, n_streams: int, max_cost: float = inf) -> float | None:
    """Return the highest accuracy, the promised one or whole hundredths, whose test would probably pass."""
    hundredths = np.arange(np.ceil(100 * promise.accuracy) - 1, 49, -1) / 100
    accuracies: list[float] = [promise.accuracy, *hundredths.tolist()]
    for accuracy in accuracies:
        lower = replace(promise, accuracy=accuracy)
        if evaluate_subset(held_out, lower, n_streams, max_cost=max_cost).chance >= PROBABLE:
            return accuracy
    return None


def too_dear(curve: Curve, certificate: Certificate, max_cost: float) -> PromiseError:
    """Return an error that says what a promise would cost, which is more than may be paid."""
    message = (
        f"{_asked(certificate.promise)} costs {certificate.cost:.4g} a {_paid_for(certificate.promise)} on the "
        f"streams of the test, expected at most {max_cost:g}: allow more, or promise less"
    )
    return PromiseError(message, certificate.point, _rows(curve), None, failed="cost")


def _paid_for(promise: Promise) -> str:
    return "label" if promise.completeness is None else "stream"


def _asked(promise: Promise) -> str:
    complete = "" if promise.completeness is None else f" at completeness {promise.completeness:g}"
    each = {None: "", "labelled": " of each label", "found": " of each class"}[promise.per_class]
    return f"accuracy {promise.accuracy:g}{each}{complete} (risk {promise.risk:g})"


def _rows(curve: Curve) -> list[dict[str, Any]]:
    return [point._asdict() for point in curve.thinned(12).points()]


def _streams_needed(
    there: Curve, promise: Promise, errors: float, n_test: int, n_streams: int, gain: float
) -> int | None:
    """Return of how many streams in all the test of a part probably passes; None if no number does.

    The shares are those of the curve's only threshold, less some standard errors. The accuracy is taken to err by
    a constant, and a part that is inverse to the number of streams: half of them more streams would save what the
    second half has saved, so that k times as many have ``gain * (1 - 1 / k)`` more.
    """
    n = n_test
    completeness, accuracy = there.doubted(errors)
    while n * n_streams <= MOST_STREAMS * n_test:
        grown = np.minimum(1.0, accuracy + gain * (1.0 - n_test / n))
        passes = promise.accuracy_chances(completeness, grown, n)
        if promise.per_class is not None:
            passes = chances(there, promise, n, errors)
        if float((passes * promise.completeness_chances(completeness, n))[0]) >= PROBABLE:
            return max(n_streams + 1, round(n_streams * n / n_test))
        n = n * 11 // 10 + 1
    return None

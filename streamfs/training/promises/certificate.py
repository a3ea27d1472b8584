"""Test the thresholds of a classifier on streams that were not used in training."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from streamfs.training.promises.curve import ByClass, Curve, Point
from streamfs.training.promises.promise import Promise

DOUBT = 2.0
"""Standard errors by which shares are reduced: they are flattered, as the features were chosen by them."""

N_THRESHOLDS = 50
"""Most thresholds that are tested."""


@dataclass(frozen=True)
class Certificate:
    """A threshold whose promise has been tested, and the evidence.

    `point` has its results on the test streams. The p-values are the probabilities of no more wrong labels and of
    as many labels if the promise were just not kept; `p_completeness` is None if no completeness is promised.
    """

    promise: Promise
    point: Point
    n_streams: int
    n_labelled: int
    n_right: int
    p_accuracy: float
    p_completeness: float | None
    by_class: ByClass

    @property
    def cost(self) -> float:
        """Mean cost of a stream, or of a labelled one if no completeness is promised."""
        per_label = self.promise.completeness is None
        return self.point.cost * self.n_streams / self.n_labelled if per_label else self.point.cost

    def to_json(self, classes: Sequence[str] = ()) -> dict[str, Any]:
        """Return the evidence as plain JSON; counts of the named classes, too."""
        counts = (dict(zip(classes, each.reshape(-1).tolist(), strict=False)) for each in self.by_class)
        by_class = dict(zip(ByClass._fields, counts, strict=True)) if classes else {}
        return by_class | {
            **asdict(self.promise),
            "accuracy_risk": self.promise.accuracy_risk,
            "completeness_risk": self.promise.completeness_risk,
            "threshold": self.point.threshold,
            "streams": self.n_streams,
            "labelled": self.n_labelled,
            "right": self.n_right,
            "p_accuracy": self.p_accuracy,
            "p_completeness": self.p_completeness,
            "cost": self.point.cost,
            "ticks": self.point.ticks,
        }


def chances(curve: Curve, promise: Promise, n_streams: int, errors: float | Array) -> Array:
    """Return the probability of each threshold that its accuracy passes, of each class, too, if so promised.

    The shares of the curve are taken to be less by some standard errors; by each, if these have shape (n, 1).
    """
    passed = promise.accuracy_chances(*curve.doubted(errors), n_streams)
    if promise.per_class is None:
        return passed
    return np.minimum(passed, promise.class_chances(curve.by_class, errors, curve.n_streams, n_streams))


def p_values(curve: Curve, promise: Promise, thresholds: Array) -> Array:
    """Return the p-value of each threshold's accuracy: the largest of all classes, if it is promised of each."""
    found = promise.accuracy_p_values(*curve.at(thresholds))
    if promise.per_class is None:
        return found
    return np.maximum(found, promise.class_p_values(curve.by_class_at(thresholds)))


def walk(curve: Curve, promise: Promise, n_streams: int) -> Curve:
    """Return the thresholds to test, falling, of the curve of held-out training streams.

    The first is the one whose accuracy is likeliest to pass, even if it is less than it seems. Beginning
    with the strictest would end most tests at once: few streams are labelled there, and a single wrong label
    among them is a failure. The guarantee holds for any thresholds in any order that does not depend on the test
    streams.
    """
    first, last = int(chances(curve, promise, n_streams, DOUBT).argmax()), len(curve) - 1
    return curve.take(np.unique(np.linspace(first, last, min(N_THRESHOLDS, last - first + 1)).round().astype(int)))


def certify(curve: Curve, promise: Promise, thresholds: Array) -> Certificate | None:
    """Test falling thresholds in order, and keep the last that passes before the first failure.

    Return None if the first fails, or if completeness is promised and fails at the last that passes, or looser.

    Fixed sequence testing: as long as all passed, each is tested at the whole risk, so that the probability that
    any threshold is certified that does not keep its promise is at most the risk (A. N. Angelopoulos, S. Bates,
    E. J. Candes, M. I. Jordan and L. Lei, Learn then Test, Annals of Applied Statistics 19, 2025; for early
    classification L. Ringel, R. Cohen, D. Freedman, M. Elad and Y. Romano, Early time classification with
    accumulated accuracy gap control, ICML 2024). Accuracy is tested from the strictest to the loosest, and
    completeness, which grows the other way, from the loosest to the strictest, each at its part of the risk. The
    streams must be drawn independently, as those to classify will be, and must not have been used in training or
    in choosing thresholds.
    """
    labelled, right = curve.at(thresholds)
    p_accuracy = p_values(curve, promise, thresholds)
    last = _passed(p_accuracy, promise.accuracy_risk) - 1
    if last < 0:
        return None
    p_completeness = None
    if promise.completeness is not None:
        of_each = promise.completeness_p_values(labelled, curve.n_streams)
        if len(thresholds) - _passed(of_each[::-1], promise.completeness_risk) > last:
            return None
        p_completeness = float(of_each[last])
    n_labelled, n_right = int(labelled[last]), int(right[last])
    return Certificate(
        promise,
        curve.at_threshold(float(thresholds[last])),
        curve.n_streams,
        n_labelled,
        n_right,
        float(p_accuracy[last]),
        p_completeness,
        curve.by_class_at(thresholds[last : last + 1]),
    )


def _passed(p_values: Array, risk: float) -> int:
    """Return the number of tests that pass before the first failure."""
    failed = np.flatnonzero(p_values > risk)
    return int(failed[0]) if len(failed) else len(p_values)

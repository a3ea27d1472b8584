"""The test of a frozen classifier's thresholds on streams that took no part in its making."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feature_extractors.base import Array
from streamfs.training.promises.curve import Curve, Point
from streamfs.training.promises.promise import Promise

DOUBT = 2.0
"""Standard errors by which held-out streams may have flattered the features that they were searched with."""

N_THRESHOLDS = 50
"""Thresholds that a test walks at most."""


@dataclass(frozen=True)
class Certificate:
    """A threshold whose promise has been tested, and by what.

    Parameters
    ----------
    promise : Promise
        What was tested.
    point : Point
        The threshold, and what came of it on the streams of the test.
    n_streams, n_labelled, n_right : int
        Streams of the test, and how many of them got a label, and the right one.
    p_accuracy : float
        Probability of no more wrong labels, if the accuracy were just not kept.
    p_completeness : float or None
        Probability of as many labels, if the completeness were just not kept; None where nothing is promised.
    """

    promise: Promise
    point: Point
    n_streams: int
    n_labelled: int
    n_right: int
    p_accuracy: float
    p_completeness: float | None

    def to_json(self) -> dict[str, Any]:
        """The evidence as JSON can hold it."""
        return {
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


def walk(curve: Curve, promise: Promise, n_streams: int) -> Array:
    """Thresholds to test, in order, by what held-out streams have come to.

    Parameters
    ----------
    curve : Curve
        Of the streams that were learnt from, held out.
    promise : Promise
        To be tested.
    n_streams : int
        Streams of the test.

    Returns
    -------
    ndarray
        Falling. The first is the one whose accuracy is likeliest to pass, even if it is less than it seems.

    Notes
    -----
    Which thresholds are tested, and in which order, must not depend on the streams of the test; the guarantee
    holds for any. To begin with the very strictest would end most tests at once: few streams are labelled there,
    and a single wrong label among them is a failure.
    """
    first, last = int(promise.accuracy_chances(*curve.doubted(DOUBT), n_streams).argmax()), len(curve) - 1
    spread = np.unique(np.linspace(first, last, min(N_THRESHOLDS, last - first + 1)).round().astype(int))
    return np.asarray(curve.thresholds[spread])


def certify(curve: Curve, promise: Promise, thresholds: Array) -> Certificate | None:
    """Test thresholds in order, and keep the last that passes before the first failure.

    Parameters
    ----------
    curve : Curve
        Of streams that took no part in the making of the classifier, nor in the choice of the thresholds.
    promise : Promise
        What is tested.
    thresholds : ndarray
        Falling.

    Returns
    -------
    Certificate or None
        None where the first fails; and where completeness is promised, if it fails at the last that passes, or at
        one that is looser.

    Notes
    -----
    Fixed sequence testing: as long as all passed, each is tested at the whole risk, so that the probability that
    any threshold is certified that does not keep its promise is at most the risk (A. N. Angelopoulos, S. Bates,
    E. J. Candes, M. I. Jordan and L. Lei, Learn then Test, Annals of Applied Statistics 19, 2025; for early
    classification L. Ringel, R. Cohen, D. Freedman, M. Elad and Y. Romano, Early time classification with
    accumulated accuracy gap control, ICML 2024). Accuracy is tested from the strictest to the loosest, and
    completeness, which grows the other way, from the loosest to the strictest, each at its part of the risk: one
    sequence for both would have to begin at a threshold that is neither too loose nor too strict. The streams must
    be drawn as those are that the procedure is to classify, each on its own.
    """
    labelled, right = curve.at(thresholds)
    last = _passed(promise.accuracy_p_values(labelled, right), promise.accuracy_risk) - 1
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
        float(promise.accuracy_p_values(n_labelled, n_right)),
        p_completeness,
    )


def _passed(p_values: Array, risk: float) -> int:
    """How many of a sequence of tests pass before the first failure."""
    failed = np.flatnonzero(p_values > risk)
    return int(failed[0]) if len(failed) else len(p_values)

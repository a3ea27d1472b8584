"""The test of a frozen classifier's thresholds on streams that took no part in its making."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feature_extractors.base import Array
from streamfs.promises.curve import Curve, Point
from streamfs.promises.promise import Promise
from streamfs.streams import Integers

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
        Falling. The first is the one whose test is likeliest to pass, even if the shares are less than they seem.

    Notes
    -----
    The order must not depend on the streams of the test, and the guarantee holds for any order. To begin with the
    very strictest thresholds would end most tests at once: few streams are labelled there, so that a single wrong
    label is a failure, or too few for the completeness. To begin where the streams of the test themselves are
    complete enough would nearly double the risk.
    """
    completeness = _doubted(curve.completeness, np.full(len(curve), curve.n_streams))
    accuracy = _doubted(curve.accuracy, curve.n_labelled)
    first, last = int(promise.chances(completeness, accuracy, n_streams).argmax()), len(curve) - 1
    spread = np.unique(np.linspace(first, last, min(N_THRESHOLDS, last - first + 1)).round().astype(int))
    return np.asarray(curve.thresholds[spread])


def _doubted(shares: Array, n: Integers) -> Array:
    """Shares that are less than they seem on n streams by some standard errors."""
    return np.maximum(shares - DOUBT * np.sqrt((shares * (1.0 - shares) + 1.0 / n) / n), 0.0)


def certify(curve: Curve, promise: Promise, thresholds: Array) -> Certificate | None:
    """Test thresholds in order, and keep the last that passes before the first failure.

    Parameters
    ----------
    curve : Curve
        Of streams that took no part in the making of the classifier, nor of the order of the thresholds.
    promise : Promise
        What each threshold is tested for.
    thresholds : ndarray
        In the order in which they are tested.

    Returns
    -------
    Certificate or None
        None where the first fails.

    Notes
    -----
    Fixed sequence testing: as long as all passed, each is tested at the whole risk, so that the probability that
    any threshold is certified that does not keep the promise is at most the risk (A. N. Angelopoulos, S. Bates,
    E. J. Candes, M. I. Jordan and L. Lei, Learn then Test, Annals of Applied Statistics 19, 2025; for early
    classification L. Ringel, R. Cohen, D. Freedman, M. Elad and Y. Romano, Early time classification with
    accumulated accuracy gap control, ICML 2024). The streams must be drawn as those are that the procedure is to
    classify, each on its own.
    """
    labelled, right = curve.at(thresholds)
    failed = np.flatnonzero(promise.p_values(labelled, right, curve.n_streams) > promise.risk)
    last = (int(failed[0]) if len(failed) else len(thresholds)) - 1
    if last < 0:
        return None
    n_labelled, n_right = int(labelled[last]), int(right[last])
    complete = promise.completeness is not None
    return Certificate(
        promise,
        curve.at_threshold(float(thresholds[last])),
        curve.n_streams,
        n_labelled,
        n_right,
        float(promise.accuracy_p_values(n_labelled, n_right)),
        float(promise.completeness_p_values(n_labelled, curve.n_streams)) if complete else None,
    )

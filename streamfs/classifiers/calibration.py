"""Calibration: confidence as the probability of being right."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from streamfs.classifiers import _calibration
from streamfs.classifiers._evaluate import Array, Flags
from streamfs.errors import ModelError

LEAST_SLOPE = 0.01
"""The least slope; if the likelihood prefers a smaller one, this is used."""
ENOUGH = 1e-12
"""Steps that lower the mean loss by less are not taken."""
MOST_STEPS = 100
TINY = 1e-12
"""Added to the curvature of the loss, so that equal confidences have a solution."""


@dataclass(frozen=True)
class Calibration:
    """Platt scaling of the likeliest class's probability p: 1 / (1 + exp(-slope logit(p) - intercept)).

    Parameters
    ----------
    slope : float
        More than 0, so that the more confident of two stays so.
    intercept : float
        Added to the logit.

    Raises
    ------
    ValueError
        If the slope is not positive, or one of them not finite.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods,
    Advances in Large Margin Classifiers, 1999. Damped Newton steps: H.-T. Lin, C.-J. Lin and R. C. Weng, A note on
    Platt's probabilistic outputs for support vector machines, Machine Learning 68, 2007.

    Examples
    --------
    >>> calibration = Calibration(slope=0.5, intercept=0.0)
    >>> calibration.of([0.5, 0.9]).round(3)
    array([0.5 , 0.75])
    >>> calibration.apply(np.array([[0.06, 0.9, 0.04]])).round(3)
    array([[0.15, 0.75, 0.1 ]])
    """

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not 0.0 < self.slope < np.inf:
            raise ValueError(f"slope is {self.slope}, expected a positive number")
        if not np.isfinite(self.intercept):
            raise ValueError(f"intercept is {self.intercept}, expected a finite number")

    @classmethod
    def read(cls, numbers: Any, owner: str) -> Self | None:
        """Read the calibration of `owner` from a model file: slope and intercept, or nothing.

        Raises
        ------
        streamfs.errors.ModelError
            If it is something else.
        """
        is_list = isinstance(numbers, list) and all(type(number) is float for number in numbers)
        if not is_list or len(numbers) not in {0, 2}:
            raise ModelError(
                f"{owner}.calibration is {numbers!r}, expected a list of slope and intercept, or an empty one"
            )
        try:
            return cls(*numbers) if numbers else None
        except ValueError as error:
            raise ModelError(f"{owner}.calibration: {error}") from error

    @classmethod
    def fit(cls, confidence: npt.ArrayLike, right: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Self:
        """Fit to confidences of held-out rows, and whether they were right.

        Parameters
        ----------
        confidence : array-like of shape (n,)
            Probability of the likeliest class.
        right : array-like of bool of shape (n,)
            Whether that was the class.
        weights : array-like of shape (n,), optional
            Weights of the rows, not negative; all 1 by default.

        Raises
        ------
        ValueError
            If shapes differ, a confidence is outside [0, 1], a weight negative or not finite, or all are zero.

        Notes
        -----
        The likelihood is that of Platt's targets, (N + 1) / (N + 2) for right answers and 1 / (N + 2) for wrong
        ones, N being the weight of either kind, so that it has a finite maximum even if all were right. A slope
        below 0.01, of confidences without or with inverted meaning, is replaced by 0.01, with the likeliest
        intercept. The same numbers give the same calibration, to the last bit.

        Examples
        --------
        >>> calibration = Calibration.fit([0.9] * 10 + [0.6] * 10, [True] * 8 + [False] * 2 + [True, False] * 5)
        >>> calibration.of([0.6, 0.9]).round(2)
        array([0.52, 0.77])
        """
        said, is_right, weighed = _checked(confidence, right, weights)
        targets = np.where(is_right, *_targets(weighed[is_right].sum(), weighed[~is_right].sum()))
        logits = np.empty(len(said))
        _calibration.write_logits(said, logits)
        centre = float(np.average(logits, weights=weighed))
        rows = _Rows(logits - centre, targets, weighed / weighed.sum())
        slope, offset = _most_likely(rows, 1.0)
        if slope < LEAST_SLOPE:
            slope, offset = _most_likely(rows, LEAST_SLOPE, is_held=True)
        return cls(slope, offset - slope * centre)

    def text(self) -> str:
        """Return the calibration as readable text."""
        return f"slope {self.slope:.4g}, intercept {self.intercept:.4g}"

    def of(self, confidence: npt.ArrayLike, *, n_classes: int | None = None) -> Array:
        """Return the calibrated confidence of each confidence, of the same shape.

        Parameters
        ----------
        confidence : array-like
            Probabilities of the likeliest classes, or thresholds on them.
        n_classes : int, optional
            Number of classes; with two, the likeliest has at least one half, as `apply` gives it.

        Raises
        ------
        ValueError
            If one is outside [0, 1].

        Notes
        -----
        With `n_classes`, a row that `apply` has calibrated passes the calibrated threshold if and only if the row
        passed the threshold before, up to rounding: with two classes at any threshold, with more if the calibrated
        threshold is above one half. Below that, a row with a near rival passes sooner.
        """
        said = _probabilities(confidence)
        result = np.empty(said.size)
        next_share = 1.0 if n_classes == 2 else 0.0
        _calibration.calibrate(self.slope, self.intercept, next_share, said.ravel(), result)
        return result.reshape(said.shape)

    def apply(self, probabilities: Array) -> Array:
        """Return rows of probabilities in which the likeliest class has its calibrated one.

        The other classes keep their proportions, or have equal shares if all had 0. The likeliest class, the first
        of equals, stays likeliest: if its calibrated probability is too small for that, it gets slightly more than
        the least that suffices, increasing with its probability. So of two classes it has at least one half, and
        the more confident of two rows stays so.

        Parameters
        ----------
        probabilities : ndarray of shape (n, n_classes)
            Each row sums to 1.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Each row sums to 1, and depends on no other row.

        Raises
        ------
        ValueError
            If it is not a matrix with a class, or holds something outside [0, 1].
        """
        said = _probabilities(probabilities)
        if said.ndim != 2 or not said.shape[1]:
            raise ValueError(f"probabilities have shape {said.shape}, expected (n, n_classes)")
        result = np.empty(said.shape)
        _calibration.apply(self.slope, self.intercept, said, result)
        return result


class _Rows(NamedTuple):
    """Logits, target probabilities, and the rows' shares of the weight, each of shape (n,)."""

    logits: Array
    targets: Array
    shares: Array


def _probabilities(values: npt.ArrayLike) -> Array:
    """Return the values as the kernels read them."""
    said: Array = np.require(values, dtype=np.float64, requirements=["C", "W"])
    wrong = ~((said >= 0.0) & (said <= 1.0))
    if wrong.any():
        raise ValueError(f"a probability is {said[wrong][0]}, expected one in [0, 1]")
    return said


def _checked(
    confidence: npt.ArrayLike, right: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Array, Flags, Array]:
    said, is_right = _probabilities(confidence), np.asarray(right)
    if said.ndim != 1 or not len(said):
        raise ValueError(f"confidence has shape {said.shape}, expected one dimension and some rows")
    if is_right.dtype != np.bool_ or is_right.shape != said.shape:
        raise ValueError(f"right is {is_right.dtype} of shape {is_right.shape}, expected bool of {said.shape}")
    weighed = np.ones(len(said)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weighed.shape != said.shape:
        raise ValueError(f"weights have shape {weighed.shape}, expected {said.shape}")
    with np.errstate(over="ignore"):
        total = weighed.sum()
    if not (weighed.min() >= 0.0 and 0.0 < total < np.inf):
        raise ValueError(f"weights are {weighed.min()} to {weighed.max()}, expected some of at least 0")
    return said, is_right, weighed


def _targets(n_right: float, n_wrong: float) -> tuple[float, float]:
    """Return the target probability of right and of wrong answers."""
    return (n_right + 1.0) / (n_right + 2.0), 1.0 / (n_wrong + 2.0)


def _most_likely(rows: _Rows, slope: float, *, is_held: bool = False) -> tuple[float, float]:
    """Return slope and offset of the greatest likelihood, by Newton steps from a slope, which may be held."""
    target = float((rows.shares * rows.targets).sum())
    terms = np.array([slope, np.log(target / (1.0 - target))])
    for _ in range(MOST_STEPS):
        step, gained = _step(rows, terms, is_held=is_held)
        if gained < ENOUGH:
            break
        loss = _loss(rows, terms)
        while _loss(rows, terms - step) > loss - 1e-4 * gained and gained > ENOUGH:
            step, gained = step / 2.0, gained / 2.0
        terms = terms - step
    return float(terms[0]), float(terms[1])


def _loss(rows: _Rows, terms: Array) -> float:
    x = terms[0] * rows.logits + terms[1]
    return float((rows.shares * (np.logaddexp(0.0, x) - rows.targets * x)).sum())


def _step(rows: _Rows, terms: Array, *, is_held: bool) -> tuple[Array, float]:
    """Return Newton's step, and the decrease of the loss that it predicts."""
    logits, targets, shares = rows
    said = 1.0 / (1.0 + np.exp(-(terms[0] * logits + terms[1])))
    residual, curvature = shares * (said - targets), shares * said * (1.0 - said)
    along, across = (residual * logits).sum(), residual.sum()
    a, b, c = (curvature * logits * logits).sum() + TINY, (curvature * logits).sum(), curvature.sum() + TINY
    if is_held:
        return np.array([0.0, across / c]), float(across * across / c)
    step = np.array([c * along - b * across, a * across - b * along]) / (a * c - b * b)
    return step, float(step[0] * along + step[1] * across)

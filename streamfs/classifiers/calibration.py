"""Calibration: confidence as the probability of being right."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Flags
from streamfs.classifiers import _calibration
from streamfs.classifiers._calibration import CALIBRATION, Given
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

    With a clock, ``growth log(n)`` is added to the logit, n being the number of samples so far: of two streams of
    which a classifier says the same, the longer one may be the safer.

    Parameters
    ----------
    slope : float
        More than 0, so that the more confident of two stays so.
    intercept : float
        Added to the logit.
    growth : float
        Factor of the logarithm of the number of samples.
    clock : int
        The feature that counts samples; -1 if there is none, and no growth.

    Raises
    ------
    ValueError
        If the slope is not positive, a number not finite, or there is growth without a clock.

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
    growth: float = 0.0
    clock: int = -1

    def __post_init__(self) -> None:
        if not 0.0 < self.slope < np.inf:
            raise ValueError(f"slope is {self.slope}, expected a positive number")
        for name in ("intercept", "growth"):
            if not np.isfinite(getattr(self, name)):
                raise ValueError(f"{name} is {getattr(self, name)}, expected a finite number")
        if self.clock < -1 or (self.clock < 0 and self.growth):
            raise ValueError(f"clock is {self.clock}, expected a feature, or -1 without growth")

    @classmethod
    def read(cls, numbers: Any, owner: str) -> Self | None:
        """Read the calibration of `owner` from a model file: slope and intercept, growth and clock, or nothing.

        Raises
        ------
        streamfs.errors.ModelError
            If it is something else.
        """
        is_list = isinstance(numbers, list) and all(type(number) is float for number in numbers)
        if not is_list or len(numbers) not in {0, 2, 4} or not all(n.is_integer() for n in numbers[3:]):
            raise ModelError(
                f"{owner}.calibration is {numbers!r}, expected a list of slope and intercept, perhaps with growth "
                "and clock, or an empty one"
            )
        try:
            return cls(*numbers[:3], *map(int, numbers[3:])) if numbers else None
        except ValueError as error:
            raise ModelError(f"{owner}.calibration: {error}") from error

    def numbers(self) -> list[float]:
        """Return what a model file holds, which `read` takes."""
        without = [self.slope, self.intercept]
        return without if self.clock < 0 else [*without, self.growth, float(self.clock)]

    @classmethod
    def fit(
        cls,
        confidence: npt.ArrayLike,
        right: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        counts: npt.ArrayLike | None = None,
        clock: int = -1,
        slope: float | None = None,
    ) -> Self:
        """Fit to confidences of held-out rows, and whether they were right.

        Parameters
        ----------
        confidence : array-like of shape (n,)
            Probability of the likeliest class.
        right : array-like of bool of shape (n,)
            Whether that was the class.
        weights : array-like of shape (n,), optional
            Weights of the rows, not negative; all 1 by default.
        counts : array-like of shape (n,), optional
            Numbers of samples so far, at least 1; with them, growth is fitted, too.
        clock : int
            The feature that will count samples; needed with `counts`.
        slope : float, optional
            The slope, if it is known.

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
        columns = [logits, *([] if counts is None else [_logarithms(counts, said.shape)])]
        centres = [float(np.average(column, weights=weighed)) for column in columns]
        terms = [column - centre for column, centre in zip(columns, centres, strict=True)]
        total = float(weighed.sum())
        prior = 0.0 if counts is None else 1.0 / total
        rows = _Rows(np.stack([*terms, np.ones(len(said))], axis=1), targets, weighed / total, prior)
        found = _most_likely(rows, held=slope)
        if found[0] < LEAST_SLOPE:
            found = _most_likely(rows, held=LEAST_SLOPE)
        *factors, offset = found.tolist()
        intercept = offset - sum(factor * centre for factor, centre in zip(factors, centres, strict=True))
        growth = {} if counts is None else {"growth": factors[1], "clock": clock}
        return cls(factors[0], intercept, **growth)

    def then(self, other: Self) -> Self:
        """Return the calibration that applies this one, and then another without a clock."""
        slope = other.slope
        intercept = slope * self.intercept + other.intercept
        return replace(self, slope=slope * self.slope, intercept=intercept, growth=slope * self.growth)

    def text(self) -> str:
        """Return the calibration as readable text."""
        growth = "" if self.clock < 0 else f", growth {self.growth:.4g}"
        return f"slope {self.slope:.4g}, intercept {self.intercept:.4g}{growth}"

    def of(
        self, confidence: npt.ArrayLike, *, n_classes: int | None = None, counts: npt.ArrayLike | None = None
    ) -> Array:
        """Return the calibrated confidence of each confidence, of the same shape.

        Parameters
        ----------
        confidence : array-like
            Probabilities of the likeliest classes, or thresholds on them.
        n_classes : int, optional
            Number of classes; with two, the likeliest has at least one half, as `apply` gives it.
        counts : array-like, optional
            Numbers of samples, of the same shape; by default 1.

        Raises
        ------
        ValueError
            If one is outside [0, 1].

        Notes
        -----
        With `n_classes`, a row that `apply` has calibrated passes the calibrated threshold if and only if the row
        passed the threshold before, up to rounding: with two classes at any threshold, with more if the calibrated
        threshold is above an even share.
        """
        said = _probabilities(confidence)
        result = np.empty(said.size)
        next_share = 1.0 if n_classes == 2 else 0.0
        shifts = np.full(said.size, self.intercept)
        if counts is not None and self.clock >= 0:
            shifts += self.growth * _logarithms(counts, said.shape).ravel()
        _calibration.calibrate(self.slope, shifts, next_share, said.ravel(), result)
        return result.reshape(said.shape)

    def apply(self, probabilities: Array, rows: Array | None = None) -> Array:
        """Return rows of probabilities in which the likeliest class has its calibrated one.

        The other classes keep their proportions, or have equal shares if all had 0. The likeliest class, the first
        of equals, stays likeliest: if its calibrated probability is less than that of another, the others are
        drawn together; and it has slightly more than an even share at least, increasing with its probability. So
        of two classes it has at least one half, and the more confident of two rows stays so.

        Parameters
        ----------
        probabilities : ndarray of shape (n, n_classes)
            Each row sums to 1.
        rows : ndarray of shape (n, n_features), optional
            The features that were classified; needed with a clock. An unknown number of samples counts as 1.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Each row sums to 1, and depends on no other row.

        Raises
        ------
        ValueError
            If it is not a matrix with a class, holds something outside [0, 1], or rows are needed.
        """
        said = _probabilities(probabilities)
        if said.ndim != 2 or not said.shape[1]:
            raise ValueError(f"probabilities have shape {said.shape}, expected (n, n_classes)")
        result = np.empty(said.shape)
        if self.clock >= 0 and rows is None:
            raise ValueError(f"rows are missing, whose feature {self.clock} counts samples")
        counts = np.ones(len(said)) if rows is None or self.clock < 0 else rows[:, self.clock]
        _calibration.apply(self.slope, self.intercept, self.growth, np.ascontiguousarray(counts), said, result)
        return result


def given(calibration: Calibration | None) -> Given:
    """Return a calibration, or none, as kernels read it."""
    record = np.zeros(1, dtype=CALIBRATION)
    if calibration is not None:
        record[0] = (1, calibration.slope, calibration.intercept, calibration.growth, calibration.clock)
    return record


class _Rows(NamedTuple):
    """Rows to fit: terms of the logit, shape (n, n_terms), the last of each 1, and two arrays of shape (n,).

    The prior belief that the slope is 1 and growth 0 has the weight `prior`; the shares of the rows sum to 1.
    """

    terms: Array
    targets: Array
    shares: Array
    prior: float


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


def _logarithms(counts: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    numbers = np.asarray(counts, dtype=np.float64)
    if numbers.shape != shape or not (numbers >= 1.0).all() or np.isinf(numbers).any():
        raise ValueError(f"counts have shape {numbers.shape}, expected numbers of samples of shape {shape}")
    return np.asarray(np.log(numbers))


def _targets(n_right: float, n_wrong: float) -> tuple[float, float]:
    """Return the target probability of right and of wrong answers."""
    return (n_right + 1.0) / (n_right + 2.0), 1.0 / (n_wrong + 2.0)


def _most_likely(rows: _Rows, held: float | None = None) -> Array:
    """Return the factors of the greatest likelihood, by Newton steps; the slope may be held."""
    target = float((rows.shares * rows.targets).sum())
    factors = np.zeros(rows.terms.shape[1])
    factors[0], factors[-1] = 1.0 if held is None else held, np.log(target / (1.0 - target))
    for _ in range(MOST_STEPS):
        step, gained = _step(rows, factors, first=0 if held is None else 1)
        if gained < ENOUGH:
            break
        loss = _loss(rows, factors)
        while _loss(rows, factors - step) > loss - 1e-4 * gained and gained > ENOUGH:
            step, gained = step / 2.0, gained / 2.0
        factors = factors - step
    return factors


def _pulled(factors: Array) -> Array:
    """Return how far the factors are from those of no calibration; the intercept is free."""
    pulled = factors.copy()
    pulled[0] -= 1.0
    pulled[-1] = 0.0
    return pulled


def _loss(rows: _Rows, factors: Array) -> float:
    x = rows.terms @ factors
    likelihood = float((rows.shares * (np.logaddexp(0.0, x) - rows.targets * x)).sum())
    return likelihood + 0.5 * rows.prior * float((_pulled(factors) ** 2).sum())


def _step(rows: _Rows, factors: Array, first: int) -> tuple[Array, float]:
    """Return Newton's step of the factors from the first on, and the decrease of the loss that it predicts."""
    terms, targets, shares, prior = rows
    said = 1.0 / (1.0 + np.exp(-(terms @ factors)))
    slopes = terms.T @ (shares * (said - targets)) + prior * _pulled(factors)
    curvature = (terms.T * (shares * said * (1.0 - said))) @ terms
    curvature += np.diag([*[prior] * (len(factors) - 1), 0.0]) + TINY * np.eye(len(factors))
    step = np.zeros(len(factors))
    step[first:] = np.linalg.solve(curvature[first:, first:], slopes[first:])
    return step, float(step @ slopes)

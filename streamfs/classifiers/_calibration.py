"""The compiled part of a calibration: row by row, so that a row's result does not depend on others."""

from math import exp, log
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base._compiled import kernel

NEAREST = 2.0**-53
"""Least distance of a probability from 0 and 1 for its logit."""
TILT = 2.0**-20
"""Relative rise of the likeliest class's least share as its probability rises from 0 to 1."""

CALIBRATION = np.dtype(
    [
        ("is_given", np.int64),
        ("slope", np.float64),
        ("intercept", np.float64),
        ("growth", np.float64),
        ("clock", np.int64),
    ]
)
"""A calibration, or none, as `Calibration` describes it; kernels read it as an array of shape (1,)."""

Given = npt.NDArray[Any]


@kernel
def logit(probability: float) -> float:
    """Return the logarithm of the odds; 0 and 1 count as the nearest numbers to them."""
    inside = min(max(probability, NEAREST), 1.0 - NEAREST)
    return log(inside / (1.0 - inside))


@kernel
def sigmoid(x: float) -> float:
    """Return the probability with logit x."""
    return 1.0 / (1.0 + exp(-x))


@kernel
def write_logits(probabilities: Array, result: Array) -> None:
    """Write the logit of each probability."""
    for i in range(len(probabilities)):
        result[i] = logit(probabilities[i])


@kernel
def least(probability: float, next_share: float) -> float:
    """Return the least probability that keeps a class the likeliest if the next one has this share of the rest.

    It rises slightly with the uncalibrated probability, so that the order of rows by confidence is kept.
    """
    return next_share / (1.0 + next_share) * (1.0 + TILT * probability)


@kernel
def calibrate(slope: float, shifts: Array, next_share: float, confidence: Array, result: Array) -> None:
    """Write the calibrated probability of each likeliest class, whose next one has this share of the rest.

    `shifts` are added to the logits.
    """
    for i in range(len(confidence)):
        wanted = sigmoid(slope * logit(confidence[i]) + shifts[i])
        result[i] = max(wanted, least(confidence[i], next_share))


@kernel
def likeliest_class(probabilities: Array, row: int) -> int:
    """Return the likeliest class of a row, the first of equals."""
    best = 0
    for c in range(1, probabilities.shape[1]):
        if probabilities[row, c] > probabilities[row, best]:
            best = c
    return best


@kernel
def _share_rest(probabilities: Array, row: int, best: int, result: Array) -> float:
    """Write the other classes' shares of the rest; return the largest share."""
    rest, n_others, largest = 0.0, probabilities.shape[1] - 1, 0.0
    for c in range(probabilities.shape[1]):
        if c != best:
            rest += probabilities[row, c]
    for c in range(probabilities.shape[1]):
        if c != best:
            result[row, c] = probabilities[row, c] / rest if rest > 0.0 else 1.0 / n_others
            largest = max(largest, result[row, c])
    return largest


@kernel
def _most(probability: float, confidence: float) -> float:
    """Return the largest share of the rest that leaves the likeliest class the likeliest."""
    if confidence >= 0.5 * (1.0 + TILT):
        return 1.0
    return confidence / (1.0 - confidence) / (1.0 + TILT * probability)


@kernel
def _flatten_rest(n_others: int, largest: float, most: float, best: int, row: int, result: Array) -> None:
    """Even out the other classes' shares until the largest is at most `most`."""
    even = 1.0 / max(n_others, 1)
    if largest <= most or largest <= even:
        return
    kept = max(most - even, 0.0) / (largest - even)
    for c in range(n_others + 1):
        if c != best:
            result[row, c] = even + kept * (result[row, c] - even)


@kernel
def apply_to_row(
    slope: float, intercept: float, growth: float, count: float, probabilities: Array, row: int, result: Array
) -> None:
    """Write a row whose likeliest class has its calibrated probability; the others keep their proportions."""
    best, n_others = likeliest_class(probabilities, row), probabilities.shape[1] - 1
    largest = _share_rest(probabilities, row, best, result)
    grown = growth * log(count) if growth != 0.0 and count > 1.0 else 0.0
    wanted = sigmoid(slope * logit(probabilities[row, best]) + intercept + grown)
    confidence = 1.0 if n_others == 0 else max(wanted, least(probabilities[row, best], 1.0 / max(n_others, 1)))
    _flatten_rest(n_others, largest, _most(probabilities[row, best], confidence), best, row, result)
    for c in range(n_others + 1):
        result[row, c] *= 1.0 - confidence
    result[row, best] = confidence


@kernel
def apply(
    slope: float, intercept: float, growth: float, counts: Array, probabilities: Array, result: Array
) -> None:
    """Calibrate each row, at its number of samples."""
    for row in range(len(probabilities)):
        apply_to_row(slope, intercept, growth, counts[row], probabilities, row, result)


@kernel
def calibrate_rows(calibration: Given, X: Array, probabilities: Array, result: Array) -> None:
    """Calibrate rows of probabilities, of rows of features, or copy them if there is no calibration."""
    given = calibration[0]
    for row in range(len(probabilities)):
        if given.is_given:
            count = X[row, given.clock] if given.clock >= 0 else 1.0
            apply_to_row(given.slope, given.intercept, given.growth, count, probabilities, row, result)
        else:
            for c in range(probabilities.shape[1]):
                result[row, c] = probabilities[row, c]

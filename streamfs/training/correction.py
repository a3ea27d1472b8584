"""The last correction of confidence: as many are right as is stated."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.classifiers._calibration import NEAREST, TILT
from streamfs.classifiers.calibration import LEAST_SLOPE, Calibration

N_BISECTIONS = 60
"""Halvings of the range in which a correction is sought."""
MOST_STRETCHED = 64.0
"""Most by which the logits beyond a given confidence are stretched."""


def correction(
    said: Array, believed: float, floor: float, lowest: float | None, weights: Array | None = None
) -> Calibration:
    """Return the calibration after which the mean confidence is what is believed, no confidence below the floor.

    The logits are shifted; but if the `lowest` threshold would be at the floor or below, on which what is stated
    does not tell streams apart, they are drawn together there instead.
    """
    logits = _logits(said)
    pinned, bottom = (float(x) for x in _logits([lowest or floor, floor * (1.0 + 4.0 * TILT)]))

    def at(place: float) -> Calibration:
        if not lowest:
            return Calibration(1.0, float(place))
        slope, shift = np.exp(min(place, 0.0)), bottom + max(place, 0.0)
        return Calibration(float(slope), float(shift - slope * pinned))

    low = np.log(LEAST_SLOPE) if lowest else bottom - logits.max()
    return _matching(believed, at, (low, 40.0), logits, floor, weights)


def stretch(
    said: Array, believed: float, floor: float, threshold: float, weights: Array | None = None
) -> Calibration:
    """Return the calibration after which the mean confidence is what is believed, no confidence below the floor.

    The logits are stretched around that of the threshold, which stays in place: up to `MOST_STRETCHED` times, and
    never drawn together.
    """
    pinned = float(_logits([threshold])[0])

    def at(place: float) -> Calibration:
        slope = float(np.exp(place))
        return Calibration(slope, (1.0 - slope) * pinned)

    return _matching(believed, at, (0.0, np.log(MOST_STRETCHED)), _logits(said), floor, weights)


def _matching(
    believed: float,
    at: Callable[[float], Calibration],
    between: tuple[float, float],
    logits: Array,
    floor: float,
    weights: Array | None,
) -> Calibration:
    """Return the calibration at the place between two after which the mean confidence is what is believed."""
    low, high = between
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        found = at(middle)
        stated = np.maximum(floor, 1.0 / (1.0 + np.exp(-found.slope * logits - found.intercept)))
        mean = np.average(stated, weights=weights)
        low, high = (middle, high) if mean < believed else (low, middle)
    return at((low + high) / 2.0)


def _logits(probabilities: npt.ArrayLike) -> Array:
    inside = np.clip(probabilities, NEAREST, 1.0 - NEAREST)
    return np.asarray(np.log(inside / (1.0 - inside)))

"""Thresholds that fall with the tick: one number, the threshold of tick 1, stands for all of them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.procedure.stopping import TickThresholds

SLACK = 1e-12
"""Share by which thresholds are lowered, so that rounding lets no stream miss its threshold."""


class Falling(NamedTuple):
    """How thresholds fall, in steps of ticks each half as late again as the one before.

    Parameters
    ----------
    fall : float
        By how much the log-odds of a threshold fall while the tick grows by a factor of e.
    last : int
        The tick at which the last step begins, at most.

    Examples
    --------
    >>> falling = Falling(0.8, last=10)
    >>> falling.steps().tolist(), falling.levels(0.9).round(3).tolist()
    ([1, 2, 3, 5, 8], [0.9, 0.838, 0.789, 0.713, 0.63])
    >>> falling.flattened(np.array([[0.9, 0.838, 0.63]]), np.array([1, 2, 9])).round(3)
    array([[0.9, 0.9, 0.9]])
    """

    fall: float
    last: int

    def steps(self) -> Integers:
        """Return the ticks at which steps begin."""
        steps = [1]
        while (following := steps[-1] + (steps[-1] + 1) // 2) <= self.last:
            steps.append(following)
        return np.array(steps)

    def flattened(self, confidence: Array, ticks: Integers) -> Array:
        """Return confidence at ticks, the last axis, as it compares with the threshold of tick 1; 0 stays 0."""
        steps = self.steps()
        step = steps[np.searchsorted(steps, ticks, side="right") - 1]
        return np.where(confidence > 0.0, _share(_odds(confidence) + self.fall * np.log(step)), 0.0)

    def levels(self, threshold: float) -> Array:
        """Return the thresholds of all steps, given that of tick 1."""
        return _share(_odds(np.array(threshold)) - self.fall * np.log(self.steps())) * (1.0 - SLACK)

    def rule(
        self, start: int, threshold: float, patience: int | None = None, floor: float = 0.0
    ) -> TickThresholds:
        """Return the thresholds from a tick on; from a later one on give up what is below a floor that falls, too.

        Threshold and floor are those of tick 1.
        """
        steps = self.steps()
        later = [] if patience is None else [patience]
        ticks = np.array(sorted({start, *steps[steps > start].tolist(), *later}))
        place = np.searchsorted(steps, ticks, side="right") - 1
        gives_up = patience is not None and floor > 0.0
        floors = np.where(gives_up & (ticks >= (patience or 1)), self.levels(floor)[place], 0.0)
        return TickThresholds(
            tuple(ticks.tolist()), tuple(self.levels(threshold)[place].tolist()), tuple(floors.tolist())
        )


def _odds(share: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(share) - np.log1p(-share))


def _share(odds: npt.NDArray[np.float64]) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-odds)))

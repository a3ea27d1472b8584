"""How likely a label is wrong where a procedure serves, by the confidence that it states."""

from collections.abc import Sequence
from math import exp, log
from typing import Any

LEAST = 1e-4  # probability of either outcome that is told apart from none
_PRIOR = 1.0, 4.0  # precisions of offset and slope: how sure it is at first that confidence is what it says
_N_HALVINGS = 40  # of an interval of length 1


class Recalibrated:
    """Probability that a label is wrong, given its confidence, as the labels so far have shown.

    A logistic regression on the log-odds of the stated confidence, at first of offset 0 and slope 1, so that what
    is stated is believed. Each label moves the two coefficients to where they are likeliest, given a normal
    distribution that stands for the labels before it (Laplace's approximation).

    See D. J. Spiegelhalter and S. L. Lauritzen: Sequential updating of conditional probabilities on directed
    graphical structures. Networks 20, 1990.

    Examples
    --------
    >>> recalibrated = Recalibrated()
    >>> round(recalibrated.wrong(0.9), 3)
    0.1
    >>> for number in range(60):
    ...     recalibrated.add(0.9, is_right=number % 2 == 0)
    >>> round(recalibrated.wrong(0.9), 1)
    0.5
    """

    def __init__(self) -> None:
        self._offset, self._slope = 0.0, 1.0
        self._precision = [_PRIOR[0], 0.0, _PRIOR[1]]  # of the offset, of both, of the slope

    def wrong(self, confidence: float) -> float:
        """Return the probability that a label of some confidence is wrong."""
        return _logistic(self._offset + self._slope * _log_odds(confidence))

    def add(self, confidence: float, is_right: bool) -> None:
        """Take whether a label of some confidence was right."""
        x, is_wrong = _log_odds(confidence), float(not is_right)
        of_offset, of_both, of_slope = self._precision
        determinant = of_offset * of_slope - of_both**2
        step = (of_slope - of_both * x) / determinant, (of_offset * x - of_both) / determinant
        variance = step[0] + step[1] * x
        before = self._offset + self._slope * x
        low, high = is_wrong - 1, is_wrong
        for _ in range(_N_HALVINGS):  # how far to go: as far as the outcome is unexpected there
            middle = (low + high) / 2
            low, high = (
                (middle, high) if middle < is_wrong - _logistic(before + variance * middle) else (low, middle)
            )
        self._offset += low * step[0]
        self._slope += low * step[1]
        wrong = self.wrong(confidence)
        weight = wrong * (1 - wrong)
        self._precision = [of_offset + weight, of_both + weight * x, of_slope + weight * x * x]

    def to_state(self) -> list[Any]:
        """Copy what was learned as plain JSON."""
        return [self._offset, self._slope, *self._precision]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `to_state` has copied."""
        self._offset, self._slope, *self._precision = state


def _log_odds(confidence: float) -> float:
    """Return the log-odds of a wrong label if the confidence is what it says."""
    wrong = min(max(1 - confidence, LEAST), 1 - LEAST)
    return log(wrong / (1 - wrong))


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -500 else 0.0

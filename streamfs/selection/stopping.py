"""Changes of the ranking by random probes, and rules on when they are small enough to stop."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from numbers import Real
from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers


class Check(NamedTuple):
    """Input of a stopping rule: the features' coefficients so far, and their change since the previous check.

    Parameters
    ----------
    n_probes : int
        Number of probes so far.
    daf : ndarray of shape (n_features,)
        Each feature's coefficient.
    order_change, value_change : float
        Mean change of the features' places and of their coefficients; NaN at the first check.
    """

    n_probes: int
    daf: Array
    order_change: float
    value_change: float

    @property
    def ranking(self) -> Integers:
        """Indices of the features, best first; among equals the lowest index is first."""
        return ranked(self.daf)


StoppingRule = Callable[[Sequence[Check]], bool]
"""Called with all checks so far, the latest last; returns whether to stop."""


def ranked(daf: Array) -> Integers:
    """Return the indices of the features by falling coefficient; among equals the lowest index is first."""
    return np.argsort(-daf, kind="stable").astype(np.int64)


def order_change(before: Array, after: Array) -> float:
    """Return C of condition 1: the mean number of places by which a feature moves in the order by coefficient.

    Somol, Grim, Filip and Pudil, On stopping rules in dependency-aware feature ranking, CIARP 2013, print one
    formula for both conditions. This follows its text: the index in the formula is the feature's place.
    """
    return float(np.abs(np.argsort(ranked(before)) - np.argsort(ranked(after))).mean())


def value_change(before: Array, after: Array) -> float:
    """Return C^2 of condition 2 (2 is part of its name): the mean absolute change of a feature's coefficient."""
    return float(np.abs(before - after).mean())


@dataclass(frozen=True)
class _BelowThreshold(ABC):
    """Stops once a change is below a threshold."""

    threshold: float

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, Real) or not isfinite(self.threshold) or self.threshold <= 0.0:
            raise ValueError(f"threshold is {self.threshold!r}, expected a positive number")

    def __call__(self, checks: Sequence[Check]) -> bool:
        return self._change(checks) < self.threshold

    @abstractmethod
    def _change(self, checks: Sequence[Check]) -> float:
        """Return the change to compare with the threshold."""


class OrderChange(_BelowThreshold):
    """Condition 1: stop once the order of the features hardly changes.

    Parameters
    ----------
    threshold : float
        Places: stop below this mean change of place between two checks. A small number of places depends on the
        number of features, and useless features keep swapping places.
    """

    def _change(self, checks: Sequence[Check]) -> float:
        return checks[-1].order_change


class ValueChange(_BelowThreshold):
    """Condition 2: stop once the coefficients hardly change.

    Parameters
    ----------
    threshold : float
        In units of the criterion: stop below this mean change of the coefficient between two checks.
    """

    def _change(self, checks: Sequence[Check]) -> float:
        return checks[-1].value_change


class RelativeValueChange(_BelowThreshold):
    """Condition 2a: stop once the coefficients change little compared with the first change.

    Parameters
    ----------
    threshold : float
        A share: stop once the mean change between two checks is below this share of the first.

    Notes
    -----
    No change at all is a share of 0, even if the first was 0.

    Examples
    --------
    >>> stops = RelativeValueChange(0.5)
    >>> checks = [Check(400 * (1 + i), np.zeros(1), nan, change) for i, change in enumerate([nan, 0.4, 0.1])]
    >>> [stops(checks[: 1 + i]) for i in range(3)]
    [False, False, True]
    """

    def _change(self, checks: Sequence[Check]) -> float:
        if len(checks) == 1:
            return nan
        first, latest = checks[1].value_change, checks[-1].value_change
        if latest == 0.0:
            return 0.0
        return latest / first if first > 0.0 else inf

"""Tests by betting, which may be looked at after every observation, for ever.

A gambler bets against a hypothesis. While it is true, the probability that the wealth, at first 1, ever comes to
``1 / risk`` is at most the risk (Ville's inequality). Half of the wealth is bet from the first observation on, and
parts of the rest from each later one on, so that a late change does not have to make up for a long loss.

See I. Waudby-Smith and A. Ramdas: Estimating means of bounded random variables by betting. Journal of the Royal
Statistical Society B 86, 2024; and V. Vovk, A. Gammerman and G. Shafer: Algorithmic Learning in a Random World,
Springer, 2022, chapter 8, on tests by ranks.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import log, sqrt
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from streamfs.procedure._rank_bets import N_CELLS, N_WAYS, SUM, Counts, bet_on_ranks

STAKES = (0.06, 0.16, 0.35, 0.4)  # small falls need small stakes
MOST = 1e300  # that a wealth is said to be
_EVEN_STAKES = np.linspace(0.0, 1.0, 22)[1:-1]


class Bets:
    """The wealth of a gambler who divides it among several ways to bet, and among times from which to bet on.

    Parameters
    ----------
    n_ways : int
        Number of ways.
    """

    def __init__(self, n_ways: int) -> None:
        self.n = 0
        self.wealths = [0.0] * n_ways  # of what has been bet so far
        self.wealth = 1.0
        """The wealth; the hypothesis is rejected once it reaches ``1 / risk``."""

    def add(self, factors: Sequence[float]) -> None:
        """Take the factors by which each way, shape (n_ways,), multiplies what is bet on it."""
        self.n = n = self.n + 1
        length = log(n)
        part = 0.5 if n == 1 else 0.5 / (SUM * n * length * length)  # of the wealth, bet from now on
        each = part / len(factors)
        self.wealths = wealths = [(wealth + each) * by for wealth, by in zip(self.wealths, factors, strict=True)]
        self.wealth = wealth = sum(wealths)
        if wealth >= MOST:
            self.wealths = [min(wealth, MOST) for wealth in wealths]

    def to_state(self) -> list[Any]:
        """Copy what was bet as plain JSON."""
        return [self.n, *self.wealths]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `to_state` has copied."""
        self.n, *self.wealths = state
        self.wealth = sum(self.wealths) if self.n else 1.0


class ShareTest:
    """Test of the hypothesis that at least a share of the observations are right, each given those before.

    Parameters
    ----------
    share : float
        Between 0 and 1.

    Examples
    --------
    >>> test = ShareTest(0.8)
    >>> for _ in range(5):
    ...     test.add(False)
    >>> test.bets.wealth > 1 / 0.05
    True
    """

    def __init__(self, share: float) -> None:
        if not 0 < share < 1:
            raise ValueError(f"share is {share}, expected more than 0 and less than 1")
        self.bets = Bets(len(STAKES))
        self.n_right = 0
        self._gain = [1.0 + stake / (1 - share) * share for stake in STAKES]
        self._loss = [1.0 - stake for stake in STAKES]

    @property
    def n(self) -> int:
        """Number of observations."""
        return self.bets.n

    def add(self, is_right: bool) -> None:
        """Take an observation."""
        self.bets.add(self._loss if is_right else self._gain)
        self.n_right += is_right

    def to_state(self) -> list[Any]:
        """Copy what was seen as plain JSON."""
        return [self.n_right, *self.bets.to_state()]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `to_state` has copied."""
        self.n_right = state[0]
        self.bets.restore(state[1:])


class ErrorTest:
    """Test of the hypothesis that errors are no worse than in a reference: drawn alike, in any order.

    What is right is in the first bin, what is wrong in the others, the higher, the worse. The rank of an outcome
    among the reference and all outcomes before it, the worst first, is uniform from 0 to 1 if the hypothesis is
    true; the gambler bets on low ranks, by the derivative of the square root. Outcomes in one bin may have any of
    several ranks, and are bet on by the mean over these.

    Parameters
    ----------
    reference : sequence of int
        Number of outcomes of the reference in each bin.
    weight : float
        What an outcome counts: 1 / m if m go together; see `RankTests`.

    Examples
    --------
    >>> test = ErrorTest([95, 5])
    >>> for _ in range(5):
    ...     test.add(1)
    >>> test.bets.wealth > 1 / 0.05
    True
    """

    def __init__(self, reference: Sequence[int], weight: float = 1.0) -> None:
        self.bets = Bets(1)
        self._reference, self._seen, self._weight = reference, [0] * len(reference), weight

    def add(self, place: int) -> None:
        """Take an outcome by its bin."""
        known, weight = [a + b for a, b in zip(self._reference, self._seen, strict=True)], self._weight
        worse, n = sum(known[place + 1 :]), sum(known) + 1 / weight
        first, last = worse / n, (worse + known[place] + 1 / weight) / n
        self.bets.add([(sqrt(first) + sqrt(last)) ** -weight])
        self._seen[place] += 1

    def to_state(self) -> list[Any]:
        """Copy what was seen as plain JSON."""
        return [list(self._seen), *self.bets.to_state()]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `to_state` has copied; what bets of another kind have left begins anew."""
        seen, *bets = state
        if len(bets) == 1 + len(self.bets.wealths):
            self._seen = list(seen)
            self.bets.restore(bets)


def _logs_of_stakes(stakes: Array, share: float) -> tuple[Array, Array]:
    """Return logarithms of factors of stakes on an event whose share is at most this: if it happens, and else."""
    return np.log1p(stakes / share * (1 - share)), np.log1p(-stakes)


@lru_cache(maxsize=64)
def share_at_least(n_right: int, n_wrong: int, risk: float) -> float:
    """Return a lower bound of the share of right observations, valid at every look with probability 1 - `risk`.

    Examples
    --------
    >>> round(share_at_least(90, 10, 0.05), 2)
    0.8
    """
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        gain, loss = _logs_of_stakes(_EVEN_STAKES, middle)
        log_wealth = np.logaddexp.reduce(n_right * gain + n_wrong * loss) - log(len(gain))
        low, high = (middle, high) if log_wealth >= -np.log(risk) else (low, middle)
    return low


class RankTests:
    """Tests of the hypothesis that values are drawn as those of a reference were: in any order, all alike.

    One test a quantity. The rank of each value among the reference and all values before it is uniform from 0 to 1
    if the hypothesis is true (a conformal p-value); the gambler bets that ranks fall where they fell before, the
    last hundred above all. Values are known by their bin, which leaves several ranks; the bet is the mean of those
    on each. So nothing is drawn by lot, and where all values are alike, nothing is won or lost.

    Values may go together: if m of them are copies of one, they tell no more than one of them. What is bet then
    multiplies by the m-th root, and a value counts m times among those of the reference. By Hölder's inequality
    bets on all m are as fair as one, whatever they have to do with each other, but for what ranks of the same m
    have taught.

    Parameters
    ----------
    references : sequence of sequence of int
        Number of values of the reference in each bin, by quantity.
    weights : sequence of float, optional
        What a value of each quantity counts, in eighths: 1 / m if m go together; by default 1.

    Examples
    --------
    >>> tests = RankTests([[40, 40, 40, 40], [100, 100]])
    >>> for i in range(20):
    ...     _ = tests.add([3, i % 2])
    >>> (tests.wealths() > 1 / 0.05).tolist()
    [True, False]
    """

    def __init__(self, references: Sequence[Sequence[int]], weights: Sequence[float] | None = None) -> None:
        n = len(references)
        self._sizes = [len(counts) for counts in references]
        self._reference: Counts = np.zeros((n, max(self._sizes, default=0)), dtype=np.int64)
        for row, counts in zip(self._reference, references, strict=True):
            row[: len(counts)] = counts
        self.weights = np.ones(n) if weights is None else np.array(weights, dtype=np.float64)
        self._seen = np.zeros_like(self._reference)
        self.n: Counts = np.zeros(n, dtype=np.int64)
        self._cells, self._wealths = np.zeros((n, N_CELLS)), np.zeros((n, N_WAYS))
        self._at: Counts = np.zeros(n, dtype=np.int64)
        eighths: Counts = np.rint(8 * self.weights).astype(np.int64)
        known = self._reference, self._reference.sum(axis=1), eighths
        self._held = *known, self._seen, self.n, self._cells, self._wealths

    def add(self, at: Sequence[int]) -> float:
        """Take the bin of a value of each quantity, -1 for none; return the highest wealth of those with one."""
        self._at[:] = at
        highest: float = bet_on_ranks(*self._held, self._at)
        return highest

    def wealths(self) -> Array:
        """Wealth of each quantity, shape (n_quantities,)."""
        return np.where(self.n > 0, self._wealths.sum(axis=1), 1.0)

    def to_state(self) -> dict[str, Any]:
        """Copy what was seen as plain JSON."""
        seen = [row[:size].tolist() for row, size in zip(self._seen, self._sizes, strict=True)]
        return {
            "seen": seen,
            "n": self.n.tolist(),
            "cells": self._cells.tolist(),
            "wealths": self._wealths.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied; what bets of another kind have left begins anew."""
        if "cells" not in state:
            return
        self.n[:] = state["n"]
        for row, counts in zip(self._seen, state["seen"], strict=True):
            row[: len(counts)] = counts
        self._cells[:] = np.reshape(state["cells"], self._cells.shape)
        self._wealths[:] = np.reshape(state["wealths"], self._wealths.shape)

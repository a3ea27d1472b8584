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
from math import log
from typing import Any

import numpy as np

from feature_extractors.base import Array
from streamfs.procedure._rank_bets import N_WAYS, SUM, Counts, bet_on_ranks

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.8])  # small falls need small stakes
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
        self.log_wealths = np.full(n_ways, -np.inf)  # of what has been bet so far

    @property
    def log_wealth(self) -> float:
        """Logarithm of the wealth; the hypothesis is rejected once it reaches ``log(1 / risk)``."""
        return float(np.logaddexp.reduce(self.log_wealths)) if self.n else 0.0

    def add(self, log_factors: Array) -> None:
        """Take the logarithms of the factors by which each way, shape (n_ways,), multiplies what is bet on it."""
        n = self.n + 1
        part = 0.5 if n == 1 else 0.5 / (SUM * n * log(n) ** 2)  # of the wealth, bet from now on
        self.log_wealths = np.logaddexp(self.log_wealths, log(part / len(log_factors))) + log_factors
        self.n = n


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
    >>> bool(test.bets.log_wealth > np.log(1 / 0.05))
    True
    """

    def __init__(self, share: float) -> None:
        if not 0 < share < 1:
            raise ValueError(f"share is {share}, expected more than 0 and less than 1")
        self.bets = Bets(len(STAKES))
        self.n_right = 0
        self._gain, self._loss = _logs_of_stakes(STAKES, 1 - share)

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
        return [self.n_right, self.bets.n, self.bets.log_wealths.tolist() if self.bets.n else []]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `to_state` has copied."""
        self.n_right, self.bets.n, log_wealths = state
        self.bets.log_wealths[:] = log_wealths or -np.inf


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

    One test a quantity. Values are known by their bin; ties are broken at random. The rank of each value among the
    reference and all values before it is uniform from 0 to 1 if the hypothesis is true (a conformal p-value); the
    gambler bets on low ranks, on high ones, on both and on neither.

    Parameters
    ----------
    references : sequence of sequence of int
        Number of values of the reference in each bin, by quantity.

    Examples
    --------
    >>> tests = RankTests([[40, 40, 40, 40], [100, 100]])
    >>> for i in range(20):
    ...     _ = tests.add([3, i % 2], seed=i)
    >>> (tests.log_wealths() > np.log(1 / 0.05)).tolist()
    [True, False]
    """

    def __init__(self, references: Sequence[Sequence[int]]) -> None:
        self._sizes = [len(counts) for counts in references]
        self._reference: Counts = np.zeros((len(references), max(self._sizes, default=0)), dtype=np.int64)
        for row, counts in zip(self._reference, references, strict=True):
            row[: len(counts)] = counts
        self._seen = np.zeros_like(self._reference)
        self.n: Counts = np.zeros(len(references), dtype=np.int64)
        self._log_wealths = np.full((len(references), N_WAYS), -np.inf)
        self._generator = np.zeros(1, dtype=np.uint64)

    def add(self, at: Sequence[int], seed: int) -> float:
        """Take a value of each quantity in a bin, -1 for none; the seed breaks ties.

        Return a number that no logarithm of a wealth exceeds that has grown.
        """
        self._generator[0] = seed
        places: Counts = np.array(at, dtype=np.int64)
        held = self._reference, self._seen, self.n, self._log_wealths
        return float(bet_on_ranks(*held, places, self._generator)) + log(N_WAYS)

    def log_wealths(self) -> Array:
        """Logarithm of the wealth of each quantity, shape (n_quantities,)."""
        return np.where(self.n > 0, np.logaddexp.reduce(self._log_wealths, axis=1), 0.0)

    def to_state(self) -> dict[str, Any]:
        """Copy what was seen as plain JSON."""
        seen = [row[:size].tolist() for row, size in zip(self._seen, self._sizes, strict=True)]
        bets = [row.tolist() if n else [] for row, n in zip(self._log_wealths, self.n.tolist(), strict=True)]
        return {"seen": seen, "n": self.n.tolist(), "bets": bets}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self.n[:] = state["n"]
        for row, counts in zip(self._seen, state["seen"], strict=True):
            row[: len(counts)] = counts
        for row, log_wealths in zip(self._log_wealths, state["bets"], strict=True):
            row[:] = log_wealths or -np.inf

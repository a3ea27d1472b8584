"""Score a subset of features by what it costs to keep a promise with it."""

from dataclasses import dataclass
from math import inf

import numpy as np

from streamfs.training.promises.curve import Curve
from streamfs.training.promises.promise import Promise

LIKELY = 0.95
"""Probability that some threshold passes the test, from which a subset counts as likely to keep the promise."""

POSSIBLE = 0.05
"""Least probability at which the cost of a subset that is not likely to pass counts."""

EVEN = 0.5
"""Least probability of passing of the threshold whose cost counts, as a share of the likeliest threshold's."""

DOUBT = 1.0
"""Standard errors by which shares are taken to be less than they seem: the best of many subsets flatters."""

FAR, NEAR = 1e100, 1e50
"""More than any cost: for a subset that is hardly possible, and for one that is not likely."""

SMALLEST = 1e-20
"""Replaces a cost of 0 of a subset that is not likely: it must score less than any that is."""

Subset = tuple[int, ...]


@dataclass(frozen=True)
class SubsetScore:
    """How well a subset of features, without the free ones, does on held-out streams.

    `chance` is the probability that the test of the likeliest threshold passes. `cost` is the mean cost of a
    stream, or of a labelled one if no completeness is promised, at the cheapest threshold that is at least half
    as likely to pass; infinite if no threshold labels a stream. `shortfall` is how far the best threshold falls
    short of the promise.
    """

    subset: Subset
    chance: float
    cost: float
    shortfall: float

    @property
    def is_likely(self) -> bool:
        """Whether some threshold is likely to pass the test."""
        return self.chance >= LIKELY

    @property
    def score(self) -> float:
        """The larger, the better: likely subsets by cost, then possible ones by cost and chance, then the others.

        A possible subset may cost a quarter for half the chance.
        """
        if self.is_likely:
            return -self.cost
        if self.chance >= POSSIBLE:
            return -NEAR * max(self.cost, SMALLEST) / self.chance**2
        return -FAR * (2.0 - self.chance + self.shortfall)


def evaluate_subset(curve: Curve, promise: Promise, n_streams: int, subset: Subset = ()) -> SubsetScore:
    """Score a subset by its curve on held-out streams, for a test of `n_streams` others.

    If no completeness is promised, the cost is that of a labelled stream, since labelling hardly any would
    otherwise be the cheapest.
    """
    if not len(curve):
        return SubsetScore(subset, 0.0, inf, 1.0)
    chances = promise.chances(*curve.doubted(DOUBT), n_streams)
    shortfall = promise.accuracy - curve.accuracy
    divisor = curve.n_labelled
    if promise.completeness is not None:
        shortfall = np.maximum(shortfall, promise.completeness - curve.completeness)
        divisor = np.full(len(curve), curve.n_streams)
    chance = float(chances.max())
    cost = float((curve.cost / divisor)[chances >= EVEN * chance].min())
    return SubsetScore(subset, chance, cost, max(0.0, float(shortfall.min())))

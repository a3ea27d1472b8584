"""Score a subset of features by what it is expected to cost to keep a promise with it."""

from dataclasses import dataclass, replace
from math import inf, log

import numpy as np
from scipy.special import ndtri

from feature_extractors.arrays import Array
from streamfs.training.promises.certificate import chances, walk
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.held_out import Curves
from streamfs.training.promises.promise import Promise

DOUBT = 0.25
"""Standard errors by which shares are taken to be less than they seem.

The best of many subsets flatters, but the classifier of the end is fitted to a quarter more streams than those by
which subsets are scored: the one makes up for most of the other.
"""

SPREAD: Array = ndtri((np.arange(9) + 0.5) / 9)
"""Standard errors, equally probable, by which true shares may be less than they are taken to be."""

CAUTION = 6.0
"""Power of the chance by which a cost is divided: a twentieth less chance is accepted for a quarter less cost."""

EVEN = 0.5
"""Probability of passing the test from which a subset counts as likely to keep the promise."""

WAITING = EVEN**-CAUTION
"""Factor of a cost that is paid to wait: at equal cost, a later tick is better where tick 1 is rather refused."""

FAR = 1e9
"""More than the logarithm of any cost, and of any chance: for a subset without a chance."""

SMALLEST = 1e-20
"""Replaces a cost of 0 before its logarithm is taken."""

Subset = tuple[int, ...]


@dataclass(frozen=True)
class SubsetScore:
    """How well a subset of features, without the free ones, does on held-out streams.

    `chance` is the probability that a threshold is certified. `cost` is the mean cost of a stream that is then
    expected, or of a labelled one if no completeness is promised; infinite without a chance. `shortfall` is how
    far the best threshold falls short of the promise, in the worst class if it is promised of each; it is infinite
    where no episode can begin. `start` is the tick before which nothing is decided.
    """

    subset: Subset
    chance: float
    cost: float
    shortfall: float
    start: int = 1

    @property
    def is_likely(self) -> bool:
        """Whether it is rather certified than refused."""
        return self.chance >= EVEN

    @property
    def score(self) -> float:
        """The larger, the better: by the cost over a power of the chance; without a chance, by the shortfall.

        Waiting is dear at any tick, so that a stream is decided from tick 1 on wherever that will do.
        What costs nothing has no chance unless it is likely, since any chance would outweigh all costs.
        """
        if self.chance == 0.0 or (self.cost == 0.0 and not self.is_likely):
            return -FAR * (1.0 + self.shortfall)
        waiting = 0.0 if self.start == 1 else log(WAITING)
        return CAUTION * log(self.chance) - log(max(self.cost, SMALLEST)) - waiting


def evaluate_starts(
    curves: Curves, promise: Promise, n_streams: int, subset: Subset = (), max_cost: float = inf
) -> SubsetScore:
    """Score a subset where nothing is decided before the tick at which it does best; of equals the earliest.

    A tick is left out if it would not be better even if it surely passed at the least cost of its thresholds.
    """
    (first, curve), *later = sorted(curves.items())
    best = replace(evaluate_subset(curve, promise, n_streams, subset, max_cost), start=first)
    for start, curve in later:
        least = curve.mean_cost(per_label=promise.completeness is None).min(initial=inf)
        if SubsetScore(subset, 1.0, float(least), 0.0, start).score > best.score:
            found = replace(evaluate_subset(curve, promise, n_streams, subset, max_cost), start=start)
            best = max(best, found, key=lambda each: each.score)
    return best


def evaluate_subset(
    curve: Curve,
    promise: Promise,
    n_streams: int,
    subset: Subset = (),
    max_cost: float = inf,
    doubt: float = DOUBT,
) -> SubsetScore:
    """Score a subset by its curve on held-out streams, for a test of `n_streams` others.

    The test of thresholds in order ends at each of them with a probability that follows from its shares, which
    are known up to their standard errors. If no completeness is promised, the cost is that of a labelled stream,
    since labelling hardly any would otherwise be the cheapest. What would cost more than `max_cost` is refused.
    Shares are taken to be less than they seem by a `doubt` in standard errors.
    """
    if not len(curve):
        return SubsetScore(subset, 0.0, inf, 1.0)
    tested, shortfall = walk(curve, promise, n_streams), promise.accuracy - curve.accuracy
    if promise.completeness is not None:
        shortfall = np.maximum(shortfall, promise.completeness - curve.completeness)
    if promise.per_class is not None:
        shortfall = np.maximum(shortfall, promise.accuracy - promise.least_share(curve.by_class))
    ended = _chances_of_the_last(tested, promise, n_streams, doubt + SPREAD).mean(axis=0)
    costs = tested.mean_cost(per_label=promise.completeness is None)
    ended = np.where(costs <= max_cost, ended, 0.0)
    chance = float(ended.sum())
    cost = float(ended @ costs) / chance if chance else inf
    return SubsetScore(subset, chance, cost, max(0.0, float(shortfall.min())))


def _chances_of_the_last(tested: Curve, promise: Promise, n_streams: int, errors: Array) -> Array:
    """Return the probability of each threshold that it is certified, shape (n_errors, n_thresholds).

    The accuracy of stricter thresholds has passed, that of the next fails, and the completeness passes, if shares
    are less by each of some numbers of standard errors.
    """
    less = errors[:, np.newaxis]
    completeness, _ = tested.doubted(less)
    passed = np.minimum.accumulate(chances(tested, promise, n_streams, less), axis=1)
    ended: Array = passed - np.pad(passed[:, 1:], ((0, 0), (0, 1)))
    return ended * promise.completeness_chances(completeness, n_streams)

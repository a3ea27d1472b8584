"""How often one procedure is better than another, where held-out streams are drawn anew."""

import numpy as np

from feature_extractors.arrays import Array
from streamfs.training.held_out import Followed
from streamfs.training.promises.held_out import curve_of
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.subset_score import evaluate_subset

N_DRAWS = 40
"""Draws, with replacement, of as many streams as there are."""

MOST_THRESHOLDS = 200
"""Thresholds of a draw."""

SEED = 0
"""Of the draws."""


def share_better(one: Followed, other: Followed, promise: Promise, n_test: int) -> float:
    """Return the share of draws in which one has the better score; both have followed the same streams.

    What is the best of many on some streams is better than another by luck, too. Since both are scored on the
    same draws, what streams do to both alike does not count.
    """
    n = one.n_streams
    draws = np.random.default_rng(SEED).integers(0, n, (N_DRAWS, n))

    def scores(followed: Followed) -> Array:
        curves = (curve_of(followed.take(drawn)).thinned(MOST_THRESHOLDS) for drawn in draws)
        return np.array([evaluate_subset(curve, promise, n_test).score for curve in curves])

    return float(np.mean(scores(one) > scores(other)))

"""Whether thresholds should fall with the tick, so that a promise is kept at less cost, or rather certified."""

from collections.abc import Sequence

from streamfs.procedure.falling import Falling
from streamfs.training.held_out import Followed
from streamfs.training.promises.held_out import curve_of
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.subset_score import evaluate_subset

FALLS = (0.2, 0.4, 0.8)
"""Falls of the thresholds' log-odds, while the tick grows by a factor of e, that are tried."""

GAIN = 0.05
"""How much better the score must be: a twentieth of the cost, or a hundredth of the chance."""


def cheapest_fall(
    followed: Followed, promise: Promise, n_test: int, max_cost: float, last: int, falls: Sequence[float] = FALLS
) -> Falling | None:
    """Return how thresholds fall so that a promise is the cheapest on held-out streams; None for not at all.

    A stream that is undecided late is less likely to become surer than one that is so early, and of those that are
    sure early, some are so by luck. The fall is fixed before the test: what is tested in order is the threshold
    of tick 1, which all others follow.
    """
    best, least = None, GAIN + evaluate_subset(curve_of(followed), promise, n_test, max_cost=max_cost).score
    for fall in falls:
        falling = Falling(fall, last)
        score = evaluate_subset(curve_of(followed.flattened(falling)), promise, n_test, max_cost=max_cost).score
        if score > least:
            best, least = falling, score
    return best

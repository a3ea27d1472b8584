"""From which cost of an error on it pays to wait for more."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Integers
from streamfs.training.decision_costs import DecisionCosts
from streamfs.training.held_out import Followed
from streamfs.training.luck import is_notable

MARGIN = 2.0
"""What an error costs, over what makes both cost the same: the latter is a matter of luck, too."""

OF_ERRORS = DecisionCosts(error=1.0, delay=0.0)
"""Errors alone: a label costs 1 if it is wrong or missing."""


class Waiting(NamedTuple):
    """The cost of an error from which it pays to wait until a tick, and what share is right there."""

    error_cost: float
    tick: int
    right: float


def worth_waiting(
    followed: Followed, columns: Integers, costs: DecisionCosts, time_limit: int, guessed: float | None = None
) -> Waiting | None:
    """Return what an error must cost at least before deciding all streams at some later tick costs less.

    `columns` are those in which streams are decided now, -1 for never; if labels are guesses, a share `guessed` of
    them is right. What is returned is more than an error costs now. There is None if no tick is surely and notably
    better, and costs more apart from errors. Thresholds need not wait for all streams; so it may pay sooner.
    """
    wrong = OF_ERRORS.at_each(followed, time_limit)
    right = 1.0 - wrong.mean(axis=0)
    rest = costs.at_each(followed, time_limit).mean(axis=0) - costs.error * (1.0 - right)
    wrong_now = OF_ERRORS.of(followed, columns, time_limit)
    rest_now = costs.of(followed, columns, time_limit).mean() - costs.error * wrong_now.mean()
    fewer = (wrong_now[:, np.newaxis] if guessed is None else 1.0 - guessed) - wrong
    gains = fewer.mean(axis=0)
    better = np.flatnonzero(is_notable(fewer) & (rest > rest_now))
    if not len(better):
        return None
    even = (rest[better] - rest_now) / gains[better]
    first = even.argmin()
    tick, share = int(followed.ticks[better[first]]), float(right[better[first]])
    return Waiting(MARGIN * max(float(even[first]), costs.error), tick, share)

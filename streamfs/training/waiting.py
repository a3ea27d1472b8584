"""From which cost of an error on it pays to wait for more, rather than to guess."""

from math import inf
from typing import NamedTuple

import numpy as np

from streamfs.data.streams import Integers
from streamfs.training.decision_costs import DecisionCosts
from streamfs.training.held_out import Followed

SURELY = 2.0
"""Standard errors by which more streams must be right at a later tick than guesses are."""

MARGIN = 1.25
"""What an error costs, over what makes both cost the same: the latter is a matter of luck, too."""

OF_ERRORS = DecisionCosts(error=1.0, delay=0.0)


class Waiting(NamedTuple):
    """The cost of an error from which it pays to wait until a tick, and what share is right there."""

    error_cost: float
    tick: int
    right: float


def worth_waiting(
    followed: Followed, columns: Integers, costs: DecisionCosts, time_limit: int, guessed: float
) -> Waiting | None:
    """Return what an error must cost at least before deciding all streams at some later tick costs less.

    `columns` are those in which streams are decided now, -1 for never, no better than by guesses, of which a share
    `guessed` is right. There is None if no tick is surely better. Thresholds need not wait for all streams; so it
    may pay sooner.
    """

    def rest(columns: Integers) -> float:
        wrong = OF_ERRORS.of(followed, columns, time_limit)
        return float(np.mean(costs.of(followed, columns, time_limit) - costs.error * wrong))

    found, now = Waiting(inf, 0, 0.0), rest(columns)
    for column, tick in enumerate(followed.ticks.tolist()):
        there = np.full(len(columns), column)
        right = 1.0 - float(OF_ERRORS.of(followed, there, time_limit).mean())
        gain = right - guessed
        if gain > SURELY * np.sqrt(right * (1.0 - right) / len(columns)):
            found = min(found, Waiting(MARGIN * (rest(there) - now) / gain, tick, right))
    return found if found.tick else None

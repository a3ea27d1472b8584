"""What decisions cost."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import LARGEST
from streamfs.training.held_out import Followed
from streamfs.training.luck import believed_share, cautious_mean, cautious_means, chance_of, effective_number

TOLERANCE = 0.01
"""By how much of an error's cost a choice may be worse than the best to send less."""


@dataclass(frozen=True)
class DecisionCosts:
    """What a decision costs: an error, a delay up to the time limit, and each unit of the features' costs.

    A delay costs its share of the time limit. A stream without a label is an error at the time limit. If costs are
    anticipated, there is a threshold for each tick, from which waiting is not expected to cost less.

    Raises
    ------
    ValueError
        If one is no number, negative or above 1e100, or an error costs nothing.
    """

    error: float = 1.0
    delay: float = 1.0
    sending: float = 0.0
    is_anticipated: bool = False

    def __post_init__(self) -> None:
        for name in ("error", "delay", "sending"):
            cost = getattr(self, name)
            if not isinstance(cost, Real) or not 0.0 <= float(cost) <= LARGEST:
                raise ValueError(f"{name}_cost is {cost!r}, expected a number of at least 0, at most {LARGEST:g}")
            object.__setattr__(self, name, float(cost))
        if self.error == 0.0:
            raise ValueError("error_cost is 0, expected more: a label that may be wrong needs no readings")

    def of(self, followed: Followed, columns: Integers, time_limit: int) -> Array:
        """Return each stream's cost if it is decided in a column of what was followed, -1 for never.

        Columns may be tried of many rules at once, along the first axes.
        """
        wrong, delay, spent = decided_in(followed, columns, time_limit)
        return np.asarray(self.error * wrong + self.delay * delay + self.sending * spent)

    def at_each(self, followed: Followed, time_limit: int) -> Array:
        """Return each stream's cost if it is decided at each tick that was followed; beyond its end, for never."""
        delay = self.delay * (followed.ticks / time_limit)
        costs = self.error * ~followed.is_right() + delay + self.sending * followed.spent
        never = self.of(followed, np.full(len(followed.truth), -1), time_limit)
        is_inside = np.arange(len(followed.ticks)) < followed.trajectories.ticks[:, np.newaxis]
        return np.where(is_inside, costs, never[:, np.newaxis])

    @property
    def additive(self) -> "DecisionCosts":
        """The costs as a sum of what each decision costs."""
        return self

    def excess(self, followed: Followed, columns: Integers, others: Integers, time_limit: int) -> float:
        """Return by how much decisions in some columns may cost more than in others: a cautious mean."""
        costs, least = (self.of(followed, each, time_limit) for each in (columns, others))
        return cautious_mean(followed.by_stream(costs - least), followed.counts)

    def means_of(self, followed: Followed, columns: Integers, time_limit: int) -> Array:
        """Return the cautious means, over the last axis, of what decisions in some columns cost, -1 for never."""
        return cautious_means(followed.by_stream(self.of(followed, columns, time_limit)), followed.counts)

    def of_all_at(self, column: int, followed: Followed, time_limit: int) -> float:
        """Return what deciding all streams in a column of what was followed costs, cautiously, luck apart."""
        sent = np.average(followed.by_stream(followed.spent[:, column]), weights=followed.counts)
        delay = followed.ticks[column] / time_limit
        return float(self.error * believed_errors(column, followed) + self.delay * delay + self.sending * sent)


def decided_in(followed: Followed, columns: Integers, time_limit: int) -> tuple[Array, Array, Array]:
    """Return of each stream in a column whether it is wrong, its share of the time limit, and what is spent on it.

    Columns have shape (..., n_rows), and so has what is returned. A stream that is never decided, in column -1, is
    wrong and at the time limit, and all is spent on it.
    """
    rows, ends = np.arange(columns.shape[-1]), np.maximum(followed.trajectories.ticks - 1, 0)
    never = columns < 0
    at = np.where(never, ends, columns)
    wrong = never | ~followed.is_right()[rows, at]
    delay = np.where(never, 1.0, followed.ticks[at] / time_limit)
    return wrong.astype(np.float64), delay, followed.spent[rows, at]


def mean_sent(followed: Followed, columns: Integers, time_limit: int) -> Array:
    """Return what is spent on a stream on average, over the last axis, if it is decided in a column, -1 for never.

    Columns have shape (..., n_rows), and what is returned has the shape (...), in the unit of `Followed.spent`.
    """
    spent = decided_in(followed, columns, time_limit)[2]
    return np.asarray(np.average(followed.by_stream(spent), axis=-1, weights=followed.counts))


def believed_errors(column: int, followed: Followed) -> float:
    """Return the share of all streams that are wrong in a column, cautiously, luck apart."""
    counts, right = followed.counts, followed.by_stream(followed.is_right()[:, column])
    n_streams = effective_number(counts)
    wrong = 1.0 - believed_share(right, chance_of(followed), n_streams, weights=counts)
    return float(wrong + np.sqrt(wrong * (1.0 - wrong) / n_streams))

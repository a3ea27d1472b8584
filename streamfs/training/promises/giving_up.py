"""Giving up on streams that will not become sure, as far as the promised completeness allows."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from streamfs.relief import position_grid
from streamfs.training.held_out import Followed
from streamfs.training.promises.held_out import curve_of
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.subset_score import evaluate_subset

N_TICKS = 8
"""Ticks from which streams may be given up that are tried, denser at the beginning."""

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of the streams that are undecided at such a tick below whose confidence they are given up."""


GAIN = 0.02
"""How much better the score must be: a fiftieth of the cost, or so."""


class Patience(NamedTuple):
    """The tick from which streams with a confidence below the floor are given up."""

    tick: int
    floor: float


def cheapest_patience(
    followed: Followed, promise: Promise, start: int, n_test: int, max_cost: float
) -> Patience | None:
    """Return when to give up so that a promise is the cheapest on held-out streams; None for never.

    Parameters
    ----------
    followed : Followed
        Held-out streams, with calibrated confidence; nothing is decided before the tick `start`.
    promise : Promise
        To be kept.
    start, n_test, max_cost
        As in `evaluate_subset`: streams are given up after `start` only.

    Notes
    -----
    Tick and floor are fixed before the test, so that thresholds are tested as they are without: a stream that is
    given up is one that ends there. Its tick counts, so that it is decided instead if it is sure enough.
    """
    best, least = None, GAIN + evaluate_subset(curve_of(followed), promise, n_test, max_cost=max_cost).score
    for patience in _tried(followed, start):
        curve = curve_of(followed.giving_up(*patience))
        score = evaluate_subset(curve, promise, n_test, max_cost=max_cost).score
        if score > least:
            best, least = patience, score
    return best


def _tried(followed: Followed, start: int) -> Iterator[Patience]:
    ticks, lengths = followed.ticks, followed.trajectories.ticks
    for column in position_grid(len(ticks), N_TICKS, "geometric").tolist():
        there = followed.trajectories.confidence[lengths >= column, column - 1]
        if ticks[column - 1] > start and len(there):
            for floor in np.unique(np.quantile(there, SHARES)).tolist():
                yield Patience(int(ticks[column - 1]), floor)

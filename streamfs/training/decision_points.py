"""The ticks at which streams may be decided."""

import numpy as np

from feature_extractors.arrays import Integers

FEWEST_POINTS, MOST_POINTS, STREAMS_OF_A_POINT = 20, 100, 4
"""Fewest and most ticks at which streams may be decided, and how many streams each more than the fewest takes."""

FEWEST_TO_CHOOSE_AMONG = 40
"""Fewest streams of which some are decided at the first tick, and others later."""


def decision_points(n_ticks: int, n_streams: int) -> Integers:
    """Return the ticks at which streams may be decided: the first, and others evenly spread; of more streams more.

    With few streams, a class seems to be told by some early tick or other, by luck (`is_for_all`).
    """
    n_points = min(n_ticks, MOST_POINTS, max(FEWEST_POINTS, n_streams // STREAMS_OF_A_POINT))
    first = 1.0 if n_streams >= FEWEST_POINTS * STREAMS_OF_A_POINT else n_ticks / n_points
    return np.unique(np.round(np.r_[1.0, np.linspace(first, n_ticks, n_points)]).astype(np.int64))


def is_for_all(points: Integers, n_streams: int) -> bool:
    """Return whether the first point is for all streams or none, since luck would choose among so few."""
    is_evenly_spread = round(points[-1] / FEWEST_POINTS) <= 1
    return n_streams < FEWEST_TO_CHOOSE_AMONG and len(points) > 1 and not is_evenly_spread

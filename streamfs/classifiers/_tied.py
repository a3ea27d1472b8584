"""Votes of all rows that are as near as the last of the nearest."""

import numpy as np

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.base._compiled import kernel
from streamfs.classifiers._lazy import Stored, distance, list_asked, nearest
from streamfs.classifiers._neighbours import Scales, _fill_distances


@kernel
def count_tied(
    columns: Array,
    scales: Scales,
    queries: Array,
    power: int,
    room: Array,
    farthest: Array,
    classes: Integers,
    votes: Array,
) -> None:
    """Count the classes of all rows of a table up to the distance `farthest` of each query in `votes`."""
    votes[:] = 0.0
    for i in range(len(queries)):
        _fill_distances(columns, scales, queries[i], power, room)
        for j in range(len(room)):
            if room[j] <= farthest[i]:
                votes[i, classes[j]] += 1.0


@kernel
def vote_with_ties(
    stored: Stored,
    classes: Integers,
    rows: Array,
    asked: Flags,
    compared: Integers,
    distances: Array,
    neighbours: Integers,
    votes: Array,
) -> None:
    """Count as `vote` does, all instances that are as near as the last."""
    votes[:] = 0.0
    for r in range(len(rows)):
        n_compared = list_asked(asked[r], compared)
        nearest(stored, rows[r], compared[:n_compared], distances, neighbours)
        farthest = distances[len(distances) - 1]
        for i in range(len(stored.values)):
            if distance(stored, rows[r], i, compared[:n_compared], np.inf) <= farthest:
                votes[r, classes[i]] += 1.0

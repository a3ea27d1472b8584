"""Forests of which each segment of the ticks has its own: their trees ask the tick first."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.classifiers.classifier import Classifier
from streamfs.classifiers.forest import Forest
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers
from streamfs.training.cross_validation import Learn
from streamfs.training.learners import grown_forest
from streamfs.training.promises.candidates import TICK

SEGMENTED = "extra-trees, by segment"
"""What joined forests are called."""

N_SEGMENTS = 3
"""Segments of the ticks, each longer than the one before by the same factor."""


def segments_learner(min_leaf: float, time_limit: int, seed: int, n_trees: int) -> Learn:
    """Fit extra trees to each segment of the ticks, and join them to one forest.

    Most rows of a stream are late ones, and most decisions early. There is one segment if no feature counts the
    ticks, or if all streams of some class end before the last segment.
    """

    def learn(table: FeatureTable) -> Classifier:
        def grown(part: FeatureTable) -> Forest:
            return grown_forest(part, min_leaf, time_limit, seed, n_trees).forest_

        names = [feature.name for feature in table.features]
        parts = [table.at(ticks) for ticks in segments(min(table.n_ticks, time_limit))]
        n_classes = [len(np.unique(part.labels[part.lengths > 0])) for part in (table, parts[-1])]
        if TICK not in names or n_classes[0] > n_classes[1]:
            return grown(table)
        clock = names.index(TICK)
        ends = [float(np.nanmax(part.values[:, -1, clock])) + 0.5 for part in parts[:-1]]
        return joined([grown(part) for part in parts], clock, ends)

    return learn


def segments(n_ticks: int) -> list[Integers]:
    """Divide ticks, counted from 1, into segments; a few ticks are as many segments."""
    ends = np.unique(np.geomspace(1, n_ticks + 1, N_SEGMENTS + 1).round().astype(np.int64))
    return [np.arange(first, end) for first, end in pairwise(ends)]


def joined(forests: Sequence[Forest], clock: int, ends: Sequence[float]) -> Forest:
    """Return a forest that is the first of some up to its end by the feature `clock`, then the next, and so on."""
    whole = forests[-1]
    for forest, end in zip(forests[-2::-1], ends[::-1], strict=True):
        whole = _either(forest, whole, clock, end)
    return whole


def _either(early: Forest, late: Forest, clock: int, end: float) -> Forest:
    """Join forests tree by tree, below a root that asks the clock."""
    pairs = zip(_trees(early), _trees(late), strict=True)
    trees = [_below_a_root(*pair, clock, end) for pair in pairs]
    sizes = [len(tree[0]) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    feature, threshold, first, missing, shares = (np.concatenate(each) for each in zip(*trees, strict=True))
    offsets = np.where(feature >= 0, np.repeat(roots, sizes), 0)
    return Forest(feature, threshold, first + offsets, missing + offsets, shares, roots)


Nodes = tuple[Integers, Array, Integers, Integers, Array]
"""Features, thresholds, first children and those of missing values, by places in the tree, and shares of nodes."""


def _trees(forest: Forest) -> list[Nodes]:
    bounds = pairwise([*forest.roots.tolist(), forest.n_nodes])
    return [
        (
            forest.feature[root:end],
            forest.threshold[root:end],
            np.where(forest.feature[root:end] >= 0, forest.first_child[root:end] - root, 0),
            np.where(forest.feature[root:end] >= 0, forest.missing_child[root:end] - root, 0),
            forest.shares[root:end],
        )
        for root, end in bounds
    ]


def _below_a_root(one: Nodes, other: Nodes, clock: int, end: float) -> Nodes:
    """Place two trees below a root: its children are their roots, then come the others of each."""
    n, n_all = len(one[0]), len(one[0]) + len(other[0]) + 1
    places = np.r_[1, 3 : n + 2], np.r_[2, n + 2 : n_all]

    def merged(root: object, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[Any]:
        whole = np.empty((n_all, *left.shape[1:]), left.dtype)
        whole[0], whole[places[0]], whole[places[1]] = root, left, right
        return whole

    moved = [
        [np.where(nodes[0] >= 0, place[children], 0) for children in nodes[2:4]]
        for nodes, place in zip((one, other), places, strict=True)
    ]
    return (
        merged(clock, one[0], other[0]),
        merged(end, one[1], other[1]),
        merged(1, moved[0][0], moved[1][0]),
        merged(1, moved[0][1], moved[1][1]),
        merged(one[4][0], one[4], other[4]),
    )

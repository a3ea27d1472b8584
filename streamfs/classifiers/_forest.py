"""The compiled evaluation of a forest: groups of rows, or of trees, go down together."""

from math import exp
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base._compiled import inlined, kernel
from streamfs.classifiers._calibration import Given, calibrate_rows

Ways = npt.NDArray[Any]
Places = npt.NDArray[np.uint64]

WAY = np.dtype([("threshold", np.float64), ("feature", np.uint32), ("next", np.uint32)])
"""How to go on from a node: the next one, or the one behind it for a value above the threshold.

A leaf leads to itself. A row's feature f stands in two places: in 2 f a missing value is less than all thresholds,
in 2 f + 1 it is more than all.
"""

GROUP = 16
"""Rows that go down a tree together, or trees that a row goes down together, so that one need not wait while
another's node is fetched."""
BLOCK = 16 * GROUP
"""Rows that go down one tree after the other, so that a tree is fetched once for all of them."""


class FlatForest(NamedTuple):
    """A forest as kernels read it: its nodes, what each gives the classes as a leaf, roots, and calibration.

    `adds` is 1 if trees add to the classes' scores, and 0 if they give probabilities, of which the mean is taken.
    """

    ways: Ways
    shares: Array
    roots: Places
    calibration: Given
    adds: int = 0


@inlined
def _write_twice(X: Array, start: int, stop: int, values: Array) -> None:
    """Write rows as `WAY` reads them, one behind the other."""
    place = 0
    for row in range(start, stop):
        for f in range(X.shape[1]):
            value = X[row, f]
            is_known = value == value
            values[place] = value if is_known else -np.inf
            values[place + 1] = value if is_known else np.inf
            place += 2


@inlined
def _go_down(ways: Ways, values: Array, start: np.uint64, width: np.uint64, nodes: Places) -> None:
    """Go from a group of nodes down to leaves; only the last step can be mispredicted.

    The values for the first node begin at `start`, those for the next one `width` behind it, and so on.
    """
    moved = np.uint64(1)
    while moved != np.uint64(0):
        moved = np.uint64(0)
        place = start
        for i in range(GROUP):
            node = nodes[i]
            way = ways[node]
            value = values[place + np.uint64(way.feature)]
            nodes[i] = np.uint64(way.next) + np.uint64(value > way.threshold)
            moved |= nodes[i] ^ node
            place += width


@inlined
def _add_shares(shares: Array, nodes: Places, i: int, sums: Array, row: int) -> None:
    """Add to a row the shares of a leaf."""
    for c in range(shares.shape[1]):
        sums[row, c] += shares[nodes[i], c]


@inlined
def _sum_shares(
    ways: Ways, shares: Array, roots: Places, X: Array, values: Array, nodes: Places, sums: Array
) -> None:
    """Sum the shares of each row's leaves, tree by tree in order.

    Rows go down a tree in groups; each of those that are left goes down groups of trees.
    """
    sums[:] = 0.0
    width = 2 * X.shape[1]
    n_block = len(values) // width if width else len(X)
    for start in range(0, len(X), n_block):
        stop = min(start + n_block, len(X))
        _write_twice(X, start, stop, values)
        rest = stop - (stop - start) % GROUP
        for root in roots:
            for first in range(start, rest, GROUP):
                for i in range(GROUP):
                    nodes[i] = root
                _go_down(ways, values, np.uint64((first - start) * width), np.uint64(width), nodes)
                for i in range(GROUP):
                    _add_shares(shares, nodes, i, sums, first + i)
        for first in range(0, len(roots), GROUP):
            for row in range(rest, stop):
                for i in range(GROUP):
                    nodes[i] = roots[min(first + i, len(roots) - 1)]
                _go_down(ways, values, np.uint64((row - start) * width), np.uint64(0), nodes)
                for i in range(min(GROUP, len(roots) - first)):
                    _add_shares(shares, nodes, i, sums, row)


@kernel
def turn_to_probabilities(scores: Array, row: int) -> None:
    """Replace the scores of a row by their exponentials over the sum of them."""
    highest, total = scores[row, 0], 0.0
    for c in range(1, scores.shape[1]):
        highest = max(highest, scores[row, c])
    for c in range(scores.shape[1]):
        scores[row, c] = exp(scores[row, c] - highest)
        total += scores[row, c]
    for c in range(scores.shape[1]):
        scores[row, c] /= total


@kernel
def write_probabilities(
    ways: Ways,
    shares: Array,
    roots: Places,
    calibration: Given,
    adds: int,
    X: Array,
    values: Array,
    nodes: Places,
    means: Array,
    result: Array,
) -> None:
    """Write the probability of each class for each row of X: what the trees give together, calibrated.

    Scratch space: `values`, one more than 2 * n_features for each row of a block; `nodes`, (GROUP,); `means`, of
    the result's shape.
    """
    _sum_shares(ways, shares, roots, X, values, nodes, means)
    for row in range(len(X)):
        if adds:
            turn_to_probabilities(means, row)
        else:
            for c in range(means.shape[1]):
                means[row, c] /= len(roots)
    calibrate_rows(calibration, X, means, result)

"""The compiled evaluation of a forest: groups of rows go down a tree together."""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.base._compiled import inlined, kernel
from streamfs.classifiers._evaluate import Array

Ways = npt.NDArray[Any]
Places = npt.NDArray[np.uint64]

WAY = np.dtype([("threshold", np.float64), ("feature", np.uint32), ("next", np.uint32)])
"""How to go on from a node: the next one, or the one behind it for a value above the threshold.

A leaf leads to itself. A row's feature f stands in two places: in 2 f a missing value is less than all thresholds,
in 2 f + 1 it is more than all.
"""

GROUP = 16
"""Rows that go down a tree together, so that one need not wait while another's node is fetched."""
BLOCK = 16 * GROUP
"""Rows that go down one tree after the other, so that a tree is fetched once for all of them."""


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
def _go_down(
    ways: Ways, root: np.uint64, values: Array, start: np.uint64, width: np.uint64, nodes: Places
) -> None:
    """Take a group of rows from a tree's root to their leaves; only the last step can be mispredicted."""
    for i in range(GROUP):
        nodes[i] = root
    moved = np.uint64(1)
    while moved != np.uint64(0):
        moved = np.uint64(0)
        row = start
        for i in range(GROUP):
            node = nodes[i]
            way = ways[node]
            value = values[row + np.uint64(way.feature)]
            nodes[i] = np.uint64(way.next) + np.uint64(value > way.threshold)
            moved |= nodes[i] ^ node
            row += width


@kernel
def add_shares(
    ways: Ways, roots: Places, shares: Array, X: Array, values: Array, nodes: Places, sums: Array
) -> None:
    """Add to each row of `sums` the shares of its leaves, tree by tree in order.

    Scratch space: `values`, (n_block * 2 * n_features,) for a multiple of `GROUP` rows, and `nodes`, (GROUP,).
    """
    width = 2 * X.shape[1]
    n_block = len(values) // width
    for start in range(0, len(X), n_block):
        stop = min(start + n_block, len(X))
        _write_twice(X, start, stop, values)
        for root in roots:
            for first in range(start, stop, GROUP):
                _go_down(ways, root, values, np.uint64((first - start) * width), np.uint64(width), nodes)
                for i in range(min(GROUP, stop - first)):
                    for c in range(shares.shape[1]):
                        sums[first + i, c] += shares[nodes[i], c]

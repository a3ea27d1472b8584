"""Grow a decision tree until no split improves it."""

import numpy as np
import numpy.typing as npt

from feature_extractors._compiled import creating
from streamfs.classifiers._branches import divide, send, weigh
from streamfs.classifiers._columns import Entries
from streamfs.classifiers._evaluate import Array, Indices
from streamfs.classifiers._split import SMALL, TrainingTable, best_split

Grown = npt.NDArray[np.void]

GROWN = np.dtype(
    [
        ("feature", np.int64),
        ("low", np.int64),
        ("high", np.int64),
        ("first_child", np.int64),
        ("n_children", np.int64),
        ("share", np.float64),
    ]
)
"""A node while the tree grows.

The feature that it tests, -1 at a leaf; the places on both sides of a numeric cut; its first child, and the
number of adjacent children; and its share of its parent's known weight.
"""


@creating
def _copy(nodes: Grown, counts: Array, more_nodes: Grown, more_counts: Array) -> None:
    """Write nodes and their counts to longer arrays, one by one: arrays as a whole take long to compile."""
    for node in range(len(nodes)):
        more_nodes[node] = nodes[node]
        for label in range(counts.shape[1]):
            more_counts[node, label] = counts[node, label]


@creating
def _may_be_split(table: TrainingTable, counts: Array) -> bool:
    total, largest = 0.0, 0.0
    for count in counts:
        total += count
        largest = max(largest, count)
    return total >= 2 * table.min_leaf - SMALL and total - largest > SMALL


@creating
def _starts(table: TrainingTable, counts: Array, lengths: Indices) -> tuple[Indices, int]:
    """Return the start of the rows of each child, -1 if it is a leaf, and their total number."""
    starts, length = np.empty(len(lengths), dtype=np.int64), 0
    for child in range(len(lengths)):
        starts[child] = -1
        if _may_be_split(table, counts[child]):
            starts[child] = length
            length += lengths[child]
    return starts, length


@creating
def _add_children(nodes: Grown, node: int, test: tuple[int, int, int], first_child: int, shares: Array) -> None:
    """Write the test of a node, and its children, leaves for now."""
    nodes["feature"][node], nodes["low"][node], nodes["high"][node] = test
    nodes["first_child"][node], nodes["n_children"][node] = first_child, len(shares)
    for child, share in enumerate(shares):
        nodes["feature"][first_child + child], nodes["share"][first_child + child] = -1, share


@creating
def grow(table: TrainingTable, orders: Entries, weights: Array) -> tuple[Grown, Array]:
    """Return a tree's nodes, (n_nodes,), parents before their children, and the weight of each class in each."""
    n = len(weights)
    nodes, counts, n_nodes = np.zeros(64, GROWN), np.zeros((64, table.n_classes)), 1
    nodes["feature"][0], nodes["share"][0] = -1, 1.0
    for row in range(n):
        counts[0, table.labels[row]] += weights[row]
    here, of_row = np.empty(n), np.empty(n, dtype=np.int64)
    pending = [(0, orders, weights, 0, n)]
    if not _may_be_split(table, counts[0]):
        pending.pop()
    while len(pending) > 0:
        node, orders, weights, start, stop = pending.pop()
        for position in range(start, stop):
            here[orders[-1, position]["row"]] = weights[position]
        test = best_split(table, orders, start, stop, here, counts[node])
        if test[0] < 0:
            continue
        branches = send(table, test[0], test[1], orders[test[0]][start:stop], of_row)
        while n_nodes + len(branches.shares) > len(nodes):
            few, fewer = nodes, counts
            nodes, counts = np.zeros(2 * len(few), GROWN), np.zeros((2 * len(few), table.n_classes))
            _copy(few, fewer, nodes, counts)
        weigh(table, orders[-1][start:stop], here, branches, counts[n_nodes:])
        starts, length = _starts(table, counts[n_nodes:], branches.lengths)
        divided, divided_weights = divide(orders, start, stop, here, branches, starts, length)
        _add_children(nodes, node, test, n_nodes, branches.shares)
        for child, first in enumerate(starts):
            if first >= 0:
                stop = first + branches.lengths[child]
                pending.append((n_nodes + child, divided, divided_weights, first, stop))
        n_nodes += len(starts)
    return nodes[:n_nodes], counts[:n_nodes]

"""Grow a decision tree until no split improves it."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel
from streamfs.classifiers._branches import Branches, divide, new_branches, send, weigh
from streamfs.classifiers._columns import Entries
from streamfs.classifiers._split import SMALL, SplitScratch, TrainingTable, best_split, new_scratch

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


PENDING = np.dtype([("node", np.int64), ("start", np.int64), ("stop", np.int64)])
"""A node that may be split, and the places of its rows."""


class Growth(NamedTuple):
    """A tree that grows, as far as its room goes.

    The nodes that may be split are a stack, `pending`, (most_nodes,), and so are their rows: those of the last one
    are the last, and when it is split, those of its children take their places.
    """

    nodes: Grown  # (most_nodes,)
    counts: Array  # of each class in each node, (most_nodes, n_classes)
    pending: npt.NDArray[np.void]  # (most_nodes,)
    orders: Entries  # (n_features + 1, most_rows), each by a feature's value, the last in the order of the table
    weights: Array  # (most_rows,)
    here: Array  # scratch: the weights by row, (n,)
    sizes: Integers  # numbers of nodes and pending nodes; numbers of nodes and rows that there must be room for


@kernel
def _may_be_split(table: TrainingTable, counts: Array) -> bool:
    total, largest = 0.0, 0.0
    for count in counts:
        total += count
        largest = max(largest, count)
    return total >= 2 * table.min_leaf - SMALL and total - largest > SMALL


@kernel
def _find_starts(table: TrainingTable, counts: Array, branches: Branches, start: int) -> int:
    """Find where the rows of each child start, -1 if it is a leaf; return the end of the last."""
    for child in range(len(counts)):
        branches.starts[child] = -1
        if _may_be_split(table, counts[child]):
            branches.starts[child] = start
            start += branches.lengths[child]
    return start


@kernel
def _add_children(growth: Growth, node: int, branches: Branches, n_children: int) -> None:
    """Add a node's children, leaves for now, and let those that may be split wait."""
    nodes, pending, n_nodes = growth.nodes, growth.pending, growth.sizes[0]
    nodes[node].first_child, nodes[node].n_children = n_nodes, n_children
    for child in range(n_children):
        nodes[n_nodes + child].feature, nodes[n_nodes + child].share = -1, branches.shares[child]
        start, last = branches.starts[child], growth.sizes[1]
        if start >= 0:
            pending[last].node, pending[last].start = n_nodes + child, start
            pending[last].stop = start + branches.lengths[child]
            growth.sizes[1] += 1
    growth.sizes[0] += n_children


@kernel
def _split(table: TrainingTable, growth: Growth, scratch: SplitScratch, branches: Branches) -> bool:
    """Split the last node that waits, if that improves it; return whether there was room for its children."""
    last, n_nodes = growth.sizes[1] - 1, growth.sizes[0]
    node, start, stop = growth.pending[last].node, growth.pending[last].start, growth.pending[last].stop
    rows = growth.orders[-1][start:stop]
    for position in range(len(rows)):
        growth.here[rows[position].row] = growth.weights[start + position]
    feature, low, high = best_split(table, growth.orders, start, stop, growth.here, growth.counts[node], scratch)
    if feature < 0:
        growth.sizes[1] = last
        return True
    n_children = send(table, feature, low, growth.orders[feature][start:stop], branches)
    growth.sizes[2] = n_nodes + n_children
    if growth.sizes[2] > len(growth.nodes):
        return False
    counts = growth.counts[n_nodes : n_nodes + n_children]
    weigh(table, rows, growth.here, branches, counts)
    growth.sizes[3] = _find_starts(table, counts, branches, start)
    if growth.sizes[3] > len(growth.weights):
        return False
    divide(growth.orders, start, stop, growth.here, branches, n_children, growth.weights)
    growth.nodes[node].feature, growth.nodes[node].low, growth.nodes[node].high = feature, low, high
    growth.sizes[1] = last
    _add_children(growth, node, branches, n_children)
    return True


@kernel
def grow_on(table: TrainingTable, growth: Growth, scratch: SplitScratch, branches: Branches) -> bool:
    """Grow a tree until no split improves it, or it lacks room; return whether it is done."""
    while growth.sizes[1] > 0:
        has_room = _split(table, growth, scratch, branches)
        if not has_room:
            return False
    return True


@kernel
def begin(table: TrainingTable, growth: Growth) -> None:
    """Make a leaf of all rows, which may be split."""
    growth.nodes[0].feature, growth.nodes[0].share, growth.sizes[0] = -1, 1.0, 1
    for row in range(len(table.labels)):
        growth.counts[0, table.labels[row]] += growth.weights[row]
    growth.pending[0].stop = len(table.labels)
    growth.sizes[1] = int(_may_be_split(table, growth.counts[0]))


def grow(table: TrainingTable, orders: Entries, weights: Array) -> tuple[Grown, Array]:
    """Return a tree's nodes, (n_nodes,), parents before their children, and the weight of each class in each.

    The orders are changed.
    """
    n, n_features = len(weights), len(orders) - 1
    nodes, pending = np.zeros(64, GROWN), np.zeros(64, PENDING)
    counts, sizes = np.zeros((64, table.n_classes)), np.zeros(4, dtype=np.int64)
    growth = Growth(nodes, counts, pending, orders, weights.copy(), np.empty(n), sizes)
    scratch = new_scratch(n_features, table.n_classes)
    branches = new_branches(n, int(table.n_values[table.nominal].max(initial=2)))
    begin(table, growth)
    while not grow_on(table, growth, scratch, branches):
        growth = _with_room(growth)
    n_nodes = growth.sizes[0]
    return growth.nodes[:n_nodes].copy(), growth.counts[:n_nodes].copy()


def _with_room(growth: Growth) -> Growth:
    """Return a tree with the room that it lacks, at least twice as much of it."""
    most_nodes, most_rows = (
        length if wanted <= length else max(2 * length, wanted)
        for wanted, length in zip(growth.sizes[2:].tolist(), (len(growth.nodes), len(growth.weights)), strict=True)
    )
    orders = np.zeros((len(growth.orders), most_rows), growth.orders.dtype)
    orders[:, : len(growth.weights)] = growth.orders
    nodes, pending, counts = (_longer(each, most_nodes) for each in (growth.nodes, growth.pending, growth.counts))
    weights = _longer(growth.weights, most_rows)
    return growth._replace(nodes=nodes, pending=pending, counts=counts, orders=orders, weights=weights)


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Return an array with zeros at its end."""
    return np.concatenate([array, np.zeros((length - len(array), *array.shape[1:]), array.dtype)])

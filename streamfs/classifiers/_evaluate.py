"""The compiled evaluation of a flat tree."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors._compiled import creating, inlined
from feature_extractors.arrays import Array, Integers

Nodes = npt.NDArray[Any]
Ways = npt.NDArray[Any]

NODE = np.dtype(
    [
        ("feature", np.int64),
        ("nominal", np.int64),
        ("threshold", np.float64),
        ("first_child", np.int64),
        ("n_children", np.int64),
        ("code", np.float64),
        ("share", np.float64),
    ]
)
"""A node, as `Tree` describes it."""

WAY = np.dtype(
    [
        ("feature", np.int64),
        ("threshold", np.float64),
        ("next", np.int64),
        ("is_leaf", np.int64),
        ("likeliest", np.int64),
        ("confidence", np.float64),
    ]
)
"""The step from any node: to `next`, or to the node after it for a value above the threshold.

Leaves and nominal tests lead to themselves. The likeliest class and its probability are as if it were a leaf.
"""


class FlatTree(NamedTuple):
    """A tree as kernels read it: nodes and branches of shape (n_nodes,), class probabilities of each as a leaf."""

    nodes: Nodes
    branches: Ways
    shares: Array
    depth: int


@inlined
def _child_of(nodes: Nodes, node: int, value: float) -> int:
    """Return the child of a nominal test that has a code; -1 for a missing value or an unseen code."""
    first = nodes[node].first_child
    for child in range(first, first + nodes[node].n_children):
        if nodes[child].code == value:
            return child
    return -1


@inlined
def _descend(nodes: Nodes, node: int, X: Array, row: int) -> int:
    """Go down from a node by the values of a row: to a leaf, or to a test whose value is missing."""
    while nodes[node].feature >= 0:
        value = X[row, nodes[node].feature]
        if nodes[node].nominal:
            child = _child_of(nodes, node, value)
            if child < 0:
                break
            node = child
        elif np.isnan(value):
            break
        else:
            node = nodes[node].first_child + (value > nodes[node].threshold)
    return node


@creating
def spread(
    nodes: Nodes, shares: Array, X: Array, row: int, stack: Integers, weights: Array, result: Array, to: int
) -> None:
    """Write the class probabilities of row `row` to row `to` of the result.

    At a test of a missing value, every branch is followed with its share of the weight. A node is met at most
    once, so that the stack of pending nodes never outgrows the tree.
    """
    for c in range(shares.shape[1]):
        result[to, c] = 0.0
    stack[0] = 0
    weights[0] = 1.0
    n_pending = 1
    while n_pending > 0:
        n_pending -= 1
        weight = weights[n_pending]
        node = _descend(nodes, stack[n_pending], X, row)
        if nodes[node].feature < 0:
            for c in range(shares.shape[1]):
                result[to, c] += weight * shares[node, c]
            continue
        first = nodes[node].first_child
        for child in range(first + nodes[node].n_children - 1, first - 1, -1):
            if nodes[child].share > 0.0:
                stack[n_pending] = child
                weights[n_pending] = weight * nodes[child].share
                n_pending += 1


@inlined
def _walk(ways: Ways, depth: int, X: Array, row: int) -> int:
    """Return the node that a row reaches by numeric tests alone; -1 if a value is missing. It has no branches."""
    node = 0
    is_missing = False
    for _ in range(depth):
        value = X[row, ways[node].feature]
        is_missing |= np.isnan(value)
        node = ways[node].next + (value > ways[node].threshold)
    return -1 if is_missing else node


@inlined
def likeliest(
    ways: Ways,
    depth: int,
    nodes: Nodes,
    shares: Array,
    X: Array,
    row: int,
    stack: Integers,
    weights: Array,
    result: Array,
) -> tuple[int, float]:
    """Return a row's likeliest class, the first among equals, and its probability; the last three are scratch."""
    node = _walk(ways, depth, X, row)
    if node >= 0 and ways[node].is_leaf:
        return ways[node].likeliest, ways[node].confidence
    spread(nodes, shares, X, row, stack, weights, result, 0)
    best = np.argmax(result[0])
    return int(best), float(result[0, best])


def probabilities(nodes: Nodes, shares: Array, X: Array) -> Array:
    """Return the class probabilities of each row of X, shape (n, n_classes)."""
    result = np.empty((len(X), shares.shape[1]))
    spread_rows(nodes, shares, X, np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes)), result)
    return result


@creating
def spread_rows(nodes: Nodes, shares: Array, X: Array, stack: Integers, weights: Array, result: Array) -> None:
    """Write the class probabilities of each row."""
    for row in range(len(X)):
        spread(nodes, shares, X, row, stack, weights, result, row)

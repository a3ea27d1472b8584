"""Cutting a grown tree back, and laying it out as flat tables."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from streamfs.classifiers._evaluate import Array
from streamfs.classifiers._grow import Node
from streamfs.classifiers.tree import Tree


def added_errors(weight: float, errors: float, confidence_factor: float) -> float:
    """Return by how much the true errors of a leaf may exceed those seen in training.

    The upper confidence limit of the binomial, as C4.5 computes it (J48's `Stats.addErrs`): exact without
    errors, interpolated below one error and near the top, else the normal approximation.

    Parameters
    ----------
    weight : float
        Training weight of the leaf.
    errors : float
        Weight of the training rows that the leaf gets wrong.
    confidence_factor : float
        Probability of exceeding the limit, in (0, 0.5].

    Examples
    --------
    >>> round(added_errors(6.0, 0.0, 0.25), 3)
    1.238
    """
    if errors < 1.0:
        none = weight * (1.0 - math.pow(confidence_factor, 1.0 / weight))
        if errors == 0.0:
            return none
        return none + errors * (added_errors(weight, 1.0, confidence_factor) - none)
    if errors + 0.5 >= weight:
        return max(weight - errors, 0.0)
    z = NormalDist().inv_cdf(1.0 - confidence_factor)
    f = (errors + 0.5) / weight
    spread = z * math.sqrt(f / weight - f * f / weight + z * z / (4.0 * weight * weight))
    return (f + z * z / (2.0 * weight) + spread) / (1.0 + z * z / weight) * weight - errors


def collapse(nodes: Sequence[Node]) -> None:
    """Make a leaf of each node whose subtree makes no fewer training errors than the leaf would.

    Parameters
    ----------
    nodes : sequence of Node
        Parents before their children; changed in place.
    """
    errors: dict[Node, float] = {}
    for node in reversed(nodes):
        as_leaf = _training_errors(node.counts)
        errors[node] = sum(errors[child] for child in node.children) if node.children else as_leaf
        if errors[node] >= as_leaf - 1e-3:
            _cut(node)


def prune(nodes: Sequence[Node], confidence_factor: float) -> None:
    """Make a leaf of each node that as a leaf would err no more than its subtree by more than 0.1, estimated.

    Parameters
    ----------
    nodes : sequence of Node
        Parents before their children; changed in place.
    confidence_factor : float
        See `added_errors`.
    """
    errors: dict[Node, float] = {}
    for node in reversed(nodes):
        as_leaf = _estimated_errors(node.counts, confidence_factor)
        below = sum(errors[child] for child in node.children)
        if not node.children or as_leaf <= below + 0.1:
            _cut(node)
            errors[node] = as_leaf
        else:
            errors[node] = below


def flatten(root: Node, *, laplace: bool) -> Tree:
    """Return the tables of the tree below the root; an empty leaf predicts what its parent would."""
    nodes, first_child, counts = [root], [0], [root.counts]
    for index, node in enumerate(nodes):
        if node.children:
            first_child[index] = len(nodes)
        for child in node.children:
            nodes.append(child)
            first_child.append(0)
            counts.append(child.counts if child.counts.any() else node.counts)
    return Tree(
        feature=np.array([node.feature for node in nodes], dtype=np.int64),
        nominal=np.array([node.nominal for node in nodes], dtype=np.bool_),
        threshold=np.array([node.threshold for node in nodes]),
        first_child=np.array(first_child, dtype=np.int64),
        n_children=np.array([len(node.children) for node in nodes], dtype=np.int64),
        code=np.array([node.code for node in nodes]),
        share=np.array([node.share for node in nodes]),
        counts=np.array(counts),
        laplace=laplace,
    )


def _cut(node: Node) -> None:
    node.feature, node.nominal, node.threshold, node.children = -1, False, 0.0, []


def _training_errors(counts: Array) -> float:
    return float(counts.sum() - counts.max())


def _estimated_errors(counts: Array, confidence_factor: float) -> float:
    weight, errors = float(counts.sum()), _training_errors(counts)
    return errors + added_errors(weight, errors, confidence_factor) if weight > 0.0 else 0.0

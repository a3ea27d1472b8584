"""Lay out a grown tree as the flat tables of `Tree`."""

from collections.abc import Sequence

import numpy as np

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.classifiers._grow import Grown
from streamfs.classifiers.tree import Tree


def lay_out(nodes: Grown, counts: Array, values: Sequence[Array], nominal: Flags, *, laplace: bool) -> Tree:
    """Return a tree's tables without the nodes below leaves; an empty leaf predicts its parent's class."""
    kept, parents = _by_level(nodes)
    feature, n_children = nodes["feature"][kept], nodes["n_children"][kept]
    is_inner = feature >= 0
    n_children[~is_inner] = 0
    is_empty = ~counts[kept].any(axis=1, keepdims=True)
    return Tree(
        feature=feature,
        nominal=is_inner & nominal[feature],
        threshold=_thresholds(nodes[kept], values, nominal),
        first_child=np.where(is_inner, 1 + np.cumsum(n_children) - n_children, 0),
        n_children=n_children,
        code=_codes(np.array(kept), nodes[parents], values, nominal),
        share=nodes["share"][kept],
        counts=np.where(is_empty, counts[parents], counts[kept]),
        laplace=laplace,
    )


def _by_level(nodes: Grown) -> tuple[list[int], list[int]]:
    """Return the nodes of the tree, the root first and each level after the one above, and their parents."""
    feature, first_child, n_children = (nodes[name].tolist() for name in ("feature", "first_child", "n_children"))
    kept, parents = [0], [0]
    for node in kept:
        if feature[node] >= 0:
            kept += range(first_child[node], first_child[node] + n_children[node])
            parents += [node] * n_children[node]
    return kept, parents


def _thresholds(nodes: Grown, values: Sequence[Array], nominal: Flags) -> Array:
    """Return the largest training value that is not above the midpoint of each numeric cut."""
    result = np.zeros(len(nodes))
    for feature in np.flatnonzero(~nominal).tolist():
        cut = nodes["feature"] == feature
        low, high = (values[feature][nodes[side][cut]] for side in ("low", "high"))
        middle = low / 2 + high / 2
        below = values[feature][np.searchsorted(values[feature], middle, side="right") - 1]
        result[cut] = np.where((low <= middle) & (middle < high), below, low)  # they may be neighbours
    return result


def _codes(kept: Integers, parents: Grown, values: Sequence[Array], nominal: Flags) -> Array:
    """Return the value of its parent's nominal feature that leads to each node."""
    result = np.zeros(len(kept))
    for feature in np.flatnonzero(nominal).tolist():
        below = parents["feature"] == feature
        below[0] = False  # the root has no parent
        result[below] = values[feature][(kept - parents["first_child"])[below]]
    return result

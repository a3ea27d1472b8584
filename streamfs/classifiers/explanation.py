"""Why a tree or a forest says what it says of a row, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from feature_extractors.arrays import Array, Integers

if TYPE_CHECKING:
    from streamfs.classifiers.forest import Forest
    from streamfs.classifiers.tree import Tree

MOST_NAMED = 4
"""Features that are named of those that a forest's trees ask for."""


def tree_path(tree: "Tree", values: Array, features: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Return the tests that a row meets, root first, and the class that its leaf states.

    Where a value is missing, or its code unknown, all branches count; the one with the largest share is followed.
    """
    lines, node = [], 0
    while tree.feature[node] >= 0:
        tested = int(tree.feature[node])
        node, said = _step(tree, node, float(values[tested]))
        lines.append(f"{features[tested]} {said}")
    confidence, likeliest = tree.confidence[node], int(tree.confidence[node].argmax())
    return [*lines, f"so it is {classes[likeliest]}, by {100 * confidence[likeliest]:.3g} %"]


def _step(tree: "Tree", node: int, value: float) -> tuple[int, str]:
    """Return the child that a value leads to, and what is said of the value."""
    first, threshold = int(tree.first_child[node]), tree.threshold[node]
    children = np.arange(first, first + int(tree.n_children[node]))
    fitting = children[tree.code[children] == value] if tree.nominal[node] else children[[int(value > threshold)]]
    if np.isnan(value) or not fitting.size:
        likeliest = int(children[tree.share[children].argmax()])
        return likeliest, "is not known: all branches count, and the likeliest is followed here"
    if tree.nominal[node]:
        return int(fitting[0]), f"is {value:.4g}"
    return int(fitting[0]), f"is {value:.4g}, {'' if value > threshold else 'not '}above {threshold:.4g}"


def forest_leaves(forest: "Forest", values: Array) -> tuple[Integers, Integers]:
    """Return the leaf of each tree that a row reaches, and how many tests of each feature it meets on the way."""
    at, asked = forest.roots.copy(), np.zeros(len(values), dtype=np.int64)
    while (inner := np.flatnonzero(forest.feature[at] >= 0)).size:
        nodes = at[inner]
        tested = forest.feature[nodes]
        np.add.at(asked, tested, 1)
        beyond = forest.first_child[nodes] + (values[tested] > forest.threshold[nodes])
        at[inner] = np.where(np.isnan(values[tested]), forest.missing_child[nodes], beyond)
    return at, asked


def forest_votes(forest: "Forest", values: Array, features: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Return how many trees are for each class, and the values that they ask for most often."""
    leaves, asked = forest_leaves(forest, values)
    votes = np.bincount(forest.shares[leaves].argmax(axis=1), minlength=len(classes))
    said = [f"{votes[place]} say {classes[place]}" for place in np.argsort(-votes, kind="stable") if votes[place]]
    often = [place for place in np.argsort(-asked, kind="stable")[:MOST_NAMED].tolist() if asked[place]]
    values_asked = [f"{features[place]} is {values[place]:.4g} (asked {asked[place]} times)" for place in often]
    return [f"of {forest.n_trees} trees {' and '.join(said)}", *values_asked]

"""The tables of trees and forests, as exported models read them."""

import numpy as np
import numpy.typing as npt

from streamfs.classifiers._evaluate import FlatTree
from streamfs.classifiers._forest import FlatForest


def are_tests(forest: FlatForest) -> npt.NDArray[np.bool_]:
    """Return which nodes are tests; a leaf leads to itself."""
    found: npt.NDArray[np.bool_] = forest.ways["next"] != np.arange(len(forest.ways))
    return found


def packed(forest: FlatForest) -> tuple[dict[str, npt.NDArray[np.int64]], npt.NDArray[np.float64]]:
    """Return a forest as `on_node.sum_shares` reads it: tables of its tests and roots, and the distinct shares."""
    tests = are_tests(forest)
    shares, rows = np.unique(forest.shares[~tests], axis=0, return_inverse=True)
    numbers = np.empty(len(tests), dtype=np.int64)
    numbers[tests] = np.arange(tests.sum())
    numbers[~tests] = -1 - rows.ravel()
    first = forest.ways["next"][tests].astype(np.int64)
    features = forest.ways["feature"][tests].astype(np.int64)
    tables = {"features": features, "below": numbers[first], "above": numbers[first + 1]}
    return {**tables, "roots": numbers[forest.roots.astype(np.int64)]}, shares


def most_pending(tree: FlatTree) -> int:
    """Return the greatest length of the stack of pending nodes, for any values."""
    nodes, most = tree.nodes, np.ones(len(tree.nodes), dtype=np.int64)
    for node in reversed(range(len(nodes))):  # children stand behind their parents
        first = int(nodes["first_child"][node])
        children = range(first, first + int(nodes["n_children"][node]))
        spread = [child for child in children if nodes["share"][child] > 0.0]
        known = [int(most[child]) for child in children]
        missing = [int(most[child]) + len(spread) - 1 - place for place, child in enumerate(spread)]
        most[node] = max([1, *known, *missing])
    return int(most[0])

"""The classifier's part of the engine's kernels: the likeliest class of streams, by a tree or a forest."""

from typing import Any

import numpy as np

from feature_extractors._compiled import carray, inlined, pointer
from streamfs.classifiers._calibration import CALIBRATION, likeliest_class
from streamfs.classifiers._evaluate import NODE, likeliest
from streamfs.classifiers._evaluate import WAY as TREE_WAY
from streamfs.classifiers._forest import GROUP, write_probabilities
from streamfs.classifiers._forest import WAY as FOREST_WAY
from streamfs.engine._arena import ANSWER


@inlined
def ask_tree(arena: Any, n_rows: int) -> None:
    """Write a tree's answers for the first rows of the block's values."""
    answers = carray(pointer(arena.answers), n_rows, ANSWER)
    values = carray(pointer(arena.values), (n_rows, arena.n_features), np.float64)
    branches = carray(pointer(arena.branches), arena.n_nodes, TREE_WAY)
    nodes = carray(pointer(arena.nodes), arena.n_nodes, NODE)
    shares = carray(pointer(arena.shares), (arena.n_nodes, arena.n_classes), np.float64)
    stack = carray(pointer(arena.stack), arena.n_nodes, np.int64)
    weights = carray(pointer(arena.weights), arena.n_nodes, np.float64)
    result = carray(pointer(arena.result), (1, arena.n_classes), np.float64)
    depth = arena.depth
    for row in range(n_rows):
        label, confidence = likeliest(branches, depth, nodes, shares, values, row, stack, weights, result)
        answers[row].label = label
        answers[row].confidence = confidence


@inlined
def ask_forest(arena: Any, n_rows: int) -> None:
    """Write a forest's answers for the first rows of the block's values."""
    answers = carray(pointer(arena.answers), n_rows, ANSWER)
    result = carray(pointer(arena.result), (n_rows, arena.n_classes), np.float64)
    write_probabilities(
        carray(pointer(arena.ways), arena.n_nodes, FOREST_WAY),
        carray(pointer(arena.shares), (arena.n_nodes, arena.n_classes), np.float64),
        carray(pointer(arena.roots), arena.n_trees, np.uint64),
        carray(pointer(arena.calibration), 1, CALIBRATION),
        arena.adds,
        carray(pointer(arena.values), (n_rows, arena.n_features), np.float64),
        carray(pointer(arena.twice), arena.n_twice, np.float64),
        carray(pointer(arena.places), GROUP, np.uint64),
        carray(pointer(arena.means), (n_rows, arena.n_classes), np.float64),
        result,
    )
    for row in range(n_rows):
        label = likeliest_class(result, row)
        answers[row].label = label
        answers[row].confidence = result[row, label]

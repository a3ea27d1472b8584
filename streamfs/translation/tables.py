"""The tables of trees and forests, as exported models read them."""

from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamfs.classifiers._evaluate import FlatTree
from streamfs.classifiers._forest import FlatForest

MOST_STEPS = 2**15 - 2


class PackedForest(NamedTuple):
    """A forest as `on_node.sum_shares` reads it.

    Parameters
    ----------
    thresholds : ndarray
        Of each test, tree by tree, those of the branch below before those of the branch above.
    tables : dict of str to ndarray
        Whole numbers: the features of the tests, and how many tests are in the branch below each; the row of the
        shares of each leaf, in the same order; and the number of tests of each tree.
    shares : ndarray
        The distinct class probabilities of leaves.
    """

    thresholds: npt.NDArray[Any]
    tables: dict[str, npt.NDArray[np.int64]]
    shares: npt.NDArray[np.float64]


def packed(forest: FlatForest) -> PackedForest:
    """Return the tables of a forest."""
    ways, following = forest.ways, forest.ways["next"].tolist()
    tests, skips, leaves, sizes = list[int](), list[int](), list[int](), list[int]()
    for root in forest.roots.tolist():
        sizes.append(-len(tests))
        ahead: list[tuple[int, int]] = [(root, -1)]  # nodes to visit, and the test whose branch below ends there
        while ahead:
            node, ended = ahead.pop()
            if ended >= 0:
                skips[ended] = len(tests) - ended - 1
            if following[node] == node:
                leaves.append(node)
                continue
            first = following[node]
            ahead += [(first + 1, len(tests)), (first, -1)]
            tests.append(node)
            skips.append(0)
        sizes[-1] += len(tests)
    shares, rows = np.unique(forest.shares[leaves], axis=0, return_inverse=True)
    tables = {"features": ways["feature"][tests], "skips": skips, "rows": rows.ravel(), "sizes": sizes}
    whole = {name: np.array(table, dtype=np.int64) for name, table in tables.items()}
    return PackedForest(ways["threshold"][tests], whole, shares)


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


def whole_thresholds(
    thresholds: npt.NDArray[np.float64], steps: npt.NDArray[np.float64]
) -> npt.NDArray[np.int16] | None:
    """Return the thresholds in steps of their features' grids: the same multiples of the step are above them.

    None if one is out of the range of 16 bits, or so near to a multiple that its rounding decides.
    """
    least = np.floor(thresholds / steps)
    if not (np.abs(least) < MOST_STEPS).all():
        return None
    found = np.empty(len(thresholds), dtype=np.int16)
    for place, (threshold, step, k) in enumerate(zip(thresholds, steps, least.astype(int).tolist(), strict=True)):
        near = [k - 1, k, k + 1]
        below = [n * step <= threshold for n in near]
        if below != [float(n * Decimal(repr(float(step)))) <= threshold for n in near]:
            return None
        found[place] = near[sum(below) - 1]
    return found

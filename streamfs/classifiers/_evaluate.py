"""The compiled evaluation of a flat tree."""

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _branch(
    node: int,
    value: float,
    nominal: Flags,
    threshold: Array,
    first_child: Indices,
    n_children: Indices,
    code: Array,
) -> int:
    """Return the child to which a value goes; -1 for a missing value or an unseen code."""
    first = int(first_child[node])
    if nominal[node]:
        for child in range(first, first + n_children[node]):
            if code[child] == value:
                return child
        return -1
    if np.isnan(value):
        return -1
    return first if value <= threshold[node] else first + 1


@njit(cache=True, nogil=True)
def probabilities(
    feature: Indices,
    nominal: Flags,
    threshold: Array,
    first_child: Indices,
    n_children: Indices,
    code: Array,
    share: Array,
    confidence: Array,
    X: Array,
) -> Array:
    """Return the class probabilities of each row of X, shape (n, n_classes).

    A row goes down every branch of a node whose feature it lacks, each with the branch's share of its weight.
    It meets a node at most once, so that the stack of nodes still to be visited never outgrows the tree.
    """
    n_classes = confidence.shape[1]
    result = np.zeros((len(X), n_classes))
    stack = np.empty(len(feature), dtype=np.int64)
    weights = np.empty(len(feature))
    for row in range(len(X)):
        stack[0] = 0
        weights[0] = 1.0
        n_pending = 1
        while n_pending > 0:
            n_pending -= 1
            node = stack[n_pending]
            weight = weights[n_pending]
            while feature[node] >= 0:
                child = _branch(node, X[row, feature[node]], nominal, threshold, first_child, n_children, code)
                if child < 0:
                    break
                node = child
            if feature[node] < 0:
                for c in range(n_classes):
                    result[row, c] += weight * confidence[node, c]
                continue
            for child in range(first_child[node] + n_children[node] - 1, first_child[node] - 1, -1):
                if share[child] > 0.0:
                    stack[n_pending] = child
                    weights[n_pending] = weight * share[child]
                    n_pending += 1
    return result

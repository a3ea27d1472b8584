"""Cutting a grown tree back."""

import math
from statistics import NormalDist

import numpy as np

from feature_extractors.arrays import Array
from streamfs.base._compiled import kernel
from streamfs.classifiers._grow import Grown


@kernel
def _limit(weight: float, errors: float, z: float) -> float:
    """Return what is added to at least one error; z is the quantile of the normal distribution."""
    if errors + 0.5 >= weight:
        return max(weight - errors, 0.0)
    f = (errors + 0.5) / weight
    spread = z * math.sqrt(f / weight - f * f / weight + z * z / (4.0 * weight * weight))
    return (f + z * z / (2.0 * weight) + spread) / (1.0 + z * z / weight) * weight - errors


@kernel
def added_errors(weight: float, errors: float, confidence_factor: float, quantile: float) -> float:
    """Return by how much the true errors of a leaf may exceed those seen in training.

    The upper confidence limit of the binomial, as C4.5 computes it (J48's `Stats.addErrs`): exact without errors,
    interpolated below one error and near the top, else the normal approximation. A standard normal variable
    exceeds `quantile` with probability `confidence_factor`, in (0, 0.5].
    """
    if errors >= 1.0:
        return float(_limit(weight, errors, quantile))
    none = weight * (1.0 - math.pow(confidence_factor, 1.0 / weight))
    if errors == 0.0:
        return none
    return float(none + errors * (_limit(weight, 1.0, quantile) - none))


@kernel
def cut_back(
    nodes: Grown, counts: Array, confidence_factor: float, quantile: float, seen: Array, estimated: Array
) -> None:
    """Make leaves of subtrees; `seen` and `estimated`, zeros of shape (n_nodes,), become the errors of each."""
    for node in range(len(nodes) - 1, -1, -1):
        weight, largest = 0.0, 0.0
        for count in counts[node]:
            weight += count
            largest = max(largest, count)
        leaf = weight - largest
        estimated_leaf = leaf + added_errors(weight, leaf, confidence_factor, quantile) if weight > 0.0 else 0.0
        if nodes[node].feature >= 0:
            first = nodes[node].first_child
            for child in range(first, first + nodes[node].n_children):
                seen[node] += seen[child]
                estimated[node] += estimated[child]
            if seen[node] < leaf - 1e-3 and estimated_leaf > estimated[node] + 0.1:
                continue
            nodes[node].feature = -1
        else:
            seen[node] = leaf
        estimated[node] = estimated_leaf


def prune(nodes: Grown, counts: Array, confidence_factor: float) -> None:
    """Replace subtrees by leaves, from the bottom up, in place.

    Those go that make no fewer training errors than a leaf, or whose estimated errors are not lower by more than
    0.1.
    """
    seen, estimated = np.zeros(len(nodes)), np.zeros(len(nodes))
    cut_back(nodes, counts, confidence_factor, NormalDist().inv_cdf(1.0 - confidence_factor), seen, estimated)

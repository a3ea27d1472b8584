"""Candidate splits of a node, one a feature, and the choice among them."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from streamfs.classifiers._evaluate import Array, Flags, Indices

SMALL = 1e-6
"""Below it J48 takes two weights or two gains to be equal."""


class Candidates(NamedTuple):
    """The best split on each feature; arrays of shape (n_features,).

    `gain` in bits, NaN where the feature offers no split; `information`, the split information in bits, unknown
    values being a branch of their own; `low` and `high`, the values on both sides of a numeric cut.
    """

    gain: Array
    information: Array
    low: Array
    high: Array


@njit(cache=True, nogil=True)
def _x_log_x(x: float) -> float:
    return x * math.log2(x) if x > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _disorder(counts: Array) -> float:
    """Return the entropy of a group times its weight, in bits."""
    total = 0.0
    result = 0.0
    for count in counts:
        total += count
        result -= _x_log_x(count)
    return float(result + _x_log_x(total))


@njit(cache=True, nogil=True)
def _numeric(
    values: Array, order: Indices, n_known: int, labels: Indices, weights: Array, known: Array, least: float
) -> tuple[float, int, int]:
    """Return the largest fall in disorder, the last position of its first branch, and the number of cuts tried."""
    left = np.zeros_like(known)
    right = known.copy()
    left_weight = 0.0
    right_weight = known.sum()
    whole = _disorder(known)
    best_fall, best_position, n_cuts = 0.0, -1, 0
    total = weights[order].sum()
    for position in range(n_known - 1):
        row = order[position]
        left[labels[row]] += weights[row]
        right[labels[row]] -= weights[row]
        left_weight += weights[row]
        right_weight -= weights[row]
        if values[row] == values[order[position + 1]]:
            continue
        if left_weight < least - SMALL or right_weight < least - SMALL:
            continue
        n_cuts += 1
        fall = whole - _disorder(left) - _disorder(right)
        if fall > best_fall + SMALL * total:
            best_fall, best_position = fall, position
    return best_fall, best_position, n_cuts


@njit(cache=True, nogil=True)
def _nominal(
    values: Array, order: Indices, n_known: int, labels: Indices, weights: Array, known: Array, least: float
) -> tuple[float, float, int]:
    """Return the fall in disorder, the branches' sum of w log w, and how many of them are large enough."""
    fall = _disorder(known)
    sizes = 0.0
    n_large = 0
    branch = np.zeros_like(known)
    for position in range(n_known):
        row = order[position]
        branch[labels[row]] += weights[row]
        if position + 1 == n_known or values[order[position + 1]] != values[row]:
            weight = branch.sum()
            fall -= _disorder(branch)
            sizes += _x_log_x(weight)
            n_large += weight >= least - SMALL
            branch[:] = 0.0
    return fall, sizes, n_large


@njit(cache=True, nogil=True)
def _known(values: Array, order: Indices, labels: Indices, weights: Array, n_classes: int) -> tuple[int, Array]:
    """Return how many rows have a value, and their weight in each class; missing values stand last."""
    counts = np.zeros(n_classes)
    for position in range(len(order)):
        row = order[position]
        if np.isnan(values[row]):
            return position, counts
        counts[labels[row]] += weights[row]
    return len(order), counts


@njit(cache=True, nogil=True)
def candidates(
    columns: Array,
    orders: Indices,
    labels: Indices,
    weights: Array,
    nominal: Flags,
    n_classes: int,
    min_leaf: float,
) -> tuple[Array, Array, Array, Array]:
    """Return the fields of `Candidates`.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
        Values; NaN is missing.
    orders : ndarray, shape (n_features, m)
        The node's rows in the order of each feature's values, missing ones last.
    labels, weights : ndarray, shape (n,)
        Class and weight in this node of each row.
    nominal : ndarray, shape (n_features,)
        Which features are nominal.
    """
    n_features = len(columns)
    gain = np.full(n_features, np.nan)
    information = np.zeros(n_features)
    low = np.zeros(n_features)
    high = np.zeros(n_features)
    for feature in range(n_features):
        values, order = columns[feature], orders[feature]
        n_known, known = _known(values, order, labels, weights, n_classes)
        known_weight = known.sum()
        total = weights[order].sum()
        unknown_weight = max(total - known_weight, 0.0)
        if nominal[feature]:
            fall, sizes, n_large = _nominal(values, order, n_known, labels, weights, known, min_leaf)
            if n_large < 2:
                continue
            gain[feature] = fall / total if fall > SMALL * total else 0.0
        else:
            least = max(min_leaf, min(0.1 * known_weight / n_classes, 25.0))
            fall, cut, n_cuts = _numeric(values, order, n_known, labels, weights, known, least)
            corrected = (fall - math.log2(max(n_cuts, 1))) / total
            if cut < 0 or corrected <= SMALL:
                continue
            gain[feature] = corrected
            low[feature], high[feature] = values[order[cut]], values[order[cut + 1]]
            first_weight = weights[order[: cut + 1]].sum()
            sizes = _x_log_x(first_weight) + _x_log_x(known_weight - first_weight)
        information[feature] = (_x_log_x(total) - sizes - _x_log_x(unknown_weight)) / total
    return gain, information, low, high


def scores(found: Candidates, few_valued: Flags, costs: Array | None) -> Array:
    """Return the score of each feature's split, 0 for those that may not be chosen.

    Without costs, the gain ratio of the splits whose gain is not below the mean gain, in which a nominal feature
    with very many values has no say; with costs, the gain for what an evaluation of the feature costs.

    Parameters
    ----------
    found : Candidates
        The splits.
    few_valued : ndarray of bool, shape (n_features,)
        The features that have a say in the mean gain.
    costs : ndarray, shape (n_features,), or None
        Each-time costs, all positive.
    """
    result = np.zeros(len(found.gain))
    valid = np.isfinite(found.gain)
    if costs is not None:
        return np.divide(found.gain, costs, out=result, where=valid)
    if not (valid & few_valued).any():
        return result
    mean = found.gain[valid & few_valued].mean()
    eligible = valid & (found.gain >= mean - 1e-3) & (found.information > SMALL)
    return np.divide(found.gain, found.information, out=result, where=eligible)


def first_largest(values: Array) -> int:
    """Return where the largest positive value is, the first of equal ones; -1 where none is positive.

    Values that differ by no more than rounding could make them count as equal.
    """
    best, index = 0.0, -1
    for candidate, value in enumerate(values.tolist()):
        if value > best * (1.0 + SMALL):
            best, index = value, candidate
    return index

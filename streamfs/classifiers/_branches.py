"""The rows of a node, sent down the branches of its test."""

from typing import NamedTuple

import numpy as np
from numba import njit

from streamfs.classifiers._columns import ENTRY, Entries
from streamfs.classifiers._evaluate import Array, Indices
from streamfs.classifiers._split import TrainingTable


class Branches(NamedTuple):
    """Where the rows of a node go; one whose value is missing goes down each branch with the branch's share of it.

    Parameters
    ----------
    of_row : ndarray of int64, shape (n,)
        The branch of each row of the table that reaches the node; -1 where the value is missing.
    shares : ndarray, shape (n_branches,)
        Their shares of the known weight.
    lengths : ndarray of int64, shape (n_branches,)
        How many rows they get.
    """

    of_row: Indices
    shares: Array
    lengths: Indices


@njit(cache=True, nogil=True)
def send(table: TrainingTable, feature: int, low: int, order: Entries, of_row: Indices) -> Branches:
    """Return the branches of a test, their shares still to be found.

    Parameters
    ----------
    table : TrainingTable
        The training rows.
    feature : int
        The feature that is tested.
    low : int
        The last place of the first branch, if it is numeric.
    order : ndarray of `ENTRY`, shape (m,)
        The node's rows, sorted by the feature.
    of_row : ndarray of int64, shape (n,)
        Is written over.
    """
    n_values, n_missing = table.n_values[feature], 0
    lengths = np.zeros(n_values if table.nominal[feature] else 2, dtype=np.int64)
    for entry in order:
        row, place = entry["row"], entry["place"]
        if place == n_values:
            of_row[row] = -1
            n_missing += 1
            continue
        of_row[row] = place if table.nominal[feature] else int(place > low)
        lengths[of_row[row]] += 1
    for branch in range(len(lengths)):
        lengths[branch] += n_missing
    return Branches(of_row, np.zeros(len(lengths)), lengths)


@njit(cache=True, nogil=True)
def weigh(table: TrainingTable, order: Entries, weights: Array, branches: Branches, counts: Array) -> None:
    """Find the branches' shares and the weight of each class in each.

    Parameters
    ----------
    table : TrainingTable
        The training rows.
    order : ndarray of `ENTRY`, shape (m,)
        The node's rows, as they come.
    weights : ndarray, shape (n,)
        Weight in the node of each row.
    branches : Branches
        Of which the shares are written.
    counts : ndarray, shape (n_branches or more, n_classes)
        Is added to.
    """
    shares, known_weight = branches.shares, 0.0
    for row in order["row"]:
        if branches.of_row[row] >= 0:
            shares[branches.of_row[row]] += weights[row]
    for share in shares:
        known_weight += share
    for branch in range(len(shares)):
        shares[branch] /= known_weight
    for row in order["row"]:
        label, branch = table.labels[row], branches.of_row[row]
        if branch >= 0:
            counts[branch, label] += weights[row]
            continue
        for each, share in enumerate(shares):
            counts[each, label] += weights[row] * share


@njit(cache=True, nogil=True)
def _place(order: Entries, of_row: Indices, nexts: Indices, placed: Entries) -> None:
    """Write each entry to the next place of its branch, of each if its value is missing; -1 takes none."""
    for entry in order:
        branch = of_row[entry["row"]]
        first, last = (branch, branch + 1) if branch >= 0 else (0, len(nexts))
        for each in range(first, last):
            if nexts[each] >= 0:
                placed[nexts[each]] = entry
                nexts[each] += 1


@njit(cache=True, nogil=True)
def divide(
    orders: Entries, start: int, stop: int, weights: Array, branches: Branches, starts: Indices, length: int
) -> tuple[Entries, Array]:
    """Return the rows of the branches, branch after branch, as `orders` and the weights that belong to them.

    Parameters
    ----------
    orders : ndarray of `ENTRY`, shape (n_features + 1, any)
        From `start` to `stop`, the node's rows, sorted by each feature; last, as they come.
    start, stop : int
        Where they stand.
    weights : ndarray, shape (n,)
        Weight in the node of each row.
    branches : Branches
        Where the rows go.
    starts : ndarray of int64, shape (n_branches,)
        Where those of each branch are to stand; -1 if they are not asked for.
    length : int
        How many are asked for.
    """
    placed, placed_weights = np.empty((len(orders), length), ENTRY), np.empty(length)
    for order in range(len(orders)):
        _place(orders[order][start:stop], branches.of_row, starts.copy(), placed[order])
    for branch, first in enumerate(starts):
        if first < 0:
            continue
        for place in range(first, first + branches.lengths[branch]):
            row = placed[-1, place]["row"]
            share = branches.shares[branch] if branches.of_row[row] < 0 else 1.0
            placed_weights[place] = weights[row] * share
    return placed, placed_weights

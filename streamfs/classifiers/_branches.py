"""Send the rows of a node down the branches of its test."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel
from streamfs.classifiers._columns import ENTRY, Entries
from streamfs.classifiers._split import TrainingTable


class Branches(NamedTuple):
    """The branches of a node's rows; a row whose value is missing takes each, with the branch's share of it."""

    of_row: Integers  # of each row of the table, (n,); -1 if its value is missing
    shares: Array  # of the known weight, (most_branches,)
    lengths: Integers  # number of rows, (most_branches,)
    starts: Integers  # the place of the first row, -1 if the rows go no further, (most_branches,)
    nexts: Integers  # scratch, (most_branches,)
    moved: Entries  # scratch, (n,)


def new_branches(n: int, most_branches: int) -> Branches:
    """Allocate the branches of a table of n rows."""
    lengths, starts, nexts = np.zeros((3, most_branches), dtype=np.int64)
    return Branches(
        np.zeros(n, dtype=np.int64), np.zeros(most_branches), lengths, starts, nexts, np.zeros(n, dtype=ENTRY)
    )


@kernel
def send(table: TrainingTable, feature: int, low: int, order: Entries, branches: Branches) -> int:
    """Find the branch of each row and the length of each branch; return the number of branches.

    A numeric test's first one ends at place `low`.
    """
    n_values, n_missing, of_row, lengths = table.n_values[feature], 0, branches.of_row, branches.lengths
    n_branches = n_values if table.nominal[feature] else 2
    for branch in range(n_branches):
        lengths[branch] = 0
    for position in range(len(order)):
        row, place = order[position].row, order[position].place
        if place == n_values:
            of_row[row] = -1
            n_missing += 1
            continue
        of_row[row] = place if table.nominal[feature] else int(place > low)
        lengths[of_row[row]] += 1
    for branch in range(n_branches):
        lengths[branch] += n_missing
    return n_branches


@kernel
def weigh(table: TrainingTable, order: Entries, weights: Array, branches: Branches, counts: Array) -> None:
    """Write the branches' shares, and the weight of each class to `counts`, (n_branches, n_classes)."""
    shares, of_row, known_weight = branches.shares, branches.of_row, 0.0
    for branch in range(len(counts)):
        shares[branch] = 0.0
        for label in range(counts.shape[1]):
            counts[branch, label] = 0.0
    for position in range(len(order)):
        row = order[position].row
        if of_row[row] >= 0:
            shares[of_row[row]] += weights[row]
    for branch in range(len(counts)):
        known_weight += shares[branch]
    for branch in range(len(counts)):
        shares[branch] /= known_weight
    for position in range(len(order)):
        row = order[position].row
        label, branch = table.labels[row], of_row[row]
        if branch >= 0:
            counts[branch, label] += weights[row]
            continue
        for each in range(len(counts)):
            counts[each, label] += weights[row] * shares[each]


@kernel
def _place(order: Entries, start: int, stop: int, branches: Branches, n_branches: int) -> None:
    """Write each entry to the next place, unless -1, of its branch, or of every branch if its value is missing."""
    nexts, moved = branches.nexts, branches.moved
    for branch in range(n_branches):
        nexts[branch] = branches.starts[branch]
    for position in range(start, stop):
        moved[position - start] = order[position]
    for position in range(stop - start):
        branch = branches.of_row[moved[position].row]
        last = n_branches if branch < 0 else branch + 1
        for each in range(max(branch, 0), last):
            if nexts[each] >= 0:
                order[nexts[each]] = moved[position]
                nexts[each] += 1


@kernel
def divide(
    orders: Entries, start: int, stop: int, here: Array, branches: Branches, n_branches: int, weights: Array
) -> None:
    """Order the rows of a node by their branches, which begin at `starts`, in all orders, and write their weights.

    Rows of branches without a start are dropped; `here` are the weights by row.
    """
    for k in range(len(orders)):
        _place(orders[k], start, stop, branches, n_branches)
    for branch in range(n_branches):
        first = branches.starts[branch]
        if first < 0:
            continue
        for position in range(first, first + branches.lengths[branch]):
            row = orders[-1, position].row
            share = branches.shares[branch] if branches.of_row[row] < 0 else 1.0
            weights[position] = here[row] * share

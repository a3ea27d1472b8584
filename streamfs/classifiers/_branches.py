"""Send the rows of a node down the branches of its test."""

from typing import NamedTuple

import numpy as np

from feature_extractors._compiled import creating
from streamfs.classifiers._columns import ENTRY, Entries
from streamfs.classifiers._evaluate import Array, Indices
from streamfs.classifiers._split import TrainingTable


class Branches(NamedTuple):
    """The branches of a node's rows; a row whose value is missing takes each, with the branch's share of it."""

    of_row: Indices  # of each row of the table, (n,); -1 if its value is missing
    shares: Array  # of the known weight, (n_branches,)
    lengths: Indices  # number of rows, (n_branches,)


@creating
def send(table: TrainingTable, feature: int, low: int, order: Entries, of_row: Indices) -> Branches:
    """Write a test's branches to `of_row` and return them; a numeric test's first one ends at place `low`."""
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


@creating
def weigh(table: TrainingTable, order: Entries, weights: Array, branches: Branches, counts: Array) -> None:
    """Write the branches' shares, and add the weight of each class to `counts`, (n_branches, n_classes)."""
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


@creating
def _place(order: Entries, of_row: Indices, nexts: Indices, placed: Entries) -> None:
    """Write each entry to the next place, unless -1, of its branch, or of every branch if its value is missing."""
    for entry in order:
        branch = of_row[entry["row"]]
        first, last = (branch, branch + 1) if branch >= 0 else (0, len(nexts))
        for each in range(first, last):
            if nexts[each] >= 0:
                placed[nexts[each]] = entry
                nexts[each] += 1


@creating
def divide(
    orders: Entries, start: int, stop: int, weights: Array, branches: Branches, starts: Indices, length: int
) -> tuple[Entries, Array]:
    """Return the rows of the branches, branch after branch, as `orders`, and their weights.

    Those of a branch begin at its number in `starts`, or are left out if that is -1; `length` is their total
    number.
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

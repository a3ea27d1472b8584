"""Candidate splits of a node, one a feature, and the choice among them."""

import math
from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.base._compiled import kernel
from streamfs.classifiers._columns import Entries

SMALL = 1e-6
"""Below it J48 takes two weights or two gains to be equal."""


class TrainingTable(NamedTuple):
    """The training rows and the parameters of a split."""

    n_values: Integers  # (n_features,)
    nominal: Flags
    labels: Integers  # (n,)
    weights: Array  # (n,), of whole rows: a node may have a part of a row
    n_classes: int
    min_leaf: float  # least weight of at least two branches
    few_valued: Flags  # (n_features,); counted in the mean gain
    costs: Array  # (n_features,), each-time costs that divide gains; (0,) for the gain ratio
    logs: Array  # (n + 1,); see `fill_logs`


class SplitScratch(NamedTuple):
    """Room for what is known of each feature's split, (n_features,), and of the weight of each class."""

    gain: Array
    information: Array
    cuts: Integers
    known: Array  # (n_classes,)
    sides: Array  # (2, n_classes)
    terms: Array  # (2, n_classes)


def new_scratch(n_features: int, n_classes: int) -> SplitScratch:
    """Allocate the scratch arrays of `best_split`."""
    gain, information, cuts = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features, dtype=np.int64)
    return SplitScratch(
        gain, information, cuts, np.zeros(n_classes), np.zeros((2, n_classes)), np.zeros((2, n_classes))
    )


@kernel
def fill_logs(logs: Array) -> None:
    """Write x log2 x of the whole numbers from 0 on."""
    logs[0] = 0.0
    for x in range(1, len(logs)):
        logs[x] = x * math.log2(x)


@kernel
def _x_log_x(x: float, logs: Array) -> float:
    """Return x log2 x, looked up where x is a whole number, as weights mostly are."""
    if x <= 0.0:
        return 0.0
    n = int(x)
    return logs[n] if n == x and n < len(logs) else x * math.log2(x)


@kernel
def total_of(counts: Array) -> float:
    """Return the sum of the weights of classes, in order."""
    total = 0.0
    for count in counts:
        total += count
    return total


@kernel
def _known(table: TrainingTable, feature: int, order: Entries, weights: Array, counts: Array, known: Array) -> int:
    """Fill in the known weight of each class; return the number of rows with a value, which come first."""
    n_known = len(order)
    while n_known > 0 and order[n_known - 1].place == table.n_values[feature]:
        n_known -= 1
    for label, count in enumerate(counts):
        known[label] = count if n_known == len(order) else 0.0
    if n_known == len(order):
        return n_known
    for position in range(n_known):
        row = order[position].row
        known[table.labels[row]] += weights[row]
    return n_known


@kernel
def _gather(known: Array, sides: Array, terms: Array, logs: Array) -> tuple[float, float]:
    """Put all weight on the right side; return it, and the sum of w log w over its classes."""
    weighed, inside = 0.0, 0.0
    for label, weight in enumerate(known):
        sides[0, label], terms[0, label] = 0.0, 0.0
        sides[1, label], terms[1, label] = weight, _x_log_x(weight, logs)
        weighed += weight
        inside += terms[1, label]
    return weighed, inside


@kernel
def _numeric(
    table: TrainingTable, order: Entries, weights: Array, known: Array, total: float, sides: Array, terms: Array
) -> tuple[float, float, int]:
    """Return the gain of the best cut, or NaN, the branches' sum of w log w, and the end of the first branch.

    The gain is corrected by log2(number of cuts), in the unit in which the entropy falls: the mean
    weight of the values that a cut may follow, each at most 1. More rows of smaller weights cost no more.

    Rows move from the right side to the left; w log w is kept per class and side (`sides`, `terms`), since a row
    that moves alone changes that of its class only.
    """
    labels, logs = table.labels, table.logs
    right_weight, inside = _gather(known, sides, terms, logs)
    least = max(table.min_leaf, min(0.1 * right_weight / table.n_classes, 25.0)) - SMALL
    before, left_weight = _x_log_x(right_weight, logs) - inside, 0.0
    best_fall, best_sizes, best_position, is_alone = 0.0, 0.0, -1, True
    n_cuts, cut_weight, value_weight = 0, 0.0, 0.0
    for position in range(len(order) - 1):
        row = order[position].row
        label, weight = labels[row], weights[row]
        left_weight += weight
        right_weight -= weight
        if right_weight < least:
            break
        sides[0, label] += weight
        sides[1, label] -= weight
        value_weight += table.weights[row]
        if order[position].place == order[position + 1].place:
            is_alone = False
            continue
        for each in range(label if is_alone else 0, label + 1 if is_alone else len(known)):
            left, right = _x_log_x(sides[0, each], logs), _x_log_x(sides[1, each], logs)
            inside += (left - terms[0, each]) + (right - terms[1, each])
            terms[0, each], terms[1, each] = left, right
        unit, value_weight, is_alone = min(value_weight, 1.0), 0.0, True
        if left_weight < least:
            continue
        n_cuts += 1
        cut_weight += unit
        sizes = _x_log_x(left_weight, logs) + _x_log_x(right_weight, logs)
        fall = before + inside - sizes
        if fall > best_fall + SMALL * total:
            best_fall, best_sizes, best_position = fall, sizes, position
    if best_position < 0:
        return math.nan, 0.0, -1
    gain = (best_fall - cut_weight / n_cuts * math.log2(n_cuts)) / total
    return gain if gain > SMALL else math.nan, best_sizes, best_position


@kernel
def _nominal(
    table: TrainingTable, order: Entries, weights: Array, known: Array, total: float, branch: Array
) -> tuple[float, float]:
    """Return the gain, NaN if there is no split, and the branches' sum of w log w; `branch` is scratch."""
    logs = table.logs
    fall, sizes, known_weight, n_large = 0.0, 0.0, 0.0, 0
    for weight in known:
        known_weight += weight
        fall -= _x_log_x(weight, logs)
    branch[:] = 0.0
    for position in range(len(order)):
        row = order[position].row
        branch[table.labels[row]] += weights[row]
        if position + 1 < len(order) and order[position + 1].place == order[position].place:
            continue
        size = 0.0
        for label, weight in enumerate(branch):
            size += weight
            fall += _x_log_x(weight, logs)
            branch[label] = 0.0
        sizes += _x_log_x(size, logs)
        n_large += size >= table.min_leaf - SMALL
    fall += _x_log_x(known_weight, logs) - sizes
    if n_large < 2:
        return math.nan, 0.0
    return fall / total if fall > SMALL * total else 0.0, sizes


@kernel
def _choice(table: TrainingTable, gain: Array, information: Array) -> int:
    """Return the feature whose split scores best, the first of equals, or -1.

    The score is the gain ratio among splits of at least the mean gain, which leaves out nominal features with very
    many values; with costs it is gain / cost. Scores within rounding count as equal.
    """
    summed, n_counted = 0.0, 0
    for feature in range(len(gain)):
        if table.few_valued[feature] and not np.isnan(gain[feature]):
            summed += gain[feature]
            n_counted += 1
    best, choice = 0.0, -1
    for feature in range(len(gain)):
        score = 0.0
        if len(table.costs) > 0:
            score = gain[feature] / table.costs[feature]
        elif n_counted > 0 and gain[feature] >= summed / n_counted - 1e-3 and information[feature] > SMALL:
            score = gain[feature] / information[feature]
        if score > best * (1.0 + SMALL):
            best, choice = score, feature
    return choice


@kernel
def best_split(
    table: TrainingTable,
    orders: Entries,
    start: int,
    stop: int,
    weights: Array,
    counts: Array,
    scratch: SplitScratch,
) -> tuple[int, int, int]:
    """Return the feature whose split scores best, or -1, and the places on both sides of its cut."""
    gain, information, cuts, known, sides, terms = scratch
    total, sizes = total_of(counts), 0.0
    for feature in range(len(table.n_values)):
        order = orders[feature][start:stop]
        n_known = _known(table, feature, order, weights, counts, known)
        order = order[:n_known]
        if table.nominal[feature]:
            gain[feature], sizes = _nominal(table, order, weights, known, total, terms[0])
        else:
            gain[feature], sizes, cuts[feature] = _numeric(table, order, weights, known, total, sides, terms)
        unknown = total - total_of(known)
        information[feature] = (_x_log_x(total, table.logs) - sizes - _x_log_x(unknown, table.logs)) / total
    choice = _choice(table, gain, information)
    if choice < 0 or table.nominal[choice]:
        return choice, 0, 0
    cut = start + cuts[choice]
    return choice, orders[choice, cut].place, orders[choice, cut + 1].place

"""Candidate splits of a node, one a feature, and the choice among them."""

import math
from typing import NamedTuple

import numpy as np

from feature_extractors._compiled import compiled, creating
from streamfs.classifiers._columns import Entries
from streamfs.classifiers._evaluate import Array, Flags, Indices

SMALL = 1e-6
"""Below it J48 takes two weights or two gains to be equal."""


class TrainingTable(NamedTuple):
    """The training rows and the parameters of a split."""

    n_values: Indices  # (n_features,)
    nominal: Flags
    labels: Indices  # (n,)
    weights: Array  # (n,), of whole rows: a node may have a part of a row
    n_classes: int
    min_leaf: float  # least weight of at least two branches
    few_valued: Flags  # (n_features,); counted in the mean gain
    costs: Array  # (n_features,), each-time costs that divide gains; (0,) for the gain ratio
    logs: Array  # (n + 1,); see `x_log_x`


@creating
def x_log_x(n: int) -> Array:
    """Return x log2 x of the whole numbers from 0 to n."""
    logs = np.zeros(n + 1)
    for x in range(1, n + 1):
        logs[x] = x * math.log2(x)
    return logs


@compiled(cache=True, nogil=True, forceinline=True)
def _x_log_x(x: float, logs: Array) -> float:
    """Return x log2 x, looked up where x is a whole number, as weights mostly are."""
    if x <= 0.0:
        return 0.0
    whole = int(x)
    return logs[whole] if whole == x and whole < len(logs) else x * math.log2(x)


@creating
def _known(table: TrainingTable, feature: int, order: Entries, weights: Array, counts: Array, known: Array) -> int:
    """Fill in the known weight of each class; return the number of rows with a value, which come first."""
    n_known = len(order)
    while n_known > 0 and order["place"][n_known - 1] == table.n_values[feature]:
        n_known -= 1
    for label, count in enumerate(counts):
        known[label] = count if n_known == len(order) else 0.0
    if n_known == len(order):
        return n_known
    for row in order["row"][:n_known]:
        known[table.labels[row]] += weights[row]
    return n_known


@creating
def _gather(known: Array, sides: Array, terms: Array, logs: Array) -> tuple[float, float]:
    """Put all weight on the right side; return it, and the sum of w log w over its classes."""
    whole, inside = 0.0, 0.0
    for label, weight in enumerate(known):
        sides[0, label], terms[0, label] = 0.0, 0.0
        sides[1, label], terms[1, label] = weight, _x_log_x(weight, logs)
        whole += weight
        inside += terms[1, label]
    return whole, inside


@creating
def _numeric(
    table: TrainingTable, order: Entries, weights: Array, known: Array, total: float, sides: Array, terms: Array
) -> tuple[float, float, int]:
    """Return the gain of the best cut, or NaN, the branches' sum of w log w, and the end of the first branch.

    The gain is corrected by log2(number of cuts), in the unit in which the entropy falls: the mean
    weight of the values that a cut may follow, each at most 1. More rows of smaller weights cost no more.

    Rows move from the right side to the left; w log w is kept per class and side (`sides`, `terms`), since a row
    that moves alone changes that of its class only.
    """
    rows, places, labels, logs = order["row"], order["place"], table.labels, table.logs
    right_weight, inside = _gather(known, sides, terms, logs)
    least = max(table.min_leaf, min(0.1 * right_weight / table.n_classes, 25.0)) - SMALL
    before, left_weight = _x_log_x(right_weight, logs) - inside, 0.0
    best_fall, best_sizes, best_position, is_alone = 0.0, 0.0, -1, True
    n_cuts, cut_weight, value_weight = 0, 0.0, 0.0
    for position in range(len(order) - 1):
        row = rows[position]
        label, weight = labels[row], weights[row]
        left_weight += weight
        right_weight -= weight
        if right_weight < least:
            break
        sides[0, label] += weight
        sides[1, label] -= weight
        value_weight += table.weights[row]
        if places[position] == places[position + 1]:
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


@creating
def _nominal(
    table: TrainingTable, order: Entries, weights: Array, known: Array, total: float
) -> tuple[float, float]:
    """Return the gain, NaN if there is no split, and the branches' sum of w log w."""
    rows, places, logs = order["row"], order["place"], table.logs
    fall, sizes, known_weight, n_large = 0.0, 0.0, 0.0, 0
    for weight in known:
        known_weight += weight
        fall -= _x_log_x(weight, logs)
    branch = np.zeros(len(known))
    for position in range(len(order)):
        row = rows[position]
        branch[table.labels[row]] += weights[row]
        if position + 1 < len(order) and places[position + 1] == places[position]:
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


@creating
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


@creating
def best_split(
    table: TrainingTable, orders: Entries, start: int, stop: int, weights: Array, counts: Array
) -> tuple[int, int, int]:
    """Return the feature whose split scores best, or -1, and the places on both sides of its cut."""
    n_features = len(table.n_values)
    gain, information = np.zeros(n_features), np.zeros(n_features)
    cuts, known = np.zeros(n_features, dtype=np.int64), np.zeros(len(counts))
    sides, terms = np.empty((2, len(counts))), np.empty((2, len(counts)))
    total = counts.sum()
    for feature in range(n_features):
        order = orders[feature][start:stop]
        order = order[: _known(table, feature, order, weights, counts, known)]
        if table.nominal[feature]:
            gain[feature], sizes = _nominal(table, order, weights, known, total)
        else:
            gain[feature], sizes, cuts[feature] = _numeric(table, order, weights, known, total, sides, terms)
        unknown = total - known.sum()
        information[feature] = (_x_log_x(total, table.logs) - sizes - _x_log_x(unknown, table.logs)) / total
    choice = _choice(table, gain, information)
    if choice < 0 or table.nominal[choice]:
        return choice, 0, 0
    places, cut = orders[choice]["place"], start + cuts[choice]
    return choice, places[cut], places[cut + 1]

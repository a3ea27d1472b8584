"""The compiled growth of an extremely randomized tree."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel
from streamfs.classifiers._split import total_of
from streamfs.classifiers._splitmix import Generator, uniform

Grown = npt.NDArray[np.void]

GROWN = np.dtype(
    [
        ("feature", np.int64),
        ("threshold", np.float64),
        ("first_child", np.int64),
        ("missing_child", np.int64),
        ("start", np.int64),
        ("stop", np.int64),
    ]
)
"""A node while the tree grows.

The feature that it tests, -1 at a leaf; the largest value of its first child; the first of two adjacent children;
the child of missing values; and the range of its rows.
"""

LARGEST = float(np.finfo(np.float64).max)
"""The threshold between known and missing."""

CLOCK_SPAN = 2.0
"""The largest value of the clock, in shares of the least one, in a node that is not cut there."""


class WeightedRows(NamedTuple):
    """Training rows, ordered by class, and the parameters of a tree."""

    columns: Array  # (n_features, n); NaN is missing
    is_whole: Integers  # (n_features,), as `whole` gives it
    labels: Integers  # (n,); numbers from 0, ascending
    weights: Array  # (n,); positive
    n_classes: int
    n_candidates: int  # features that a node tries
    min_leaf: float  # least weight on each side of a cut
    clock: int  # the feature that is cut first, -1 if none is


def whole(columns: Array) -> Integers:
    """Return 1 for each column of which nothing is missing, else 0."""
    return np.asarray(~np.isnan(columns).any(axis=1), dtype=np.int64)


class NodeScratch(NamedTuple):
    """The gathered rows of one node, those of class c before `ends[c]`, and scratch space for trying cuts."""

    values: Array
    weights: Array
    ends: Integers
    moved: Integers
    features: Integers
    sides: Array
    best_sides: Array


@kernel
def _draw_feature(generator: Generator, features: Integers, place: int) -> int:
    """Swap one of the features from a place on to that place."""
    other = place + int(uniform(generator) * (len(features) - place))
    drawn = features[other]
    features[other] = features[place]
    features[place] = drawn
    return int(drawn)


@kernel
def _gather(column: Array, order: Integers, values: Array) -> tuple[float, float, int]:
    """Gather the rows' values; return the least and the largest known one, and the number of missing ones."""
    low, high, n_missing = np.inf, -np.inf, 0
    for i, row in enumerate(order):
        value = column[row]
        values[i] = value
        low = min(low, value)
        high = max(high, value)
        n_missing += value != value
    return low, high, n_missing


@kernel
def _gather_whole(column: Array, order: Integers, values: Array) -> tuple[float, float, int]:
    """Return the same as `_gather` for a column without missing values, reading two rows in each step."""
    low, high, other_low, other_high = np.inf, -np.inf, np.inf, -np.inf
    for i in range(0, len(order) - 1, 2):
        value, other = column[order[i]], column[order[i + 1]]
        values[i], values[i + 1] = value, other
        low, high = min(low, value), max(high, value)
        other_low, other_high = min(other_low, other), max(other_high, other)
    value = column[order[len(order) - 1]]
    values[len(order) - 1] = value
    low, high = min(low, value), max(high, value)
    return min(low, other_low), max(high, other_high), 0


@kernel
def _cut(low: float, high: float, generator: Generator) -> float:
    """Draw a threshold that leaves a value on each side; if there is one value only, it is the largest number."""
    if low == high:
        return LARGEST
    threshold = low + uniform(generator) * (high - low)
    return threshold if threshold < high else low


@kernel
def _weigh(scratch: NodeScratch, threshold: float, is_second: bool) -> None:
    """Sum the weight of each class on both sides of a cut; missing values are on the second side, or the first."""
    start = 0
    for c, stop in enumerate(scratch.ends):
        first, second = 0.0, 0.0
        for i in range(start, stop):
            value, weight = scratch.values[i], scratch.weights[i]
            is_above = not value <= threshold if is_second else value > threshold
            above = weight if is_above else 0.0
            first += weight - above
            second += above
        scratch.sides[0, c], scratch.sides[1, c] = first, second
        start = stop


@kernel
def _purity(counts: Array, total: float) -> float:
    """Return the weight times one minus the Gini impurity."""
    purity = 0.0
    for count in counts:
        purity += count * (count / total)
    return purity


@kernel
def _keep_sides(scratch: NodeScratch) -> None:
    """Keep the weights on both sides of a cut as those of the best one."""
    for c in range(len(scratch.ends)):
        scratch.best_sides[0, c], scratch.best_sides[1, c] = scratch.sides[0, c], scratch.sides[1, c]


@kernel
def _best_cut(
    rows: WeightedRows, order: Integers, scratch: NodeScratch, generator: Generator
) -> tuple[int, float, bool]:
    """Try random cuts; return the best: feature, or -1, threshold, whether its second side has missing values."""
    feature, threshold, is_second, score = -1, 0.0, False, -np.inf
    n_tried = 0
    for place in range(len(scratch.features)):
        if n_tried == rows.n_candidates:
            break
        tried = _draw_feature(generator, scratch.features, place)
        column = rows.columns[tried]
        if rows.is_whole[tried] > 0:
            low, high, n_missing = _gather_whole(column, order, scratch.values)
        else:
            low, high, n_missing = _gather(column, order, scratch.values)
        if not (low < high or (low == high and n_missing > 0)):
            continue
        n_tried += 1
        cut = _cut(low, high, generator)
        is_drawn = n_missing > 0 and (low == high or uniform(generator) < 0.5)
        _weigh(scratch, cut, is_drawn)
        first, second = total_of(scratch.sides[0]), total_of(scratch.sides[1])
        if min(first, second) < rows.min_leaf:
            continue
        purity = _purity(scratch.sides[0], first) + _purity(scratch.sides[1], second)
        if purity > score:
            feature, threshold, score = tried, cut, purity
            is_second = is_drawn if n_missing > 0 else second > first
            _keep_sides(scratch)
    return feature, threshold, is_second


@kernel
def _clock_cut(
    rows: WeightedRows, order: Integers, scratch: NodeScratch, generator: Generator
) -> tuple[int, float, bool]:
    """Cut the clock at random where it spans too much, and both sides are heavy enough; return the same."""
    low, high, n_missing = _gather(rows.columns[rows.clock], order, scratch.values)
    if n_missing > 0 or high <= CLOCK_SPAN * low:
        return -1, 0.0, False
    cut = _cut(low, high, generator)
    _weigh(scratch, cut, False)
    first, second = total_of(scratch.sides[0]), total_of(scratch.sides[1])
    if min(first, second) < rows.min_leaf:
        return -1, 0.0, False
    _keep_sides(scratch)
    return rows.clock, cut, second > first


@kernel
def _divide(column: Array, order: Integers, threshold: float, is_second: bool, scratch: Integers) -> int:
    """Order rows by their side of a cut, otherwise keep their order; return the number on the first side."""
    n_first, n_second = 0, 0
    for row in order:
        value = column[row]
        order[n_first] = row
        scratch[n_second] = row
        is_above = not value <= threshold if is_second else value > threshold
        n_first += not is_above
        n_second += is_above
    for i in range(n_second):
        order[n_first + i] = scratch[i]
    return n_first


@kernel
def _may_be_cut(rows: WeightedRows, counts: Array) -> bool:
    total, largest = 0.0, 0.0
    for count in counts:
        total += count
        largest = max(largest, count)
    return total >= 2 * rows.min_leaf and largest < total


@kernel
def _gather_node(rows: WeightedRows, order: Integers, scratch: NodeScratch) -> None:
    """Gather the rows' weights and the end of each class."""
    for c in range(rows.n_classes):
        scratch.ends[c] = 0
    for i, row in enumerate(order):
        scratch.weights[i] = rows.weights[row]
        scratch.ends[rows.labels[row]] = i + 1
    for c in range(1, rows.n_classes):
        scratch.ends[c] = max(scratch.ends[c], scratch.ends[c - 1])


@kernel
def _add_children(nodes: Grown, node: int, first_child: int, middle: int) -> None:
    """Give a node two children, leaves for now, that divide its rows."""
    nodes[node].first_child = first_child
    nodes[first_child].feature, nodes[first_child + 1].feature = -1, -1
    nodes[first_child].start, nodes[first_child].stop = nodes[node].start, middle
    nodes[first_child + 1].start, nodes[first_child + 1].stop = middle, nodes[node].stop


@kernel
def fill_tree(
    rows: WeightedRows, scratch: NodeScratch, order: Integers, generator: Generator, nodes: Grown, counts: Array
) -> int:
    """Grow a tree into zeros with room for a leaf of each row, and order the rows by leaves; return its size."""
    n_nodes, node = 1, 0
    nodes[0].feature, nodes[0].stop = -1, len(order)
    for row in range(len(order)):
        counts[0, rows.labels[row]] += rows.weights[row]
    while node < n_nodes:
        here = order[nodes[node].start : nodes[node].stop]
        if _may_be_cut(rows, counts[node]):
            _gather_node(rows, here, scratch)
            feature, threshold, is_second = -1, 0.0, False
            if rows.clock >= 0:
                feature, threshold, is_second = _clock_cut(rows, here, scratch, generator)
            if feature < 0:
                feature, threshold, is_second = _best_cut(rows, here, scratch, generator)
            if feature >= 0:
                n_first = _divide(rows.columns[feature], here, threshold, is_second, scratch.moved)
                nodes[node].feature, nodes[node].threshold = feature, threshold
                nodes[node].missing_child = n_nodes + int(is_second)
                _add_children(nodes, node, n_nodes, nodes[node].start + n_first)
                for c in range(rows.n_classes):
                    counts[n_nodes, c] = scratch.best_sides[0, c]
                    counts[n_nodes + 1, c] = scratch.best_sides[1, c]
                n_nodes += 2
        node += 1
    return n_nodes


def grow(rows: WeightedRows, seed: int) -> tuple[Grown, Array]:
    """Return a tree's nodes, (n_nodes,), parents before their children, and the weight of each class in each."""
    order = np.arange(len(rows.labels))
    most, generator = max(1, 2 * len(order) - 1), np.array([seed], dtype=np.uint64)
    nodes, counts = np.zeros(most, GROWN), np.zeros((most, rows.n_classes))
    n_nodes = fill_tree(rows, _new_scratch(rows), order, generator, nodes, counts)
    return nodes[:n_nodes].copy(), counts[:n_nodes].copy()


def _new_scratch(rows: WeightedRows) -> NodeScratch:
    n, sides = len(rows.labels), (2, rows.n_classes)
    ends, moved = np.empty(rows.n_classes, dtype=np.int64), np.empty(n, dtype=np.int64)
    features = np.arange(len(rows.columns))
    return NodeScratch(np.empty(n), np.empty(n), ends, moved, features, np.zeros(sides), np.zeros(sides))

"""Growing a decision tree until no split is worth while."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from streamfs.classifiers import _split
from streamfs.classifiers._evaluate import Array, Flags, Indices


@dataclass(frozen=True)
class Table:
    """The training rows.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
        Values; NaN is missing.
    labels : ndarray of int64, shape (n,)
        Numbers of the classes.
    weights : ndarray, shape (n,)
        Positive weights.
    nominal : ndarray of bool, shape (n_features,)
        Which features are nominal.
    n_classes : int
        Number of classes.
    """

    columns: Array
    labels: Indices
    weights: Array
    nominal: Flags
    n_classes: int

    def distinct(self) -> list[Array]:
        """Return the known values of each feature, each once, ascending."""
        return [np.unique(column[~np.isnan(column)]) for column in self.columns]


@dataclass(frozen=True)
class Subset:
    """The rows that reach a node.

    Parameters
    ----------
    rows : ndarray of int64, shape (m,)
        Their indices in the table.
    weights : ndarray, shape (m,)
        Their weights here, fractional where a value was missing above.
    orders : ndarray of int64, shape (n_features, m)
        Their indices, sorted by each feature's values, missing ones last.
    """

    rows: Indices
    weights: Array
    orders: Indices

    @classmethod
    def whole(cls, table: Table) -> Self:
        """Return all rows."""
        orders = np.argsort(table.columns, axis=1, kind="stable")
        return cls(np.arange(len(table.labels)), table.weights, orders)

    def branch(self, branches: Indices, child: int, share: float) -> "Subset":
        """Return the rows that go to a child; those with a missing value go with a share of their weight.

        `branches`, shape (n,), says the child of each row of the table, -1 where the value is missing.
        """
        known = branches[self.rows] == child
        missing = (branches[self.rows] == -1) & (share > 0.0)
        weights = np.where(missing, self.weights * share, self.weights)[known | missing]
        keep = np.zeros(len(branches), dtype=np.bool_)
        keep[self.rows[known | missing]] = True
        orders = self.orders[keep[self.orders]].reshape(len(self.orders), len(weights))
        return Subset(self.rows[known | missing], weights, orders)


@dataclass(eq=False)
class Node:
    """A node while the tree grows; the fields are those of a row of `Tree`, a leaf having no children."""

    counts: Array
    share: float = 1.0
    code: float = 0.0
    feature: int = -1
    nominal: bool = False
    threshold: float = 0.0
    children: list["Node"] = field(default_factory=list)


class Grower:
    """Grows a tree from a table.

    Parameters
    ----------
    table : Table
        The training rows.
    min_leaf : float
        Least weight of at least two branches of a split.
    costs : ndarray, shape (n_features,), or None
        Each-time costs, all positive, by which gains are divided; None for the gain ratio.
    """

    def __init__(self, table: Table, min_leaf: float, costs: Array | None) -> None:
        self.table = table
        self.min_leaf = min_leaf
        self.costs = costs
        self.distinct = table.distinct()
        few_valued = ~table.nominal | (
            np.array([len(values) for values in self.distinct]) < 0.3 * table.weights.sum() - _split.SMALL
        )
        self.few_valued = few_valued if few_valued.any() else np.ones_like(few_valued)

    def grow(self) -> list[Node]:
        """Return the nodes of the tree, the root first and parents before their children."""
        root = Node(self._counts(self.table.labels, self.table.weights))
        nodes = []
        pending = [(root, Subset.whole(self.table))]
        while pending:
            node, subset = pending.pop()
            nodes.append(node)
            if self._choose(node, subset):
                pending += self._children(node, subset)
        return nodes

    def _counts(self, labels: Indices, weights: Array) -> Array:
        return np.asarray(np.bincount(labels, weights, self.table.n_classes), dtype=np.float64)

    def _choose(self, node: Node, subset: Subset) -> bool:
        """Give the node the test that scores best; False where it is to stay a leaf."""
        total = node.counts.sum()
        if total < 2 * self.min_leaf - _split.SMALL or total - node.counts.max() <= _split.SMALL:
            return False
        table = self.table
        weights = np.zeros(len(table.labels))
        weights[subset.rows] = subset.weights
        found = _split.Candidates(
            *_split.candidates(
                table.columns,
                subset.orders,
                table.labels,
                weights,
                table.nominal,
                table.n_classes,
                self.min_leaf,
            )
        )
        feature = _split.first_largest(_split.scores(found, self.few_valued, self.costs))
        if feature < 0:
            return False
        node.feature = feature
        node.nominal = bool(table.nominal[feature])
        if not node.nominal:
            node.threshold = self._threshold(feature, found.low[feature], found.high[feature])
        return True

    def _threshold(self, feature: int, low: float, high: float) -> float:
        """Return the largest training value that is not above the midpoint of a cut."""
        middle = low / 2 + high / 2
        if not low <= middle < high:  # the two are neighbours in floating point
            return float(low)
        values = self.distinct[feature]
        return float(values[np.searchsorted(values, middle, side="right") - 1])

    def _children(self, node: Node, subset: Subset) -> list[tuple[Node, Subset]]:
        """Hang a child on each branch of the node's test, and return the children with their rows."""
        values = self.table.columns[node.feature]
        codes = self.distinct[node.feature] if node.nominal else np.zeros(2)
        chosen = np.searchsorted(codes, values) if node.nominal else np.where(values <= node.threshold, 0, 1)
        branches = np.where(np.isnan(values), -1, chosen)
        known = branches[subset.rows] >= 0
        sizes = np.bincount(branches[subset.rows[known]], subset.weights[known], len(codes))
        grown = []
        for child, (code, share) in enumerate(zip(codes.tolist(), (sizes / sizes.sum()).tolist(), strict=True)):
            rows = subset.branch(branches, child, share)
            counts = self._counts(self.table.labels[rows.rows], rows.weights)
            grown.append((Node(counts, share, code), rows))
        node.children = [grown_child for grown_child, _ in grown]
        return grown

"""A fitted decision tree as flat tables, which a model file holds and a gateway evaluates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.classifiers import _evaluate
from streamfs.classifiers._evaluate import NODE, WAY, FlatTree, Nodes, Ways
from streamfs.classifiers._tree_json import FIELDS, check_tables, read_tables
from streamfs.classifiers.calibration import Calibration
from streamfs.classifiers.classifier import Classifier, FileParts
from streamfs.classifiers.crossings import CountedThresholds, counted
from streamfs.classifiers.explanation import tree_path
from streamfs.errors import ModelError, TranslationError


@dataclass(frozen=True, eq=False)
class Tree(Classifier):
    """A decision tree with one row per node, the root first, parents before their children.

    The children of a node are adjacent. A numeric test sends values not above the threshold to the first child and
    larger ones to the second; a nominal test sends a value to the child with its code. A row whose value is
    missing is divided by the children's shares. Leaves state n_c / N or, with `laplace`, (n_c + 1) / (N + C),
    calibrated if there is a calibration. Tables that are not those of a tree raise ModelError.
    """

    word: ClassVar = "tree"
    header_fields: ClassVar = {"laplace": ((bool,), "true or false")}

    feature: Integers  # (n_nodes,); -1 at a leaf
    nominal: Flags  # (n_nodes,)
    threshold: Array  # (n_nodes,); largest value of the first branch of a numeric test
    first_child: Integers  # (n_nodes,); 0 at a leaf
    n_children: Integers  # (n_nodes,); 0 at a leaf
    code: Array  # (n_nodes,); the value that leads here from a nominal test
    share: Array  # (n_nodes,); of the parent's known training weight, 0 for an empty branch
    counts: Array  # (n_nodes, n_classes); training weights, those of its parent at an empty leaf
    laplace: bool
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        check_tables({name: getattr(self, name) for name in (*FIELDS, "counts")})
        if self.calibration is not None and self.calibration.clock >= 0:
            raise ModelError("tree.calibration has a clock, and a leaf's confidence knows no number of samples")

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @property
    def n_leaves(self) -> int:
        """Number of leaves, empty ones included."""
        return int(np.count_nonzero(self.feature < 0))

    @cached_property
    def confidence(self) -> Array:
        """Class probabilities that each node would state as a leaf, shape (n_nodes, n_classes)."""
        counts = self.counts + 1.0 if self.laplace else self.counts
        shares: Array = np.ascontiguousarray(counts / counts.sum(axis=1, keepdims=True))
        return shares if self.calibration is None else self.calibration.apply(shares)

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes as the compiled evaluation reads them, shape (n_nodes,)."""
        nodes = np.zeros(self.n_nodes, dtype=NODE)
        for name in FIELDS:
            nodes[name] = getattr(self, name)
        return nodes

    @cached_property
    def ways(self) -> Ways:
        """The nodes as numeric values pass them, shape (n_nodes,)."""
        ways = np.zeros(self.n_nodes, dtype=WAY)
        is_leaf, is_end = self.feature < 0, (self.feature < 0) | self.nominal
        ways["feature"] = np.where(is_end, max(self.feature[0], 0), self.feature)
        ways["threshold"] = np.where(is_end, np.inf, self.threshold)
        ways["next"] = np.where(is_end, np.arange(self.n_nodes), self.first_child)
        ways["is_leaf"] = is_leaf
        ways["likeliest"] = self.confidence.argmax(axis=1)
        ways["confidence"] = self.confidence.max(axis=1)
        return ways

    @cached_property
    def depth(self) -> int:
        """The most tests that a row can meet."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(self.feature >= 0).tolist():
            first = self.first_child[node]
            depth[first : first + self.n_children[node]] = depth[node] + 1
        return int(depth.max())

    def features_tested(self) -> tuple[int, ...]:
        """Return the features that the tree tests, ascending."""
        return tuple(sorted({*self.feature[self.feature >= 0].tolist()}))  # numpy.unique imports numpy.ma

    def counting(self, features: Mapping[int, str]) -> CountedThresholds:
        """Return the tree for counts of thresholds; refuse nominal tests of the features."""
        for feature in self.feature[self.nominal].tolist():
            if feature in features:
                name = features[feature]
                raise TranslationError(f"the tree tests {name} for codes, expected thresholds, or to send values")
        return counted(self, features)

    def probabilities(self, X: Array) -> Array:
        """Return the probability of each class for each row; unseen nominal values count as missing."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions, expected 2")
        n_needed = int(self.feature.max()) + 1
        if X.shape[1] < n_needed:
            raise ValueError(f"X has {X.shape[1]} features, expected at least {n_needed}")
        result: Array = _evaluate.probabilities(self.nodes, self.confidence, X)
        return result

    def calibrated(self, calibration: Calibration | None) -> Classifier:
        """Return the same tree with this calibration, or none, in place of its own; with a clock, around it."""
        if calibration is not None and calibration.clock >= 0:
            return super().calibrated(calibration)
        return replace(self, calibration=calibration)

    def uncalibrated(self) -> Self:
        """Return the same tree without its calibration."""
        return self if self.calibration is None else replace(self, calibration=None)

    def flat_tree(self) -> FlatTree:
        """Return the tree as the engine's kernels evaluate it."""
        return FlatTree(self.nodes, self.ways, self.confidence, self.depth)

    def to_file(self) -> FileParts:
        """Return its parts of a model file: the tables as arrays."""
        tables = self.to_json()
        header = {"laplace": tables.pop("laplace")}
        return FileParts(header, {name: np.array(table) for name, table in tables.items()}, {})

    @classmethod
    def from_file(cls, parts: FileParts, feature_names: Sequence[str], classes: Sequence[str]) -> Self:  # noqa: ARG003
        """Read what `to_file` returned."""
        return cls.from_json({**{name: array.tolist() for name, array in parts.arrays.items()}, **parts.header})

    def to_json(self) -> dict[str, Any]:
        """Return the tables as plain lists, which JSON keeps exactly, and the calibration, if any."""
        tables = {name: getattr(self, name).tolist() for name in (*FIELDS, "counts")}
        found = self.calibration
        calibration = {} if found is None else {"calibration": found.numbers()}
        return {**tables, "laplace": self.laplace, **calibration}

    @classmethod
    def from_json(cls, tables: Any) -> Self:
        """Read what `to_json` wrote; raise ModelError if it is not a tree."""
        numbers, others = [], tables
        if isinstance(tables, dict) and "calibration" in tables:
            numbers, others = tables["calibration"], {k: v for k, v in tables.items() if k != "calibration"}
        return cls(**read_tables(others), calibration=Calibration.read(numbers, "tree"))

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        calibrated = "" if self.calibration is None else ", whose confidence is calibrated"
        return f"a decision tree with {self.n_leaves} leaves{calibrated}"

    def text(self, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None) -> str:
        """Return the tree as J48 prints it, a branch per line, leaves with weight and errors, and its calibration.

        Without names, features are `x0`, `x1`, ... and classes their numbers; too few names raise ValueError.
        """
        n_needed = int(self.feature.max()) + 1
        features = [f"x{i}" for i in range(n_needed)] if feature_names is None else feature_names
        classes = [str(i) for i in range(self.n_classes)] if class_names is None else class_names
        if len(features) < n_needed:
            raise ValueError(f"feature_names has {len(features)} names, expected at least {n_needed}")
        if len(classes) != self.n_classes:
            raise ValueError(f"class_names has {len(classes)} names, expected {self.n_classes}")
        lines = [self._leaf_text(0, classes)] if self.n_nodes == 1 else []
        pending = [(child, 0, test) for child, test in self._branches(0, features)]
        while pending:
            node, depth, test = pending.pop()
            leaf = self._leaf_text(node, classes) if self.feature[node] < 0 else ""
            lines.append("|   " * depth + test + leaf)
            pending += [(child, depth + 1, test) for child, test in self._branches(node, features)]
        if self.calibration is not None:
            lines += ["", f"calibrated  {self.calibration.text()}"]
        return "\n".join(lines)

    def explain(self, values: Array, feature_names: Sequence[str], class_names: Sequence[str]) -> list[str]:
        """Return the tests that a row meets, and what the leaf says."""
        return tree_path(self, values, feature_names, class_names)

    def _branches(self, node: int, features: Sequence[str]) -> list[tuple[int, str]]:
        """Return the children of a node with the tests that lead to them, last child first."""
        if self.feature[node] < 0:
            return []
        name, first = features[self.feature[node]], int(self.first_child[node])
        if self.nominal[node]:
            children = range(first + int(self.n_children[node]) - 1, first - 1, -1)
            return [(child, f"{name} = {self.code[child]:.10g}") for child in children]
        threshold = f"{self.threshold[node]:.10g}"
        return [(first + 1, f"{name} > {threshold}"), (first, f"{name} <= {threshold}")]

    def _leaf_text(self, node: int, classes: Sequence[str]) -> str:
        counts = self.counts[node]
        weight = float(counts.sum()) if self.share[node] > 0 else 0.0
        wrong = float(counts.sum() - counts.max()) if self.share[node] > 0 else 0.0
        errors = f"/{round(wrong, 2)}" if wrong > 1e-6 else ""
        return f": {classes[int(counts.argmax())]} ({round(weight, 2)}{errors})"

"""A fitted forest as flat tables, which a model file holds and a gateway evaluates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.classifiers._forest import BLOCK, GROUP, WAY, FlatForest, Ways, write_probabilities
from streamfs.classifiers._forest_fields import TABLES, Tables, check_names, check_shares, check_tables
from streamfs.classifiers.calibration import Calibration, given
from streamfs.classifiers.classifier import Classifier, FileParts
from streamfs.classifiers.crossings import CountedThresholds, counted
from streamfs.classifiers.explanation import forest_votes
from streamfs.classifiers.forest_text import forest_text
from streamfs.errors import TranslationError


@dataclass(frozen=True, eq=False)
class Forest(Classifier):
    """Decision trees with one row per node, one tree after the other; the mean of their leaves' probabilities.

    In each tree the root is first, parents are before their children, and a node's two children are adjacent.
    A test sends values not above the threshold to the first child, larger ones to the second, and missing ones to
    either, as the node says.

    Parameters
    ----------
    feature : ndarray of int64 of shape (n_nodes,)
        The feature that the node tests; -1 at a leaf.
    threshold : ndarray of shape (n_nodes,)
        The largest value of the first child.
    first_child : ndarray of int64 of shape (n_nodes,)
        The first child; 0 at a leaf.
    missing_child : ndarray of int64 of shape (n_nodes,)
        The child of missing values; 0 at a leaf.
    shares : ndarray of shape (n_nodes, n_classes)
        Class probabilities that the node would state as a leaf.
    roots : ndarray of int64 of shape (n_trees,)
        The roots, rising.
    calibration : Calibration, optional
        Calibrates the likeliest class's probability.

    Raises
    ------
    streamfs.errors.ModelError
        If a table is not such an array, or the tables together are not a forest.

    Notes
    -----
    The trees' shares are summed in order, so that a row's result does not depend on other rows.
    Work grows with rows times trees times the depth of a tree.

    Examples
    --------
    >>> forest = Forest(
    ...     feature=np.array([1, -1, -1, -1]), threshold=np.array([0.5, 0.0, 0.0, 0.0]),
    ...     first_child=np.array([1, 0, 0, 0]), missing_child=np.array([2, 0, 0, 0]),
    ...     shares=np.array([[0.5, 0.5], [0.75, 0.25], [0.0, 1.0], [0.5, 0.5]]), roots=np.array([0, 3]),
    ... )
    >>> forest.probabilities(np.array([[7.0, 0.1], [7.0, np.nan]]))
    array([[0.625, 0.375],
           [0.25 , 0.75 ]])
    """

    word: ClassVar = "forest"
    adds: ClassVar = False  # whether trees add to scores, of which probabilities are made

    feature: Integers
    threshold: Array
    first_child: Integers
    missing_child: Integers
    shares: Array
    roots: Integers
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        self._check({name: getattr(self, name) for name in TABLES})

    @staticmethod
    def _check(tables: Tables) -> None:
        """Raise ModelError unless the tables are a forest."""
        check_tables(tables)
        check_shares(tables["shares"])

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return len(self.feature)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.shares.shape[1])

    @cached_property
    def ways(self) -> Ways:
        """The nodes as the compiled evaluation reads them, shape (n_nodes,)."""
        ways = np.zeros(self.n_nodes, dtype=WAY)
        is_leaf = self.feature < 0
        ways["threshold"] = np.where(is_leaf, np.inf, self.threshold)
        ways["feature"] = np.where(is_leaf, 0, 2 * self.feature + (self.missing_child - self.first_child))
        ways["next"] = np.where(is_leaf, np.arange(self.n_nodes), self.first_child)
        return ways

    def features_tested(self) -> tuple[int, ...]:
        """Return the features that the trees test and the calibration reads, ascending."""
        return self._tested

    @cached_property
    def _tested(self) -> tuple[int, ...]:
        """What `features_tested` returns, which a search asks for more than once."""
        clock = set() if self.calibration is None or self.calibration.clock < 0 else {self.calibration.clock}
        return tuple(sorted({*np.unique(self.feature).tolist(), *clock} - {-1}))

    def reading(self, features: Sequence[int]) -> Self:
        """Return the forest, uncalibrated, for rows of these features alone, ascending, with all that it tests."""
        tested = np.arange(self.feature.max(initial=0) + 1)
        return self.placed(np.searchsorted(features, tested).tolist())

    def placed(self, places: Sequence[int]) -> Self:
        """Return the forest, uncalibrated, for rows in which its features stand in other places."""
        tested = np.asarray(places)[np.maximum(self.feature, 0)]
        return replace(self, feature=np.where(self.feature < 0, self.feature, tested), calibration=None)

    @classmethod
    def together(cls, forests: Sequence["Forest"]) -> Self:
        """Return one forest, uncalibrated, of all trees of forests for the same rows and classes."""
        firsts = np.cumsum([0, *(forest.n_nodes for forest in forests)]).tolist()
        moved = [_behind(first, forest) for first, forest in zip(firsts, forests, strict=False)]
        tables: dict[str, Any] = {name: np.concatenate([each[name] for each in moved]) for name in TABLES}
        return cls(**tables)

    def counting(self, features: Mapping[int, str]) -> CountedThresholds:
        """Return the forest for counts of thresholds; refuse a calibration that reads one of the features."""
        clock = -1 if self.calibration is None else self.calibration.clock
        if clock in features:
            read = features[clock]
            raise TranslationError(
                f"the calibration reads the value of {read}, expected count() or to send values"
            )
        return counted(self, features)

    def calibrated(self, calibration: Calibration | None) -> Self:
        """Return the same forest with this calibration, or none, in place of its own."""
        return replace(self, calibration=calibration)

    def uncalibrated(self) -> Self:
        """Return the same forest without its calibration."""
        return self if self.calibration is None else self.calibrated(None)

    def text(self, feature_names: Sequence[str], class_names: Sequence[str] = ()) -> str:  # noqa: ARG002
        """Return the forest's size, the features that it tests most often, and its calibration."""
        return forest_text(self, feature_names)

    def explain(self, values: Array, feature_names: Sequence[str], class_names: Sequence[str]) -> list[str]:
        """Return the trees' votes, and the values of a row that they ask for most often."""
        return forest_votes(self, values, feature_names, class_names)

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        calibrated = "" if self.calibration is None else ", whose confidence is calibrated"
        return f"a forest of {self.n_trees} trees{calibrated}"

    def probabilities(self, X: Array) -> Array:
        """Return the probability of each class for each row: the mean over the trees, calibrated.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            Feature values; NaN is missing.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Each row sums to 1.

        Raises
        ------
        ValueError
            If X is not a matrix, or lacks a feature that the forest tests.
        """
        X = np.require(X, dtype=np.float64, requirements=["C", "W"])
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions, expected 2")
        if X.shape[1] < self._n_needed:
            raise ValueError(f"X has {X.shape[1]} features, expected at least {self._n_needed}")
        result = np.empty((len(X), self.n_classes))
        if len(X):
            room = np.zeros(min(BLOCK, len(X)) * 2 * X.shape[1] + 1), np.zeros(GROUP, dtype=np.uint64)
            write_probabilities(*self._flat, X, *room, np.empty(result.shape), result)
        return result

    @cached_property
    def _n_needed(self) -> int:
        return max(self.features_tested(), default=-1) + 1

    def flat_forest(self) -> FlatForest:
        """Return the forest as the engine's kernels evaluate it."""
        return self._flat

    @cached_property
    def _flat(self) -> FlatForest:
        shares = np.require(self.shares, requirements=["C", "W"])
        return FlatForest(self.ways, shares, self.roots.astype(np.uint64), given(self.calibration), int(self.adds))

    def to_file(self) -> FileParts:
        """Return its parts of a model file."""
        return FileParts({}, self.to_arrays(), {})

    @classmethod
    def from_file(cls, parts: FileParts, feature_names: Sequence[str], classes: Sequence[str]) -> Self:  # noqa: ARG003
        """Read what `to_file` returned."""
        return cls.from_arrays(parts.arrays)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all fields as arrays, which `from_arrays` takes; no calibration is an empty one."""
        found = self.calibration
        calibration = np.array([] if found is None else found.numbers(), dtype=np.float64)
        return {**{name: getattr(self, name) for name in TABLES}, "calibration": calibration}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Read what `to_arrays` made.

        Raises
        ------
        streamfs.errors.ModelError
            If a field is missing, unknown or wrong.
        """
        check_names(arrays)
        calibration = Calibration.read(arrays["calibration"].tolist(), "forest")
        return cls(**{name: arrays[name] for name in TABLES}, calibration=calibration)


def _behind(n_nodes: int, forest: Forest) -> dict[str, Any]:
    """Return the tables of a forest as they stand behind the nodes of other trees."""
    by = np.where(forest.feature < 0, 0, n_nodes)
    children = {"first_child": forest.first_child + by, "missing_child": forest.missing_child + by}
    return {name: getattr(forest, name) for name in TABLES} | children | {"roots": forest.roots + n_nodes}

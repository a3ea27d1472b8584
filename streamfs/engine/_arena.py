"""The arguments of the engine's kernels: numbers and array addresses in one record, which is quick to pass."""

from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors import Program
from feature_extractors._driver import BLOCK, ENTRY, layout_of
from feature_extractors._loop import TASK_SIZE
from streamfs.classifiers._calibration import CALIBRATION
from streamfs.classifiers._evaluate import NODE, FlatTree
from streamfs.classifiers._evaluate import WAY as TREE_WAY
from streamfs.classifiers._forest import BLOCK as FOREST_BLOCK
from streamfs.classifiers._forest import GROUP, FlatForest
from streamfs.classifiers._forest import WAY as FOREST_WAY
from streamfs.procedure.procedure import Procedure

FREE, WAITING, OPEN, DECIDED, MOVING = range(5)
"""Status of a row: without a stream; episode not begun; open; decided; and MOVING, only within a kernel, between a
stream's sample and the classifier's answer."""

COUNTERS = ("samples", "not_finite", "before_opening", "late", "duplicate", "after_decision")

STREAM = np.dtype([("start", np.float64), ("tick", np.int64), ("episode", np.int64), ("confidence", np.float64)])
"""The state of a stream besides its status and its features' state."""

ENDED = np.dtype([("sample", np.int64), ("label", np.int64)])
"""A sample that ends an episode, and the class, or why there is none; see `_stopping`."""

ANSWER = np.dtype([("label", np.int64), ("confidence", np.float64)])
"""The likeliest class, and its probability."""

THRESHOLD = np.dtype([("tick", np.int64), ("level", np.float64), ("floor", np.float64)])
"""A confidence threshold, the tick from which it holds, and the confidence below which streams are given up."""

ARRAYS: dict[str, tuple[Any, tuple[str | int, ...]]] = {
    "state": (np.float64, ("n_rows", "width")),
    "streams": (STREAM, ("n_rows",)),
    "status": (np.int8, ("n_rows",)),
    "counters": (np.int64, (len(COUNTERS),)),
    "ended": (ENDED, (1,)),
    "single_sample": (np.float64, ("n_columns",)),
    "thresholds": (THRESHOLD, ("n_thresholds",)),
    "openings": (np.int64, ("n_columns",)),
    "table": (ENTRY, ("n_features",)),
    "inputs": (np.int64, ("n_inputs",)),
    "params": (np.float64, (1,)),
    "shares": (np.float64, ("n_nodes", "n_classes")),
    "nodes": (NODE, ("n_nodes",)),
    "branches": (TREE_WAY, ("n_nodes",)),
    "ways": (FOREST_WAY, ("n_nodes",)),
    "roots": (np.uint64, ("n_trees",)),
    "calibration": (CALIBRATION, (1,)),
    "ticks": (np.int64, ("n_block",)),
    "rows": (np.int64, ("n_block",)),
    "samples": (np.float64, ("n_block", "n_columns")),
    "seconds": (np.float64, ("n_block",)),
    "scratch": (np.float64, ("n_inputs",)),
    "task": (np.int64, (TASK_SIZE,)),
    "values": (np.float64, ("n_block", "n_features")),
    "answers": (ANSWER, ("n_block",)),
    "result": (np.float64, (1, "n_classes")),
    "stack": (np.int64, ("n_nodes",)),
    "weights": (np.float64, ("n_nodes",)),
    "twice": (np.float64, ("n_twice",)),
    "places": (np.uint64, (GROUP,)),
    "means": (np.float64, ("n_block", "n_classes")),
}
"""Type and shape of each array: those of streams, thresholds, features, and tree or forest, and scratch space.

The first dimension is a minimum. `single_sample` holds a sample's row, as a whole number, its time and its values.
`twice` holds a block's values twice, as a forest reads them. Columns open at the ticks in `openings`, the last at
`last_opening`.
"""

SIZES = (
    *("n_rows", "width", "n_features", "n_columns", "n_inputs", "n_thresholds", "n_block"),
    *("n_nodes", "n_classes", "n_trees", "n_twice", "depth", "adds", "limit", "last_opening"),
)

LAYOUTS = (
    *(BLOCK, FOREST_BLOCK, GROUP, TASK_SIZE, ENTRY, NODE, TREE_WAY, FOREST_WAY, CALIBRATION),
    *(STREAM, ENDED, ANSWER, THRESHOLD, COUNTERS),
)

ARENA = np.dtype(
    [(name, np.int64) for name in (*ARRAYS, *SIZES)]
    + [(name, np.float64) for name in ("period", "earliest")]
    + [layout_of(*LAYOUTS)]
)
"""Addresses and sizes of arrays, and parameters of the procedure; no open episode began before `earliest`."""


class KernelArena:
    """The record that is passed to kernels, shape (1,), and the arrays that it points to.

    Kernels that classify by a tree must not be called unless `has_tree`, those by a forest unless `has_forest`,
    and neither unless `has_thresholds`.
    """

    def __init__(self, program: Program, procedure: Procedure) -> None:
        self.record = np.zeros(1, dtype=ARENA)
        self._held: dict[str, npt.NDArray[Any]] = {}
        tree, forest = procedure.classifier.flat_tree(), procedure.classifier.flat_forest()
        self.has_tree, self.has_forest = tree is not None, forest is not None
        thresholds = _thresholds(procedure)
        self.has_thresholds = len(thresholds) > 0
        self._set(
            width=program.state_size,
            n_features=len(program.features),
            n_columns=len(program.columns),
            n_inputs=len(program.inputs),
            n_thresholds=len(thresholds),
            n_block=BLOCK if forest is None else FOREST_BLOCK,
            limit=procedure.time_limit,
            last_opening=max(procedure.openings, default=1),
            period=procedure.period,
            earliest=np.inf,
        )
        self.hold(openings=np.array(procedure.openings, np.int64))
        self.hold(thresholds=thresholds, table=program.table, inputs=program.inputs, params=program.params)
        self._hold_room()
        if tree is not None:
            self._hold_tree(tree)
        elif forest is not None:
            self._hold_forest(forest)

    def _set(self, **numbers: float) -> None:
        for name, number in numbers.items():
            self.record[name] = number

    def _hold_room(self) -> None:
        """Hold scratch space and results."""
        n_block, n_columns, n_features, n_inputs = (
            int(self.record[name][0]) for name in ("n_block", "n_columns", "n_features", "n_inputs")
        )
        self.hold(
            ticks=np.zeros(n_block, np.int64),
            rows=np.zeros(n_block, np.int64),
            samples=np.zeros((n_block, n_columns)),
            seconds=np.zeros(n_block),
            task=np.zeros(TASK_SIZE, np.int64),
            scratch=np.zeros(n_inputs + 1),
            values=np.zeros((n_block, n_features)),
            answers=np.zeros(n_block, ANSWER),
            single_sample=np.zeros(2 + n_columns),
            counters=np.zeros(len(COUNTERS), np.int64),
            ended=np.zeros(1, ENDED),
        )

    def _hold_tree(self, tree: FlatTree) -> None:
        n_nodes, n_classes = tree.shares.shape
        self._set(n_nodes=n_nodes, n_classes=n_classes, depth=tree.depth)
        self.hold(branches=tree.branches, nodes=tree.nodes, shares=tree.shares)
        self.hold(stack=np.zeros(n_nodes, np.int64), weights=np.zeros(n_nodes), result=np.zeros((1, n_classes)))

    def _hold_forest(self, forest: FlatForest) -> None:
        n_nodes, n_classes = forest.shares.shape
        n_block, n_features = (int(self.record[name][0]) for name in ("n_block", "n_features"))
        n_twice = 2 * n_block * n_features + 1
        self._set(
            n_nodes=n_nodes, n_classes=n_classes, n_trees=len(forest.roots), n_twice=n_twice, adds=forest.adds
        )
        self.hold(ways=forest.ways, shares=forest.shares, roots=forest.roots, calibration=forest.calibration)
        self.hold(twice=np.zeros(n_twice), places=np.zeros(GROUP, np.uint64))
        self.hold(means=np.zeros((n_block, n_classes)), result=np.zeros((n_block, n_classes)))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._held[name]

    def hold(self, **arrays: npt.NDArray[Any]) -> None:
        """Hold arrays under their names, releasing previous ones; raise TypeError if kernels cannot use one."""
        for name, array in arrays.items():
            kind, sizes = ARRAYS[name]
            least, *others = (int(self.record[size][0]) if isinstance(size, str) else size for size in sizes)
            is_fit = array.dtype == kind and array.shape == (max(least, *array.shape[:1]), *others)
            if not (is_fit and array.flags.carray):
                raise TypeError(
                    f"{name} is of {array.dtype} and shape {array.shape}, expected {np.dtype(kind)} and at least "
                    f"{(least, *others)}, without gaps and free to be written to"
                )
            self._held[name] = array
            self.record[name] = array.ctypes.data


def _thresholds(procedure: Procedure) -> npt.NDArray[Any]:
    """Return the thresholds of a procedure as kernels read them; none if its stopping rule has none."""
    found = procedure.rule.thresholds()
    if found is None:
        return np.array([], dtype=THRESHOLD)
    first = [] if found.ticks[0] == 1 else [(1, np.inf, 0.0)]
    return np.array([*first, *zip(found.ticks, found.levels, found.floors, strict=True)], dtype=THRESHOLD)

"""The arguments of the engine's kernels: numbers and array addresses in one record, which is quick to pass."""

from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors import Program
from feature_extractors._driver import BLOCK, ENTRY, layout_of
from feature_extractors._loop import TASK_SIZE
from streamfs.classifiers._evaluate import NODE, WAY, FlatTree
from streamfs.procedure.procedure import Procedure

FREE, WAITING, OPEN, DECIDED, MOVING = range(5)
"""Status of a row: without a stream; episode not begun; open; decided; and MOVING, only within a kernel, between a
stream's sample and the classifier's answer."""

COUNTERS = ("samples", "not_finite", "before_opening", "late", "duplicate", "after_decision")

STREAM = np.dtype([("start", np.float64), ("tick", np.int64), ("episode", np.int64), ("confidence", np.float64)])
"""The state of a stream besides its status and its features' state."""

ENDED = np.dtype([("sample", np.int64), ("label", np.int64)])
"""A sample that ends an episode, and the class, or -1."""

THRESHOLD = np.dtype([("tick", np.int64), ("level", np.float64)])
"""A confidence threshold, and the tick from which it holds."""

ARRAYS: dict[str, tuple[Any, tuple[str | int, ...]]] = {
    "state": (np.float64, ("n_rows", "width")),
    "streams": (STREAM, ("n_rows",)),
    "status": (np.int8, ("n_rows",)),
    "counters": (np.int64, (len(COUNTERS),)),
    "ended": (ENDED, (1,)),
    "single_sample": (np.float64, ("n_columns",)),
    "thresholds": (THRESHOLD, ("n_thresholds",)),
    "table": (ENTRY, ("n_features",)),
    "inputs": (np.int64, ("n_inputs",)),
    "params": (np.float64, (1,)),
    "nodes": (NODE, ("n_nodes",)),
    "branches": (WAY, ("n_nodes",)),
    "shares": (np.float64, ("n_nodes", "n_classes")),
    "ticks": (np.int64, (BLOCK,)),
    "rows": (np.int64, (BLOCK,)),
    "samples": (np.float64, (BLOCK, "n_columns")),
    "seconds": (np.float64, (BLOCK,)),
    "scratch": (np.float64, ("n_inputs",)),
    "task": (np.int64, (TASK_SIZE,)),
    "values": (np.float64, (BLOCK, "n_features")),
    "stack": (np.int64, ("n_nodes",)),
    "weights": (np.float64, ("n_nodes",)),
    "result": (np.float64, ("n_classes",)),
}
"""Type and shape of each array: those of the streams, the thresholds, those of the features, of the tree, and
scratch space.

The first dimension is a minimum. `single_sample` holds a sample's row, as a whole number, its time and its values.
"""

SIZES = (
    *("n_rows", "width", "n_features", "n_columns", "n_inputs", "n_thresholds"),
    *("n_nodes", "n_classes", "depth", "limit"),
)

ARENA = np.dtype(
    [(name, np.int64) for name in (*ARRAYS, *SIZES)]
    + [(name, np.float64) for name in ("period", "earliest")]
    + [layout_of(BLOCK, TASK_SIZE, ENTRY, NODE, WAY, STREAM, ENDED, THRESHOLD, COUNTERS)]
)
"""Addresses and sizes of arrays, and parameters of the procedure; no open episode began before `earliest`."""


class KernelArena:
    """The record that is passed to kernels, shape (1,), and the arrays that it points to.

    Without a tree, kernels that classify must not be called.
    """

    def __init__(self, program: Program, tree: FlatTree | None, procedure: Procedure) -> None:
        self.record = np.zeros(1, dtype=ARENA)
        self._held: dict[str, npt.NDArray[Any]] = {}
        n_features, n_columns = len(program.features), len(program.columns)
        thresholds = _thresholds(procedure)
        sizes = {"width": program.state_size, "n_features": n_features, "n_columns": n_columns}
        sizes |= {"n_inputs": len(program.inputs), "n_thresholds": len(thresholds), "limit": procedure.time_limit}
        for name, number in {**sizes, "period": procedure.period, "earliest": np.inf}.items():
            self.record[name] = number
        self.hold(thresholds=thresholds, table=program.table, inputs=program.inputs, params=program.params)
        self.hold(
            ticks=np.zeros(BLOCK, np.int64),
            rows=np.zeros(BLOCK, np.int64),
            samples=np.zeros((BLOCK, n_columns)),
            seconds=np.zeros(BLOCK),
            task=np.zeros(TASK_SIZE, np.int64),
            scratch=np.zeros(len(program.inputs) + 1),
            values=np.zeros((BLOCK, n_features)),
            single_sample=np.zeros(2 + n_columns),
            counters=np.zeros(len(COUNTERS), np.int64),
            ended=np.zeros(1, ENDED),
        )
        if tree is not None:
            n_nodes, n_classes = tree.shares.shape
            for name, number in (("n_nodes", n_nodes), ("n_classes", n_classes), ("depth", tree.depth)):
                self.record[name] = number
            self.hold(branches=tree.branches, nodes=tree.nodes, shares=tree.shares, result=np.zeros(n_classes))
            self.hold(stack=np.zeros(n_nodes, np.int64), weights=np.zeros(n_nodes))

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
    """Return the thresholds of a procedure as kernels read them."""
    thresholds = np.zeros(len(procedure.thresholds.ticks), dtype=THRESHOLD)
    thresholds["tick"], thresholds["level"] = procedure.thresholds.ticks, procedure.thresholds.levels
    return thresholds

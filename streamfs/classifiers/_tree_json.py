"""Reading the tables of a tree from JSON: nothing that could lead the evaluation astray is let through."""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.classifiers._evaluate import Array
from streamfs.errors import ModelError

FIELDS = {
    "feature": np.int64,
    "nominal": np.bool_,
    "threshold": np.float64,
    "first_child": np.int64,
    "n_children": np.int64,
    "code": np.float64,
    "share": np.float64,
}
"""The one-dimensional tables and their types."""

EXPECTED = {
    np.int64: (int,),
    np.bool_: (bool,),
    np.float64: (float, int),
}


def read_tables(tables: Any) -> dict[str, Any]:
    """Return the fields of a tree, as arrays.

    Raises
    ------
    streamfs.errors.ModelError
        Names the field that is missing, unknown or wrong, and the node where there is one.
    """
    if not isinstance(tables, dict):
        raise ModelError(f"tree is a {type(tables).__name__}, expected an object")
    names = {*FIELDS, "counts", "laplace"}
    for name in sorted(names ^ tables.keys(), key=str):
        raise ModelError(f"tree.{name} is {'missing' if name in names else 'not a field of a tree'}")
    fields: dict[str, Any] = {name: _table(name, tables[name], kind) for name, kind in FIELDS.items()}
    fields["counts"] = _counts(tables["counts"])
    if not isinstance(tables["laplace"], bool):
        raise ModelError(f"tree.laplace is {tables['laplace']!r}, expected true or false")
    fields["laplace"] = tables["laplace"]
    _check_lengths(fields)
    _check_tests(fields)
    _check_children(fields)
    _check_branches(fields)
    _check_counts(fields)
    return fields


def _table(name: str, values: Any, kind: Any) -> npt.NDArray[Any]:
    if not isinstance(values, list):
        raise ModelError(f"tree.{name} is a {type(values).__name__}, expected a list")
    for value in values:
        if not isinstance(value, EXPECTED[kind]) or (isinstance(value, bool) and kind is not np.bool_):
            raise ModelError(f"tree.{name} holds {value!r}, expected {kind.__name__}")
    try:
        table = np.array(values, dtype=kind)
    except OverflowError as error:
        raise ModelError(f"tree.{name} holds a number too large for {kind.__name__}") from error
    if not np.isfinite(table).all():
        raise ModelError(f"tree.{name} holds {table[~np.isfinite(table)][0]}, expected finite numbers")
    return table


def _counts(rows: Any) -> Array:
    if not isinstance(rows, list) or not rows:
        raise ModelError("tree.counts is not a list of one row a node")
    counts = [_table("counts", row, np.float64) for row in rows]
    if len(counts[0]) == 0 or any(len(row) != len(counts[0]) for row in counts):
        raise ModelError("tree.counts has rows of unequal length or without classes")
    return np.array(counts)


def _check_lengths(fields: dict[str, Any]) -> None:
    n_nodes = len(fields["counts"])
    for name in FIELDS:
        if len(fields[name]) != n_nodes:
            raise ModelError(f"tree.{name} has {len(fields[name])} nodes, expected {n_nodes} as tree.counts has")


def _refuse(name: str, wrong: npt.NDArray[np.bool_], values: npt.NDArray[Any], expected: str) -> None:
    """Raise for the first wrong node, if there is one."""
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise ModelError(f"tree.{name} is {values[node]} at node {node}, expected {expected}")


def _check_tests(fields: dict[str, Any]) -> None:
    feature, nominal, n_children = fields["feature"], fields["nominal"], fields["n_children"]
    leaf = feature < 0
    _refuse("feature", feature < -1, feature, "at least -1")
    _refuse("nominal", leaf & nominal, nominal, "false at a leaf")
    _refuse("n_children", leaf & (n_children != 0), n_children, "0 at a leaf")
    _refuse("n_children", ~leaf & (n_children < 2), n_children, "at least 2 at a test")
    _refuse("n_children", ~leaf & ~nominal & (n_children != 2), n_children, "2 at a numeric test")


def _check_children(fields: dict[str, Any]) -> None:
    """Each node but the root is the child of exactly one earlier node."""
    first, n_children, n_nodes = fields["first_child"], fields["n_children"], len(fields["feature"])
    tests = np.flatnonzero(fields["feature"] >= 0)
    n_parents = np.zeros(n_nodes, dtype=np.int64)
    for node in tests.tolist():
        low, high = int(first[node]), int(first[node]) + int(n_children[node])
        if low <= node or high > n_nodes:
            raise ModelError(
                f"tree.first_child is {low} at node {node}, expected children within {node + 1}..{n_nodes}"
            )
        n_parents[low:high] += 1
    n_parents[0] += 1
    _refuse("first_child", n_parents != 1, n_parents, "one parent")


def _check_branches(fields: dict[str, Any]) -> None:
    share, code = fields["share"], fields["code"]
    _refuse("share", (share < 0) | (share > 1), share, "a share in [0, 1]")
    if share[0] == 0:
        raise ModelError("tree.share is 0.0 at node 0, expected 1")
    for node in np.flatnonzero(fields["feature"] >= 0).tolist():
        children = slice(
            int(fields["first_child"][node]), int(fields["first_child"][node] + fields["n_children"][node])
        )
        if abs(float(share[children].sum()) - 1.0) > 1e-6:
            raise ModelError(f"tree.share sums to {share[children].sum()} below node {node}, expected 1")
        if fields["nominal"][node] and (np.diff(code[children]) <= 0).any():
            raise ModelError(f"tree.code does not ascend below node {node}")


def _check_counts(fields: dict[str, Any]) -> None:
    counts = fields["counts"]
    _refuse("counts", (counts < 0).any(axis=1), counts, "no negative weight")
    _refuse("counts", ~(counts.sum(axis=1) > 0), counts, "some weight")

"""Read and validate a tree's tables before compiled kernels evaluate them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
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

EXPECTED = {np.int64: (int,), np.bool_: (bool,), np.float64: (float, int)}


def read_tables(tables: Any) -> dict[str, Any]:
    """Return the fields of a tree, as arrays."""
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
    return table


def _counts(rows: Any) -> Array:
    if not isinstance(rows, list) or not rows:
        raise ModelError("tree.counts is not a list of one row a node")
    counts = [_table("counts", row, np.float64) for row in rows]
    if len(counts[0]) == 0 or any(len(row) != len(counts[0]) for row in counts):
        raise ModelError("tree.counts has rows of unequal length or without classes")
    return np.array(counts)


def check_tables(tables: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse arrays that are not the tables of a tree."""
    _check_kinds(tables)
    _check_tests(tables)
    _check_children(tables)
    _check_branches(tables)
    _check_counts(tables["counts"])


def _check_kinds(tables: Mapping[str, npt.NDArray[Any]]) -> None:
    n_nodes = len(tables["counts"])
    for name, table in tables.items():
        n_dimensions, kind = (2, np.float64) if name == "counts" else (1, FIELDS[name])
        if table.ndim != n_dimensions or table.dtype != kind:
            found, expected = f"{table.dtype} in {table.ndim}", f"{np.dtype(kind)} in {n_dimensions}"
            raise ModelError(f"tree.{name} is of {found} dimensions, expected {expected}")
        if len(table) != n_nodes:
            raise ModelError(f"tree.{name} has {len(table)} nodes, expected {n_nodes} as tree.counts has")
        if not np.isfinite(table).all():
            raise ModelError(f"tree.{name} holds {table[~np.isfinite(table)][0]}, expected finite numbers")
    if not tables["counts"].size:
        raise ModelError(
            f"tree.counts has shape {tables['counts'].shape}, expected at least one node and one class"
        )


def _refuse(name: str, wrong: npt.NDArray[np.bool_], values: npt.NDArray[Any], expected: str) -> None:
    """Raise for the first wrong node, if there is one."""
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise ModelError(f"tree.{name} is {values[node]} at node {node}, expected {expected}")


def _check_tests(tables: Mapping[str, npt.NDArray[Any]]) -> None:
    feature, nominal, n_children = tables["feature"], tables["nominal"], tables["n_children"]
    leaf = feature < 0
    _refuse("feature", feature < -1, feature, "at least -1")
    _refuse("nominal", leaf & nominal, nominal, "false at a leaf")
    _refuse("n_children", leaf & (n_children != 0), n_children, "0 at a leaf")
    _refuse("n_children", ~leaf & (n_children < 2), n_children, "at least 2 at a test")
    _refuse("n_children", ~leaf & ~nominal & (n_children != 2), n_children, "2 at a numeric test")


def _check_children(tables: Mapping[str, npt.NDArray[Any]]) -> None:
    """Each node but the root is the child of exactly one earlier node."""
    first, n_children, n_nodes = tables["first_child"], tables["n_children"], len(tables["feature"])
    nodes, is_test = np.arange(n_nodes), tables["feature"] >= 0
    is_within = (first > nodes) & (n_children <= n_nodes - first)
    _refuse("first_child", is_test & ~is_within, first, f"children behind the node, before {n_nodes}")
    starts, ends = (each[is_test].astype(np.intp) for each in (first, first + n_children))
    n_parents = np.cumsum(np.bincount(starts, minlength=n_nodes + 1) - np.bincount(ends, minlength=n_nodes + 1))
    n_parents[0] += 1
    _refuse("first_child", n_parents[:-1] != 1, n_parents, "one parent")


def _check_branches(tables: Mapping[str, npt.NDArray[Any]]) -> None:
    """The shares below a test sum to 1, and the codes below a nominal one rise."""
    share, code = tables["share"], tables["code"]
    _refuse("share", (share < 0) | (share > 1), share, "a share in [0, 1]")
    if share[0] == 0:
        raise ModelError("tree.share is 0.0 at node 0, expected 1")
    tests = np.flatnonzero(tables["feature"] >= 0)
    tests = tests[np.argsort(tables["first_child"][tests])]  # so that their children, in turn, are all other nodes
    if not len(tests):
        return
    sums = np.add.reduceat(share, tables["first_child"][tests].astype(np.intp))
    for i in np.flatnonzero(abs(sums - 1.0) > 1e-6):
        raise ModelError(f"tree.share sums to {sums[i]} below node {tests[i]}, expected 1")
    parents = np.repeat(tests, tables["n_children"][tests].astype(np.intp))
    is_same = (parents[1:] == parents[:-1]) & tables["nominal"][parents[1:]]
    for node in parents[1:][is_same & (np.diff(code[1:]) <= 0)]:
        raise ModelError(f"tree.code does not ascend below node {node}")


def _check_counts(counts: npt.NDArray[Any]) -> None:
    with np.errstate(over="ignore"):
        sums = counts.sum(axis=1)
    _refuse("counts", counts.min(axis=1) < 0, counts, "no negative weight")
    _refuse("counts", ~((sums > 0) & (sums < np.inf)), counts, "some weight, with a finite sum")

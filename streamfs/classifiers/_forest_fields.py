"""Validate the tables of a forest before compiled kernels evaluate them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.errors import ModelError

TABLES = {
    "feature": (np.int64, "(n_nodes,)"),
    "threshold": (np.float64, "(n_nodes,)"),
    "first_child": (np.int64, "(n_nodes,)"),
    "missing_child": (np.int64, "(n_nodes,)"),
    "shares": (np.float64, "(n_nodes, n_classes)"),
    "roots": (np.int64, "(n_trees,)"),
}
"""The arrays, their types and their shapes."""

LARGEST = 2**31 - 1
"""The largest feature, and the largest number of nodes."""

Tables = Mapping[str, npt.NDArray[Any]]


def check_names(arrays: Tables) -> None:
    """Refuse arrays that are not those of a forest, by their names."""
    names = {*TABLES, "calibration"}
    for name in sorted(names ^ arrays.keys()):
        raise ModelError(f"forest.{name} is {'missing' if name in names else 'not a field of a forest'}")


def check_tables(tables: Tables) -> None:
    """Refuse arrays that are not the tables of trees; what their leaves give is another matter."""
    _check_shapes(tables)
    _check_roots(tables)
    _check_tests(tables)
    _check_parents(tables)


def _check_shapes(tables: Tables) -> None:
    shape = np.shape(tables["shares"])
    if len(shape) != 2 or not 0 < shape[0] <= LARGEST or not shape[1]:
        raise ModelError(f"forest.shares has shape {shape}, expected 1 to {LARGEST} nodes and some classes")
    sizes = {"n_nodes": shape[0], "n_classes": shape[1], "n_trees": np.size(tables["roots"])}
    for name, (kind, dimensions) in TABLES.items():
        expected = tuple(sizes[size] for size in dimensions.strip("(,)").split(", "))
        table = np.asarray(tables[name])
        if table.dtype != kind or table.shape != expected:
            raise ModelError(
                f"forest.{name} is of {table.dtype} and shape {table.shape}, "
                f"expected {np.dtype(kind)} and shape {expected}, {dimensions}"
            )


def _refuse(name: str, wrong: npt.NDArray[np.bool_], values: npt.NDArray[Any], expected: str) -> None:
    """Raise for the first wrong node, if there is one."""
    for node in np.flatnonzero(wrong):
        raise ModelError(f"forest.{name} is {values[node]} at node {node}, expected {expected}")


def _check_roots(tables: Tables) -> None:
    """The trees are consecutive, the first at the beginning."""
    roots, n_nodes = tables["roots"], len(tables["feature"])
    if not len(roots):
        raise ModelError("forest.roots is empty, expected at least one tree")
    if roots[0] != 0:
        raise ModelError(f"forest.roots is {roots[0]} at tree 0, expected 0")
    for tree in np.flatnonzero((roots[1:] <= roots[:-1]) | (roots[1:] >= n_nodes)) + 1:
        raise ModelError(
            f"forest.roots is {roots[tree]} at tree {tree}, expected above {roots[tree - 1]}, below {n_nodes}"
        )


def _check_tests(tables: Tables) -> None:
    feature, first, missing = tables["feature"], tables["first_child"], tables["missing_child"]
    leaf = feature < 0
    _refuse("feature", (feature < -1) | (feature > LARGEST), feature, f"-1 to {LARGEST}")
    _refuse("threshold", ~np.isfinite(tables["threshold"]), tables["threshold"], "a finite number")
    _refuse("first_child", leaf & (first != 0), first, "0 at a leaf")
    _refuse("missing_child", leaf & (missing != 0), missing, "0 at a leaf")
    _refuse("missing_child", ~leaf & (missing != first) & (missing != first + 1), missing, "one of the children")


def _check_parents(tables: Tables) -> None:
    """Each node but the roots is the child of exactly one node before it in its tree."""
    first, roots, n_nodes = tables["first_child"], tables["roots"], len(tables["feature"])
    nodes, is_test = np.arange(n_nodes), tables["feature"] >= 0
    sizes = np.diff(np.append(roots, n_nodes))
    ends = np.repeat(roots + sizes, sizes.astype(np.intp))
    is_within = (first > nodes) & (first < ends - 1)
    _refuse("first_child", is_test & ~is_within, first, "two children behind the node, in its tree")
    children = np.concatenate((first[is_test], first[is_test] + 1, roots)).astype(np.intp)
    n_parents = np.bincount(children, minlength=n_nodes)
    _refuse("first_child", n_parents != 1, n_parents, "one parent")


def check_scores(scores: npt.NDArray[Any]) -> None:
    """Refuse what is not finite."""
    _refuse("shares", ~np.isfinite(scores).all(axis=1), scores, "finite numbers")


def check_shares(shares: npt.NDArray[Any]) -> None:
    """Refuse what is not the probabilities of classes."""
    is_within = np.logical_and.reduce((shares >= 0.0) & (shares <= 1.0), axis=1)
    _refuse("shares", ~is_within, shares, "shares in [0, 1]")
    sums: npt.NDArray[np.float64] = shares @ np.ones(shares.shape[1])  # faster than a sum over few columns
    _refuse("shares", ~(np.abs(sums - 1.0) <= 1e-9), shares, "shares that sum to 1")

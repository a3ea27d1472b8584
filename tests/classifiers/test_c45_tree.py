"""Trees of C4.5: what they say, and tables that are damaged."""

import copy
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from c45_tables import make_table, nominal_of, parameters, tables
from helpers.procedures import step_tree
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from streamfs.classifiers.c45 import C45Classifier
from streamfs.classifiers.tree import Tree
from streamfs.errors import ModelError


def walk(tree, node, x):
    """Evaluate one row by recursion."""
    if tree.feature[node] < 0:
        counts = tree.counts[node] + int(tree.laplace)
        return counts / counts.sum()
    children = range(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
    value = x[tree.feature[node]]
    if tree.nominal[node]:
        for child in children:
            if tree.code[child] == value:
                return walk(tree, child, x)
    elif value <= tree.threshold[node]:
        return walk(tree, children[0], x)
    elif value > tree.threshold[node]:
        return walk(tree, children[1], x)
    return sum(tree.share[child] * walk(tree, child, x) for child in children)


def fitted_tree():
    X, y = make_table(25, 70, 3, ["nominal", "numeric", "nominal", "numeric"], 0.1, coarse=False)
    return C45Classifier(min_leaf=1, nominal=[0, 2]).fit(X, y).tree_, X


class TestTree:
    @settings(deadline=None, max_examples=60)
    @given(table=tables, chosen=parameters)
    def test_flat_evaluation_equals_recursion(self, table, chosen):
        X, y = table
        tree = C45Classifier(nominal=nominal_of(X), **chosen).fit(X, y).tree_
        rows = np.vstack([X, np.full_like(X, np.nan), X + 0.5])
        assert_allclose(tree.probabilities(rows), [walk(tree, 0, x) for x in rows], atol=1e-12)

    @settings(deadline=None, max_examples=60)
    @given(table=tables, chosen=parameters)
    def test_json_keeps_every_bit(self, table, chosen):
        X, y = table
        tree = C45Classifier(nominal=nominal_of(X), **chosen).fit(X, y).tree_
        again = Tree.from_json(json.loads(json.dumps(tree.to_json(), allow_nan=False)))
        assert again.to_json() == tree.to_json()
        assert_array_equal(again.probabilities(X), tree.probabilities(X))

    def test_root_alone(self):
        classifier = C45Classifier().fit([[1.0], [np.nan]], ["up", "up"])
        assert classifier.n_leaves_ == 1
        assert classifier.tree_.features_tested() == ()
        assert classifier.export_text() == ": up (2.0)"
        assert_array_equal(classifier.predict_proba([[np.nan], [5.0]]), [[1.0], [1.0]])

    def test_text_has_one_line_a_branch_and_names(self):
        tree, _ = fitted_tree()
        lines = tree.text().split("\n")
        assert len(lines) == tree.n_nodes - 1
        assert sum(": " in line for line in lines) == tree.n_leaves
        named = tree.text(["a", "b", "c", "d"], ["x", "y", "z"])
        assert {line.lstrip("| ")[0] for line in named.split("\n")} == {"abcd"[f] for f in tree.features_tested()}
        with pytest.raises(ValueError, match="class_names has 1 names, expected 3"):
            tree.text(None, ["x"])
        with pytest.raises(ValueError, match="feature_names has 0 names"):
            tree.text([])

    def test_empty_branch_predicts_what_its_parent_would(self):
        tree, _ = fitted_tree()
        empty = np.flatnonzero(tree.share == 0.0)
        assert len(empty) == 2
        for leaf in empty:
            (parent,) = np.flatnonzero((tree.first_child <= leaf) & (leaf < tree.first_child + tree.n_children))
            assert_array_equal(tree.counts[leaf], tree.counts[parent])
        assert tree.text().count("(0.0)") == len(empty)

    def test_narrow_or_flat_rows(self):
        tree, X = fitted_tree()
        with pytest.raises(ValueError, match="X has 1 features, expected at least"):
            tree.probabilities(X[:, :1])
        with pytest.raises(ValueError, match="X has 1 dimensions, expected 2"):
            tree.probabilities(X[0])

    def test_a_tree_as_deep_as_it_has_rows(self):
        X = np.arange(3000.0)[:, None]
        classifier = C45Classifier(min_leaf=1, confidence_factor=0.5).fit(X, np.arange(3000) % 2)
        assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)
        deep = chain(5000)
        assert_allclose(deep.probabilities(np.array([[4999.5], [np.nan]])).sum(axis=1), 1.0)
        assert len(deep.text().split("\n")) == 10000

    def test_gateway_needs_no_scikit_learn(self):
        code = "import sys, streamfs.classifiers.tree; sys.exit('sklearn' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def chain(depth):
    """Make each numeric test the second branch of the previous one."""
    n_nodes = 2 * depth + 1
    inner = np.arange(n_nodes) % 2 == 0
    inner[-1] = False
    return Tree.from_json(
        {
            "feature": np.where(inner, 0, -1).tolist(),
            "nominal": [False] * n_nodes,
            "threshold": np.where(inner, np.arange(n_nodes) / 2.0, 0.0).tolist(),
            "first_child": np.where(inner, np.arange(n_nodes) + 1, 0).tolist(),
            "n_children": np.where(inner, 2, 0).tolist(),
            "code": [0.0] * n_nodes,
            "share": [1.0] + [0.5] * (n_nodes - 1),
            "counts": [[1.0, 2.0]] * n_nodes,
            "laplace": True,
        }
    )


def damage(name, node, value):
    def apply(tables):
        tables[name][node] = value

    return apply


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("feature", [-5, -1, -1], "tree.feature is -5 at node 0, expected at least -1"),
        ("feature", [0.0, -1.0, -1.0], "tree.feature is of float64 in 1 dimensions, expected int64 in 1"),
        ("feature", [[0], [-1], [-1]], "tree.feature is of int64 in 2 dimensions"),
        ("first_child", [10**12, 0, 0], "tree.first_child is 1000000000000 at node 0"),
        ("first_child", [-1, 0, 0], "tree.first_child is -1 at node 0"),
        ("first_child", [1, 0], "tree.first_child has 2 nodes, expected 3"),
        ("n_children", [2**62, 0, 0], "tree.n_children is 4611686018427387904 at node 0"),
        ("threshold", [np.inf, 0.0, 0.0], "tree.threshold holds inf"),
        ("counts", [1.0, 1.0, 1.0], "tree.counts is of float64 in 1 dimensions"),
        ("counts", np.zeros((3, 0)), r"tree.counts has shape \(3, 0\)"),
    ],
)
def test_invalid_tables_are_refused(name, table, message):
    tree = step_tree()
    with pytest.raises(ModelError, match=message):
        replace(tree, **{name: np.array(table)})


class TestDamagedTables:
    @pytest.mark.parametrize(
        ("harm", "message"),
        [
            (lambda t: t.pop("share"), "tree.share is missing"),
            (lambda t: t.update(colour=1), "tree.colour is not a field"),
            (lambda t: t.update(laplace=1), "tree.laplace is 1, expected true or false"),
            (lambda t: t.update(feature="none"), "tree.feature is a str, expected a list"),
            (lambda t: t["code"].append(0.0), "tree.code has"),
            (lambda t: t.update(counts=[]), "tree.counts"),
            (lambda t: t["counts"][0].append(1.0), "tree.counts has rows of unequal length"),
            (damage("counts", 0, 3.0), "tree.counts is a float"),
            (damage("counts", 0, [-1.0, 1.0, 1.0]), "tree.counts is .* at node 0, expected no negative weight"),
            (damage("counts", 0, [0.0, 0.0, 0.0]), "tree.counts is .* at node 0, expected some weight"),
            (damage("counts", 0, [1e308, 1e308, 1.0]), "tree.counts is .* at node 0, expected .* a finite sum"),
            (damage("feature", 0, -2), "tree.feature is -2 at node 0"),
            (damage("feature", 0, 1.0), "tree.feature holds 1.0, expected int64"),
            (damage("feature", 0, True), "tree.feature holds True"),
            (damage("feature", 0, 2**70), "tree.feature holds a number too large"),
            (damage("feature", 0, -1), "tree.n_children is .* expected 0 at a leaf"),
            (damage("nominal", -1, True), "tree.nominal is True at node"),
            (damage("threshold", 0, float("nan")), "tree.threshold holds nan"),
            (damage("threshold", 0, None), "tree.threshold holds None"),
            (damage("first_child", 0, 0), "tree.first_child is 0 at node 0"),
            (damage("first_child", 0, 2), "tree.first_child"),
            (damage("n_children", 0, 1), "tree.n_children is 1 at node 0"),
            (damage("n_children", 0, 2**62), "tree.(first_child|n_children) is"),
            (damage("share", 0, 0.0), "tree.share is 0.0 at node 0"),
            (damage("share", 1, 1.5), "tree.share is 1.5 at node 1"),
            (damage("share", 1, 0.0), "tree.share sums to"),
        ],
    )
    def test_field_is_named(self, harm, message):
        tables = copy.deepcopy(fitted_tree()[0].to_json())
        harm(tables)
        with pytest.raises(ModelError, match=message):
            Tree.from_json(tables)

    def test_codes_out_of_order(self):
        tables = fitted_tree()[0].to_json()
        node = tables["nominal"].index(True)
        tables["code"][tables["first_child"][node]] = 1e6
        with pytest.raises(ModelError, match=f"tree.code does not ascend below node {node}"):
            Tree.from_json(tables)

    def test_not_an_object(self):
        with pytest.raises(ModelError, match="tree is a list"):
            Tree.from_json([])

"""C4.5 trees beside naive ones, and those that Weka is known for."""

import csv
import itertools
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from c45_tables import make_table, nominal_of, parameters, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from streamfs.classifiers._columns import sort_columns
from streamfs.classifiers._grow import GROWN
from streamfs.classifiers._prune import added_errors, prune
from streamfs.classifiers.c45 import C45Classifier


@dataclass
class Naive:
    """A naive C4.5: lists of (values, class, weight here, weight of the row), recursion, every sum taken anew."""

    classes: int
    nominal: frozenset
    table: list
    min_leaf: float = 2.0
    confidence_factor: float = 0.25
    costs: tuple | None = None
    values: dict = field(default_factory=dict)

    def __post_init__(self):
        for f in range(len(self.table[0][0])):
            self.values[f] = sorted({x[f] for x, *_ in self.table if not math.isnan(x[f])})

    def fit(self):
        return self.pruned(self.collapsed(self.grown(self.table)))

    def grown(self, rows):
        counts = self.counts(rows)
        node = {"counts": counts, "children": []}
        total = sum(counts)
        if total < 2 * self.min_leaf - 1e-6 or total - max(counts) < 1e-6:
            return node
        split = self.chosen(rows)
        if split is None:
            return node
        f, cut = split
        tests = [("=", f, v) for v in self.values[f]] if f in self.nominal else [("<=", f, cut), (">", f, cut)]
        bags = [[row for row in rows if passes(test, row[0])] for test in tests]
        unknown = [row for row in rows if math.isnan(row[0][f])]
        known = weight(rows) - weight(unknown)
        for test, bag in zip(tests, bags, strict=True):
            share = weight(bag) / known
            extra = [(x, y, w * share, whole) for x, y, w, whole in unknown] if bag else []
            child = self.grown(bag + extra)
            child.update(test=test, share=share)
            node["children"].append(child)
        return node

    def counts(self, rows):
        return [sum(w for _, y, w, _ in rows if y == c) for c in range(self.classes)]

    def entropy(self, rows):
        total = weight(rows)
        return -sum(c / total * math.log2(c / total) for c in self.counts(rows) if c > 0) if rows else 0.0

    def gain(self, bags, total):
        known = [row for bag in bags for row in bag]
        after = sum(weight(bag) * self.entropy(bag) for bag in bags) / weight(known)
        return weight(known) / total * (self.entropy(known) - after)

    def candidate(self, rows, f):
        """Gain, split information and cut of the feature's best split, or None."""
        total = weight(rows)
        known = [row for row in rows if not math.isnan(row[0][f])]
        found = sorted({row[0][f] for row in known})
        if f in self.nominal:
            bags = [[row for row in known if row[0][f] == v] for v in found]
            if sum(weight(bag) > self.min_leaf - 1e-6 for bag in bags) < 2:
                return None
            gain, cut = self.gain(bags, total), None
            gain = gain if gain > 1e-6 else 0.0
        else:
            least = max(self.min_leaf, min(25.0, 0.1 * weight(known) / self.classes))
            tried = []
            for low, high in itertools.pairwise(found):
                bags = [[r for r in known if r[0][f] <= low], [r for r in known if r[0][f] > low]]
                if min(map(weight, bags)) > least - 1e-6:
                    row = min(1.0, sum(whole for x, _, _, whole in known if x[f] == low))
                    tried.append((self.gain(bags, total), low, high, bags, row))
            best = None
            for option in tried:
                if option[0] > (best[0] if best else 0.0) + 1e-6:
                    best = option
            if best is None:
                return None
            mean_row = sum(option[4] for option in tried) / len(tried)
            gain = best[0] - mean_row * math.log2(len(tried)) / total
            if gain <= 1e-6:
                return None
            cut = max(v for v in self.values[f] if v <= (best[1] + best[2]) / 2)
            bags = best[3]
        sizes = [weight(bag) for bag in bags] + [total - weight(known)]
        information = -sum(s / total * math.log2(s / total) for s in sizes if s > 1e-12)
        return gain, information, cut

    def chosen(self, rows):
        options = {f: self.candidate(rows, f) for f in self.values}
        options = {f: option for f, option in options.items() if option is not None}
        size = weight(self.table)
        few = [f for f in self.values if f not in self.nominal or len(self.values[f]) < 0.3 * size - 1e-6]
        counted = [options[f][0] for f in options if f in few or not few]
        if self.costs is None and not counted:
            return None
        best, score = None, 0.0
        for f, (gain, information, cut) in options.items():
            if self.costs is None:
                if gain < sum(counted) / len(counted) - 1e-3 or information < 1e-6:
                    continue
                value = gain / information
            else:
                value = gain / (self.costs[f] or min(c for c in self.costs if c > 0))
            if value > score * (1 + 1e-6):
                best, score = (f, cut), value
        return best

    def collapsed(self, node):
        if sum(wrong(leaf) for leaf in leaves(node)) >= wrong(node) - 1e-3:
            return {**node, "children": []}
        return {**node, "children": [self.collapsed(child) for child in node["children"]]}

    def pruned(self, node):
        node = {**node, "children": [self.pruned(child) for child in node["children"]]}
        below = sum(self.errors(leaf) for leaf in leaves(node))
        return {**node, "children": []} if self.errors(node) <= below + 0.1 else node

    def errors(self, leaf):
        n = sum(leaf["counts"])
        return wrong(leaf) + self.added(n, wrong(leaf)) if n > 0 else 0.0

    def added(self, n, e):
        cf = self.confidence_factor
        if e < 1:
            none = n * (1 - cf ** (1 / n))
            return none if e == 0 else none + e * (self.added(n, 1) - none)
        if e + 0.5 >= n:
            return max(n - e, 0)
        z, f = NormalDist().inv_cdf(1 - cf), (e + 0.5) / n
        return (f + z * z / 2 / n + z * (f / n - f * f / n + z * z / 4 / n / n) ** 0.5) / (1 + z * z / n) * n - e

    def probabilities(self, node, x, laplace):
        if not node["children"]:
            counts = np.array(node["counts"]) + laplace
            return counts / counts.sum()
        for child in node["children"]:
            if passes(child["test"], x):
                return self.probabilities(child if child["share"] > 0 else {**node, "children": []}, x, laplace)
        known = [child for child in node["children"] if child["share"] > 0]
        return sum(child["share"] * self.probabilities(child, x, laplace) for child in known)


def weight(rows):
    return sum(w for _, _, w, _ in rows)


def wrong(node):
    return sum(node["counts"]) - max(node["counts"])


def leaves(node):
    return [leaf for child in node["children"] for leaf in leaves(child)] if node["children"] else [node]


def passes(test, x):
    kind, f, value = test
    return x[f] == value if kind == "=" else x[f] <= value if kind == "<=" else x[f] > value


def naive_of(classifier, X, y, sample_weight=None):
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    kept = weights > 0
    classes, labels = np.unique(y[kept], return_inverse=True)
    table = list(zip(X[kept].tolist(), labels.tolist(), *[weights[kept].tolist()] * 2, strict=True))
    return Naive(
        len(classes),
        frozenset(classifier.nominal or ()),
        table,
        float(classifier.min_leaf),
        classifier.confidence_factor,
        classifier.feature_costs,
    )


def assert_same_tree(classifier, X, y, sample_weight=None):
    classifier.fit(X, y, sample_weight)
    naive = naive_of(classifier, X, y, sample_weight)
    root = naive.fit()
    assert classifier.n_leaves_ == len(leaves(root))
    strange = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X + 1000.0 * (X > 2))
    for rows in (X, strange):
        expected = [naive.probabilities(root, x, int(classifier.laplace)) for x in rows.tolist()]
        assert_allclose(classifier.predict_proba(rows), expected, atol=1e-9)


class TestAgainstNaive:
    @settings(deadline=None, max_examples=150)
    @given(table=tables, chosen=parameters)
    def test_tables(self, table, chosen):
        X, y = table
        assert_same_tree(C45Classifier(nominal=nominal_of(X), **chosen), X, y)

    @settings(deadline=None, max_examples=60)
    @given(table=tables, chosen=parameters, seed=st.integers(0, 2**32 - 1))
    def test_weights(self, table, chosen, seed):
        X, y = table
        weights = np.random.default_rng(seed).choice([0.0, 1 / 3, 1 / 7, 1.0, 2.5], size=len(y))
        weights[0] = 1.0
        assert_same_tree(C45Classifier(nominal=nominal_of(X), **chosen), X, y, weights)

    @settings(deadline=None, max_examples=60)
    @given(table=tables, chosen=parameters, seed=st.integers(0, 2**32 - 1))
    def test_costs(self, table, chosen, seed):
        X, y = table
        costs = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 30.0], size=X.shape[1])
        costs[-1] = 2.0
        classifier = C45Classifier("gain_per_cost", tuple(costs.tolist()), nominal=nominal_of(X), **chosen)
        assert_same_tree(classifier, X, y)

    @pytest.mark.parametrize(("n", "n_last", "n_branch"), [(100, 4, 5), (1200, 10, 25)])
    def test_large_branches_are_asked_of_large_tables(self, n, n_last, n_branch):
        """A tenth of the rows per class, at most 25."""
        X, y = np.arange(float(n))[:, None], (np.arange(n) >= n - n_last).astype(int)
        classifier = C45Classifier()
        assert_same_tree(classifier, X, y)
        assert classifier.tree_.threshold[0] == n - n_branch - 1


WEATHER = """
sunny 85 85 FALSE no
sunny 80 90 TRUE no
overcast 83 86 FALSE yes
rainy 70 96 FALSE yes
rainy 68 80 FALSE yes
rainy 65 70 TRUE no
overcast 64 65 TRUE yes
sunny 72 95 FALSE no
sunny 69 70 FALSE yes
rainy 75 80 FALSE yes
sunny 75 70 TRUE yes
overcast 72 90 TRUE yes
overcast 81 75 FALSE yes
rainy 71 91 TRUE no
"""


WEATHER_TREE = """
outlook = 0: yes (4.0)
outlook = 1
|   windy = 0: yes (3.0)
|   windy = 1: no (2.0)
outlook = 2
|   humidity <= 75: yes (2.0)
|   humidity > 75: no (3.0)
"""


IRIS_TREE = """
petalwidth <= 0.6: Iris-setosa (50.0)
petalwidth > 0.6
|   petalwidth <= 1.7
|   |   petallength <= 4.9: Iris-versicolor (48.0/1.0)
|   |   petallength > 4.9
|   |   |   petalwidth <= 1.5: Iris-virginica (3.0)
|   |   |   petalwidth > 1.5: Iris-versicolor (3.0/1.0)
|   petalwidth > 1.7: Iris-virginica (46.0/1.0)
"""


BREAST_CANCER_TREE = """
node-caps = 0: no-recurrence-events (228.39/53.4)
node-caps = 1
|   deg-malig = 0: recurrence-events (1.01/0.4)
|   deg-malig = 1: no-recurrence-events (26.2/8.0)
|   deg-malig = 2: recurrence-events (30.4/7.4)
"""


def coded(columns, nominal=()):
    """Code columns of text: numbers as they are, other words by alphabetical position, `?` as missing."""
    X = np.full((len(columns[0]), len(columns)), np.nan)
    nominal = set(nominal)
    for f, column in enumerate(columns):
        known = [i for i, word in enumerate(column) if word != "?"]
        try:
            X[known, f] = [float(column[i]) for i in known]
        except ValueError:
            nominal.add(f)
        if f in nominal:
            words = sorted({column[i] for i in known})
            X[known, f] = [words.index(column[i]) for i in known]
    return X, sorted(nominal)


def read_set(name, nominal=()):
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip("STREAMFS_DATA, the folder that holds uci/*.csv, is not set")
    with (Path(os.environ["STREAMFS_DATA"]) / "uci" / f"{name}.csv").open() as file:
        names, *rows = csv.reader(file)
    *columns, labels = zip(*rows, strict=True)
    X, nominal = coded(columns, [names.index(column) for column in nominal])
    return X, np.array(labels), nominal, names[:-1]


class TestPublishedTrees:
    def test_weather(self):
        *columns, labels = zip(*(line.split() for line in WEATHER.split("\n") if line), strict=True)
        X, nominal = coded(columns)
        classifier = C45Classifier(nominal=nominal).fit(X, labels)
        assert classifier.export_text(["outlook", "temperature", "humidity", "windy"]) == WEATHER_TREE.strip()

    @pytest.mark.parametrize(
        ("name", "nominal", "expected"),
        [("iris", (), IRIS_TREE), ("breast-cancer", ("deg-malig",), BREAST_CANCER_TREE)],
    )
    def test_uci(self, name, nominal, expected):
        X, y, nominal, names = read_set(name, nominal)
        assert C45Classifier(nominal=nominal).fit(X, y).export_text(names) == expected.strip()

    @pytest.mark.parametrize(
        ("name", "low", "high"),
        [("iris", 0.90, 0.98), ("labor", 0.65, 0.90), ("hepatitis", 0.72, 0.88), ("credit-a", 0.82, 0.89)],
    )
    def test_accuracy(self, name, low, high):
        X, y, nominal, _ = read_set(name)
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        assert low <= cross_val_score(C45Classifier(nominal=nominal), X, y, cv=folds).mean() <= high


def added(weight, errors, confidence_factor=0.25):
    return added_errors(weight, errors, confidence_factor, NormalDist().inv_cdf(1.0 - confidence_factor))


class TestPruning:
    @pytest.mark.parametrize(
        ("weight", "errors", "rate"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)]
    )
    def test_error_rates_are_near_quinlans(self, weight, errors, rate):
        """The limits U25% of section 4.2 of his book; J48 approximates them from one error on."""
        assert (errors + added(float(weight), float(errors))) / weight == pytest.approx(rate, abs=0.01)

    def test_part_of_an_error_is_interpolated(self):
        none, one = added(16.0, 0.0), added(16.0, 1.0)
        assert added(16.0, 0.25) == pytest.approx(0.75 * none + 0.25 * one)
        assert added(3.0, 2.75) == 0.25

    def test_a_subtree_that_saves_no_error_collapses(self):
        """Even one that would pay by the estimate."""
        nodes = np.zeros(3, dtype=GROWN)
        nodes["feature"], nodes["first_child"], nodes["n_children"] = [0, -1, -1], [1, 0, 0], [2, 0, 0]
        counts = np.array([[22.0, 1.0], [1.0, 1.0], [21.0, 0.0]])
        assert added(23.0, 1.0, 0.01) > added(2.0, 1.0, 0.01) + added(21.0, 0.0, 0.01) + 0.1
        prune(nodes, counts, 0.01)
        assert nodes["feature"].tolist() == [-1, -1, -1]


class TestColumns:
    @settings(deadline=None, max_examples=60)
    @given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), missing=st.sampled_from([0.0, 0.3, 1.0]))
    def test_are_sorted_stably_and_missing_values_are_last(self, seed, n, missing):
        rng = np.random.default_rng(seed)
        columns = rng.integers(-4, 4, size=(3, n)) / 2.0
        columns[(columns == 0.0) & (rng.random(columns.shape) < 0.5)] = -0.0
        columns[rng.random(columns.shape) < missing] = np.nan
        values, orders = sort_columns(columns)
        assert_array_equal(orders["row"][-1], np.arange(n))
        for column, known, order in zip(columns, values, orders[:-1], strict=True):
            assert_array_equal(known, np.unique(column[~np.isnan(column)]))
            assert not np.signbit(known[known == 0.0]).any()
            assert_array_equal(order["row"], np.argsort(column, kind="stable"))
            assert_array_equal(np.append(known, np.nan)[order["place"]], column[order["row"]])


class TestWeights:
    @settings(deadline=None, max_examples=60)
    @given(table=tables, chosen=parameters, seed=st.integers(0, 2**32 - 1))
    def test_whole_weights_are_repeated_rows(self, table, chosen, seed):
        X, y = table
        repeats = np.random.default_rng(seed).integers(0, 4, size=len(y))
        repeats[0] = 2
        weighted = C45Classifier(nominal=nominal_of(X), **chosen).fit(X, y, repeats)
        repeated = C45Classifier(nominal=nominal_of(X), **chosen).fit(
            np.repeat(X, repeats, 0), np.repeat(y, repeats)
        )
        assert weighted.n_leaves_ == repeated.n_leaves_
        assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)

    @settings(deadline=None, max_examples=30)
    @given(table=tables, chosen=parameters, n=st.sampled_from([2, 3, 7, 120]))
    def test_equal_rows_that_share_a_weight_are_one_row(self, table, chosen, n):
        X, y = table
        one = C45Classifier(nominal=nominal_of(X), **chosen).fit(X, y)
        shared = np.full(n * len(y), 1 / n)
        ticks = C45Classifier(nominal=nominal_of(X), **chosen).fit(np.repeat(X, n, 0), np.repeat(y, n), shared)
        assert one.n_leaves_ == ticks.n_leaves_
        assert_allclose(ticks.predict_proba(X), one.predict_proba(X), atol=1e-9)

    @pytest.mark.parametrize("n_ticks", [10, 150])
    def test_more_ticks_of_the_same_streams_leave_the_tree(self, n_ticks):
        """Fifty streams of two classes that part late; any number of ticks tells them apart."""
        rng = np.random.default_rng(0)
        y, times = np.repeat([0, 1], 25), np.linspace(0.0, 1.0, n_ticks)
        lift = y[:, None] * (times > 0.7) + rng.normal(0.0, 0.3, (50, 1))
        X = np.stack([lift + rng.normal(0.0, 0.1, lift.shape), np.broadcast_to(times, lift.shape)], axis=2)
        weights = np.full(50 * n_ticks, 1 / n_ticks)
        tree = C45Classifier().fit(X.reshape(-1, 2), np.repeat(y, n_ticks), weights)
        right = (tree.predict(X.reshape(-1, 2)).reshape(50, n_ticks) == y[:, None]).mean(axis=0)
        assert right[times > 0.7].mean() > 0.95

    def test_no_weight_at_all(self):
        with pytest.raises(ValueError, match="zero"):
            C45Classifier().fit([[1.0], [2.0]], [0, 1], [0.0, 0.0])


class TestScale:
    @settings(deadline=None, max_examples=30)
    @given(table=tables, exponent=st.integers(-60, 60))
    def test_does_not_matter(self, table, exponent):
        X, y = table
        one, other = C45Classifier().fit(X, y), C45Classifier().fit(np.ldexp(X, exponent), y)
        assert_array_equal(one.predict_proba(X), other.predict_proba(np.ldexp(X, exponent)))

    def test_neighbours_in_floating_point_are_separated(self):
        low = 1.0 - 2.0**-53
        X, y = np.repeat([[low], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
        assert_array_equal(C45Classifier().fit(X, y).predict(X), y)


class TestTies:
    def test_lowest_feature_wins(self):
        X, y = make_table(2, 60, 2, ["numeric"], 0.0, coarse=False)
        assert C45Classifier().fit(np.hstack([X, X, X]), y).tree_.features_tested() == (0,)

    def test_lowest_threshold_wins(self):
        X = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
        classifier = C45Classifier(confidence_factor=0.5).fit(X, np.repeat([0, 1, 0], 20))
        assert classifier.tree_.threshold[0] == 0.0


class TestCosts:
    def test_the_cheaper_of_two_equal_features_is_tested(self):
        X, y = make_table(2, 60, 2, ["numeric"], 0.0, coarse=False)
        X = np.hstack([X, X])
        for costs, tested in (((2.0, 1.0), (1,)), ((1.0, 2.0), (0,)), ((1.0, 0.0), (0,)), ((0.0, 0.0), (0,))):
            assert C45Classifier("gain_per_cost", costs).fit(X, y).tree_.features_tested() == tested


class TestParameters:
    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            ({"split": "gini"}, "split is 'gini'"),
            ({"split": "gain_per_cost"}, "feature_costs is not given but split is 'gain_per_cost'"),
            ({"feature_costs": [1.0, 1.0]}, "feature_costs is given but split is 'gain_ratio'"),
            (
                {"split": "gain_per_cost", "feature_costs": [1.0]},
                r"feature_costs has shape \(1,\), expected \(2,\)",
            ),
            ({"split": "gain_per_cost", "feature_costs": [1.0, -2.0]}, "feature_costs holds -2.0"),
            ({"split": "gain_per_cost", "feature_costs": [1.0, np.nan]}, "feature_costs holds nan"),
            ({"confidence_factor": 0.0}, "confidence_factor is 0.0"),
            ({"confidence_factor": 0.6}, "confidence_factor is 0.6"),
            ({"confidence_factor": 1e-17}, r"confidence_factor is 1e-17, expected a number, at least 1e-15"),
            ({"min_leaf": 0}, "min_leaf is 0"),
            ({"min_leaf": np.nan}, "min_leaf is nan"),
            ({"min_leaf": "2"}, "min_leaf is '2'"),
            ({"nominal": [2]}, "nominal holds 2"),
            ({"nominal": [-1]}, "nominal holds -1"),
        ],
    )
    def test_value_is_named(self, chosen, message):
        with pytest.raises(ValueError, match=message):
            C45Classifier(**chosen).fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])

    def test_infinite_weights(self):
        with pytest.raises(
            ValueError, match=r"sample_weight is up to 1e\+308, expected weights with a finite sum"
        ):
            C45Classifier().fit([[0.0], [1.0]], [0, 1], [1e308, 1e308])

    def test_infinite_values(self):
        with pytest.raises(ValueError, match="infinity"):
            C45Classifier().fit([[np.inf], [1.0]], [0, 1])


def test_scikit_learn_conventions():
    for result in check_estimator(C45Classifier(), on_skip=None):
        assert result["status"] in {"passed", "skipped"}, result["check_name"]

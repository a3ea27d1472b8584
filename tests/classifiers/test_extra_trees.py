"""Extremely randomized trees against naive ones, grown from the definition with the same random numbers."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import extra_trees as naive
from sklearn.ensemble import ExtraTreesClassifier as ScikitLearns
from sklearn.utils.estimator_checks import check_estimator

from streamfs.classifiers import ExtraTreesClassifier
from streamfs.classifiers._splitmix import uniform

SEEDS = st.integers(0, 2**32 - 1)


def make_table(seed, n_rows, n_features, missing, *, coarse, n_classes=3):
    """Values with ties, gaps and a constant feature, labels that depend on the first, and uneven weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n_rows), [-0.5, 0.7][: n_classes - 1])
    if coarse:
        X = np.round(2.0 * X)
    X[:, -1] = X[0, -1] if n_features > 2 else X[:, -1]
    X[:, 0] = np.exp(X[:, 0])  # a clock is not negative
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.choice([1.0, 0.5, 1.0 / 3.0, 2.0], n_rows)


tables = st.builds(
    make_table,
    seed=SEEDS,
    n_rows=st.integers(2, 60),
    n_features=st.integers(1, 6),
    missing=st.sampled_from([0.0, 0.1, 0.6]),
    coarse=st.booleans(),
    n_classes=st.integers(2, 3),
)
parameters = st.fixed_dictionaries(
    {
        "n_trees": st.integers(1, 4),
        "min_leaf": st.sampled_from([0.1, 1.0, 2.5]),
        "n_candidates": st.sampled_from(["sqrt", 1, 2, 99, None]),
        "clock": st.sampled_from([-1, 0]),
        "laplace": st.booleans(),
        "random_state": st.integers(0, 1000),
    }
)


def seeds_of(random_state, n_trees):
    return np.random.RandomState(random_state).randint(2**63 - 1, size=n_trees, dtype=np.int64).tolist()


def naive_forest(X, y, weights, chosen):
    wanted = {"sqrt": math.isqrt(X.shape[1]), None: X.shape[1]}.get(chosen["n_candidates"], chosen["n_candidates"])
    labels = np.unique(y, return_inverse=True)[1].tolist()
    table, limits = (X.tolist(), labels, weights.tolist()), (max(labels) + 1, wanted, chosen["min_leaf"])
    return [
        naive.grow_tree(*table, *limits, seed, chosen["clock"])
        for seed in seeds_of(chosen["random_state"], chosen["n_trees"])
    ]


def flat(roots, *, laplace):
    """The tables of naive trees."""
    tables = {"feature": [], "threshold": [], "first_child": [], "missing_child": [], "shares": [], "roots": []}
    for root in roots:
        nodes, offset = naive.breadth_first(root), len(tables["feature"])
        tables["roots"].append(offset)
        place = {id(node): offset + k for k, node in enumerate(nodes)}
        for node in nodes:
            children = node.get("children", [])
            first = place[id(children[0])] if children else 0
            tables["feature"].append(node.get("feature", -1))
            tables["threshold"].append(node.get("threshold", 0.0))
            tables["first_child"].append(first)
            tables["missing_child"].append(first + node.get("missing", 0))
            tables["shares"].append(naive.shares_of(node["counts"], laplace=laplace))
    return tables


class TestAgainstNaive:
    @settings(max_examples=200)
    @given(table=tables, chosen=parameters)
    def test_the_same_random_numbers_make_the_same_forest(self, table, chosen):
        X, y, weights = table
        classifier = ExtraTreesClassifier(**chosen).fit(X, y, weights)
        roots = naive_forest(X, y, weights, chosen)
        for name, expected in flat(roots, laplace=chosen["laplace"]).items():
            assert getattr(classifier.forest_, name).tolist() == expected, name
        queries = np.random.default_rng(0).choice(np.append(X, np.nan), (20, X.shape[1]))
        for query, said in zip(queries, classifier.predict_proba(queries), strict=True):
            assert said.tolist() == naive.probabilities(roots, query.tolist(), laplace=chosen["laplace"])

    @settings(max_examples=60)
    @given(table=tables, chosen=parameters)
    def test_each_cut_is_inside_its_node_and_leaves_enough_on_both_sides(self, table, chosen):
        X, y, weights = table
        forest = ExtraTreesClassifier(**chosen).fit(X, y, weights).forest_
        labels = np.unique(y, return_inverse=True)[1]
        for root in naive.nested(forest):
            waiting = [(root, np.arange(len(X)))]
            while waiting:
                node, rows = waiting.pop()
                counts = np.bincount(labels[rows], weights[rows], forest.n_classes) + chosen["laplace"]
                assert_allclose(node["shares"], counts / counts.sum())
                if "children" not in node:
                    continue
                values = X[rows, node["feature"]]
                known, is_missing = values[~np.isnan(values)], np.isnan(values)
                if known.min() < known.max():
                    assert known.min() <= node["threshold"] < known.max()
                else:
                    assert is_missing.any()
                    assert node["threshold"] == np.finfo(np.float64).max
                second = np.where(is_missing, node["missing"], values > node["threshold"]).astype(bool)
                sides = rows[~second], rows[second]
                assert min(weights[side].sum() for side in sides) >= chosen["min_leaf"] - 1e-6
                if not is_missing.any():
                    assert weights[sides[node["missing"]]].sum() >= weights[rows].sum() / 2 - 1e-9
                waiting += zip(node["children"], sides, strict=True)

    def test_the_generator_is_splitmix64(self):
        """The first numbers from seed 1234567, as published by the generator's authors."""
        published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
        generator = np.array([1234567], dtype=np.uint64)
        assert [uniform(generator) for _ in published] == [n // 2**11 / 2**53 for n in published]


class TestLaws:
    def test_rows_of_unlike_clocks_share_no_leaf(self):
        """Even where no class tells them apart, the clock is cut until it spans at most a factor of two."""
        clock = np.tile(np.arange(1.0, 25.0), 20)
        X, y = np.stack([np.sin(np.arange(480)), clock], axis=1), np.arange(480) // 24 % 2
        for root in naive.nested(ExtraTreesClassifier(3, min_leaf=5.0, clock=1).fit(X, y).forest_):
            leaves = np.array([id(naive.leaf_of(root, row)) for row in X])
            for leaf in np.unique(leaves):
                there = clock[leaves == leaf]
                assert there.max() <= 2.0 * there.min()

    @settings(max_examples=60)
    @given(table=tables, chosen=parameters, seed=SEEDS)
    def test_whole_weights_are_repeated_rows(self, table, chosen, seed):
        X, y, _ = table
        repeats = np.random.default_rng(seed).integers(0, 4, size=len(y))
        repeats[0] = 2
        weighted = ExtraTreesClassifier(**chosen).fit(X, y, repeats)
        repeated = ExtraTreesClassifier(**chosen).fit(np.repeat(X, repeats, 0), np.repeat(y, repeats))
        for name, expected in weighted.forest_.to_arrays().items():
            assert_array_equal(repeated.forest_.to_arrays()[name], expected)

    @settings(max_examples=60)
    @given(seed=SEEDS, chosen=parameters, exponent=st.integers(-60, 60))
    def test_the_scale_does_not_matter(self, seed, chosen, exponent):
        X, y, weights = make_table(seed, 40, 4, 0.1, coarse=False)
        one = ExtraTreesClassifier(**chosen).fit(X, y, weights)
        other = ExtraTreesClassifier(**chosen).fit(np.ldexp(X, exponent), y, weights)
        assert_array_equal(one.predict_proba(X), other.predict_proba(np.ldexp(X, exponent)))

    @settings(max_examples=60)
    @given(seed=SEEDS, chosen=parameters)
    def test_two_classes_may_change_their_names(self, seed, chosen):
        X, y, weights = make_table(seed, 40, 4, 0.1, coarse=True, n_classes=2)
        one = ExtraTreesClassifier(**chosen).fit(X, np.where(y == 1, "b", "a"), weights)
        other = ExtraTreesClassifier(**chosen).fit(X, np.where(y == 1, "a", "b"), weights)
        assert_array_equal(one.predict_proba(X), other.predict_proba(X)[:, ::-1])

    @settings(max_examples=30)
    @given(table=tables, chosen=parameters)
    def test_a_row_has_the_same_answer_alone_and_among_others(self, table, chosen):
        X, y, weights = table
        classifier = ExtraTreesClassifier(**chosen).fit(X, y, weights)
        many = np.tile(X, (10, 1))
        together = classifier.predict_proba(many)
        assert_array_equal(together, np.concatenate([classifier.predict_proba(row[np.newaxis]) for row in many]))

    @pytest.mark.parametrize("n_jobs", [2, 5])
    def test_the_forest_is_the_same_for_any_number_of_threads(self, n_jobs):
        X, y, weights = make_table(0, 300, 6, 0.1, coarse=False)
        one = ExtraTreesClassifier(min_leaf=1.0).fit(X, y, weights)
        other = ExtraTreesClassifier(min_leaf=1.0, n_jobs=n_jobs).fit(X, y, weights)
        assert pickle.dumps(one.forest_.to_arrays()) == pickle.dumps(other.forest_.to_arrays())

    def test_the_first_trees_of_many_are_those_of_few(self):
        X, y, weights = make_table(1, 100, 4, 0.1, coarse=False)
        few, many = (ExtraTreesClassifier(n, min_leaf=1.0).fit(X, y, weights).forest_ for n in (3, 8))
        assert_array_equal(many.feature[: few.n_nodes], few.feature)
        assert_array_equal(many.threshold[: few.n_nodes], few.threshold)

    def test_rows_of_one_stream_count_as_one_row(self):
        X, y, _ = make_table(2, 60, 4, 0.1, coarse=False)
        one = ExtraTreesClassifier(min_leaf=3.0).fit(X, y)
        ticks = ExtraTreesClassifier(min_leaf=3.0).fit(
            np.repeat(X, 120, 0), np.repeat(y, 120), np.full(120 * len(y), 1 / 120)
        )
        assert one.forest_.n_nodes > 60
        assert_array_equal(ticks.forest_.feature, one.forest_.feature)
        assert_allclose(ticks.predict_proba(X), one.predict_proba(X), atol=1e-9)


class TestImportances:
    @settings(max_examples=200)
    @given(table=tables, chosen=parameters)
    def test_are_the_shares_in_which_cuts_of_each_feature_lower_the_impurity(self, table, chosen):
        X, y, weights = table
        classifier = ExtraTreesClassifier(**chosen).fit(X, y, weights)
        found, tested = classifier.feature_importances_, classifier.forest_.features_tested()
        lowered = np.array(naive.lowered_impurity(naive_forest(X, y, weights, chosen), X.shape[1]))
        is_lower = lowered.sum() > 1e-9
        assert found.shape == (X.shape[1],)
        assert found.min() >= 0.0
        assert found.sum() == pytest.approx(1.0 if is_lower else 0.0)
        assert_allclose(found, lowered / lowered.sum() if is_lower else 0.0, atol=1e-6)
        assert not np.delete(found, tested).any()

    @pytest.mark.parametrize(
        ("X", "y"),
        [
            (np.ones((10, 3)), [0, 1] * 5),
            (np.full((10, 2), np.nan), [0, 1] * 5),
            (np.arange(10.0)[:, np.newaxis], [7] * 10),
            (np.arange(4.0)[:, np.newaxis], [0, 0, 1, 1]),
        ],
        ids=["constant", "never known", "one class", "fewer than twice the least leaf"],
    )
    def test_are_zero_where_nothing_can_be_cut(self, X, y):
        found = ExtraTreesClassifier(5, min_leaf=3.0).fit(X, y).feature_importances_
        assert found.tolist() == [0.0] * X.shape[1]

    def test_rank_features_by_information(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 5)), rng.integers(0, 3, 300)
        X[:, 3] += 2.0 * y
        X[:, 1] += 0.7 * y
        assert np.argsort(-ExtraTreesClassifier().fit(X, y).feature_importances_)[:2].tolist() == [3, 1]

    def test_do_not_depend_on_what_laplace_adds_to_the_leaves(self):
        X, y, weights = make_table(5, 60, 4, 0.1, coarse=False)
        one, other = (ExtraTreesClassifier(laplace=laplace).fit(X, y, weights) for laplace in (True, False))
        assert one.feature_importances_.tolist() == other.feature_importances_.tolist()


class TestMissing:
    def test_a_constant_feature_is_cut_between_known_and_missing(self):
        X = np.array([[7.0]] * 5 + [[np.nan]] * 5)
        classifier = ExtraTreesClassifier(3, min_leaf=1.0, laplace=False).fit(X, [0] * 5 + [1] * 5)
        assert classifier.predict([[7.0], [-1e300], [1e308], [np.nan]]).tolist() == [0, 0, 0, 1]

    def test_a_feature_that_is_never_known_is_not_cut(self):
        X = np.full((10, 1), np.nan)
        forest = ExtraTreesClassifier(2, min_leaf=1.0).fit(X, [0, 1] * 5).forest_
        assert forest.features_tested() == ()
        assert_array_equal(forest.probabilities(X), 0.5)

    def test_a_value_that_was_never_missing_goes_with_the_heavier_side(self):
        X = np.array([[0.0]] * 3 + [[1.0]] * 4)
        classifier = ExtraTreesClassifier(5, min_leaf=1.0, laplace=False)
        assert classifier.fit(X, [0] * 3 + [1] * 4).predict([[np.nan]]) == [1]
        assert classifier.fit(X, [0] * 3 + [1] * 4, [2.0] * 3 + [1.0] * 4).predict([[np.nan]]) == [0]

    def test_missing_values_go_to_either_side(self):
        X, y, weights = make_table(3, 200, 4, 0.3, coarse=False)
        forest = ExtraTreesClassifier(20, min_leaf=1.0).fit(X, y, weights).forest_
        roots = forest.roots[forest.feature[forest.roots] == 0]
        sides = forest.missing_child[roots] - forest.first_child[roots]
        assert set(sides.tolist()) == {0, 1}


class TestEdges:
    def test_neighbours_in_floating_point_are_separated(self):
        low = 1.0 - 2.0**-53
        X, y = np.repeat([[low], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
        classifier = ExtraTreesClassifier(30).fit(X, y)
        assert_array_equal(classifier.predict(X), y)
        assert_array_equal(classifier.forest_.threshold[classifier.forest_.roots], low)

    def test_negative_zero_is_zero(self):
        forest = ExtraTreesClassifier(2, min_leaf=1.0).fit([[0.0], [-0.0]] * 5, [0, 1] * 5).forest_
        assert forest.features_tested() == ()

    def test_tiny_weights_and_leaves_make_a_whole_tree(self):
        X = np.random.default_rng(0).normal(size=(500, 2))
        classifier = ExtraTreesClassifier(2, min_leaf=1e-12, laplace=False)
        classifier.fit(X, np.arange(500) % 2, np.full(500, 1e-9))
        assert_array_equal(classifier.predict(X), np.arange(500) % 2)
        assert classifier.forest_.n_nodes > 512

    def test_rows_without_weight_are_left_out(self):
        X, y, weights = make_table(4, 50, 3, 0.1, coarse=False)
        added = np.concatenate([X, 1e6 * X]), np.concatenate([y, y + 7]), np.concatenate([weights, 0 * weights])
        one, other = ExtraTreesClassifier().fit(X, y, weights), ExtraTreesClassifier().fit(*added)
        assert_array_equal(one.predict_proba(X), other.predict_proba(X))

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"n_trees": 0}, "n_trees is 0, expected a whole number, at least 1"),
            ({"n_trees": 2.0}, r"n_trees is 2\.0"),
            ({"min_leaf": 0.0}, r"min_leaf is 0\.0, expected a number, more than 0"),
            ({"min_leaf": np.nan}, "min_leaf is nan"),
            ({"min_leaf": "few"}, "min_leaf is 'few'"),
            ({"n_candidates": 0}, "n_candidates is 0, expected a whole number, at least 1, or 'sqrt', or None"),
            ({"n_candidates": "log2"}, "n_candidates is 'log2'"),
            ({"n_candidates": True}, "n_candidates is True"),
            ({"clock": 1}, "clock is 1, expected less than the number of features, 1"),
            ({"clock": -2}, "clock is -2, expected a whole number, at least -1"),
        ],
    )
    def test_a_wrong_parameter_is_named(self, given, message):
        with pytest.raises(ValueError, match=message):
            ExtraTreesClassifier(**given).fit([[1.0], [2.0]], [0, 1])

    @pytest.mark.parametrize(
        ("X", "weights", "message"),
        [
            ([[1.0], [2.0]], [0.0, 0.0], "zero"),
            ([[1.0], [2.0]], [1e308, 1e308], "sample_weight is up to 1e"),
            ([[-1e308], [1e308]], None, "feature 0 spans more than a number can hold"),
            ([[1.0], [np.inf]], None, "infinity"),
        ],
    )
    def test_unusable_rows_are_refused(self, X, weights, message):
        with pytest.raises(ValueError, match=message):
            ExtraTreesClassifier().fit(X, [0, 1], weights)

    def test_unusable_rows_of_a_table_are_refused(self):
        for X, weights, message in (
            ([[1.0], [2.0]], [0.0, 0.0], "2 rows of 1 features have no weight"),
            ([[], []], [1.0, 1.0], "2 rows of 0 features"),
            ([[np.inf], [np.inf]], [1.0, 1.0], "feature 0 spans more than a number can hold"),
        ):
            with pytest.raises(ValueError, match=message):
                ExtraTreesClassifier().fit_rows(np.array(X), np.array([0, 1]), np.array(weights))

    def test_a_negative_clock_is_refused(self):
        with pytest.raises(ValueError, match="the clock, feature 1, is -1, expected at least 0"):
            ExtraTreesClassifier(clock=1).fit([[1.0, -1.0], [2.0, 2.0]], [0, 1])


def test_it_is_as_accurate_as_scikit_learns():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 1500)
    X = rng.normal(size=(1500, 8)) + np.eye(3, 8)[y] * 1.5
    ours = ExtraTreesClassifier(60).fit(X[:500], y[:500])
    peer = ScikitLearns(60, min_samples_leaf=5, random_state=0).fit(X[:500], y[:500])
    accuracy, expected = (np.mean(c.predict(X[500:]) == y[500:]) for c in (ours, peer))
    assert accuracy == pytest.approx(expected, abs=0.03)


def test_scikit_learns_checks_pass():
    for result in check_estimator(ExtraTreesClassifier(n_trees=5), on_skip=None):
        assert result["status"] in {"passed", "skipped"}, result["check_name"]

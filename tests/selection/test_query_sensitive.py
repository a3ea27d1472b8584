"""Nearest neighbours whose features depend on the query, against their definition."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.papers import total
from oracles.query_sensitive import learn_thresholds, nearest, query_sensitive_subset, squared_diff
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectKBest, SelectorMixin
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut
from sklearn.utils.estimator_checks import check_estimator

from streamfs.classifiers.lazy import LazyNeighbors
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.errors import ModelError
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.selection.sequential import SequentialSelector


class Fixed(SelectorMixin, BaseEstimator):
    """Selects given features, and records the groups it receives."""

    def __init__(self, features=()):
        self.features = features

    def fit(self, X, y, groups=None):  # noqa: ARG002 - scikit-learn's signature
        self.groups_ = groups
        self.support_ = np.isin(np.arange(X.shape[1]), self.features)
        return self

    def _get_support_mask(self):
        return self.support_


def table(seed, n=12, missing=0.15, coarse=True):
    """Two nominal and three numeric features, one of them constant, in few values, so that there are ties."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 5)).astype(float) if coarse else rng.normal(size=(n, 5))
    X[:, [0, 3]] = rng.integers(0, 3, size=(n, 2))
    X[:, 4] *= 0.3
    X[rng.random(X.shape) < missing] = np.nan
    if rng.random() < 0.3:
        X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 2.0)
    return X, rng.integers(0, 3, size=n)


NOMINAL = (0, 3)
NUMERIC = (1, 2, 4)
seeds = st.integers(0, 2**32 - 1)
subsets = st.sets(st.integers(0, 4)).map(sorted)


def fitted(seed, subset, **parameters):
    X, y = table(seed)
    return QuerySensitiveNeighbors(Fixed(subset), nominal=NOMINAL, **parameters).fit(X, y), X, y


def queries_of(seed):
    """Rows inside and outside the ranges, with missing and unseen values."""
    X, _ = table(seed + 1, 20)
    X[::3] += 1.5
    return X


def shares_of(X, rows):
    low, high = np.fmin.reduce(X), np.fmax.reduce(X)
    return (rows - np.nan_to_num(low)) / np.where(high > low, high - low, 1.0)


class TestQuerysFeatures:
    @settings(deadline=None)
    @given(seed=seeds, subset=subsets, is_fitted=st.booleans())
    def test_are_those_of_the_definition(self, seed, subset, is_fitted):
        model, X, _ = fitted(seed, subset, thresholds="fitted" if is_fitted else "deviation", eta=0.7)
        queries = queries_of(seed)
        shares = shares_of(X, queries)
        for query, row, added in zip(shares, model.query_subset(queries), model.unusual(queries), strict=True):
            joined = query_sensitive_subset(query, subset, model.means_, model.thresholds_, NUMERIC)
            assert np.flatnonzero(row).tolist() == sorted(joined)
            assert np.flatnonzero(added).tolist() == sorted(set(joined) - set(subset))

    def test_are_unusual_from_one_deviation_on_either_side(self):
        X = np.array([[0.0], [4.0], [8.0]])
        model = QuerySensitiveNeighbors(Fixed()).fit(X, [0, 1, 1])
        assert (model.means_[0], model.deviations_[0]) == (0.5, 0.5)
        assert_array_equal(model.unusual([[0.0], [8.0], [0.1], [7.9], [-9.0], [99.0]])[:, 0], [1, 1, 0, 0, 1, 1])

    def test_do_not_include_nominal_constant_unknown_or_missing_ones(self):
        X = np.array([[0.0, 5.0, np.nan, 1.0], [1.0, 5.0, np.nan, 2.0], [2.0, np.nan, np.nan, 9.0]])
        model = QuerySensitiveNeighbors(Fixed(), nominal=[0]).fit(X, [0, 1, 1])
        assert_array_equal(model.thresholds_[:3], np.inf)
        assert not model.unusual([[7.0, 7.0, 7.0, np.nan], [0.0, 0.0, 0.0, 4.0]]).any()
        assert model.lazy_.features_tested() == (3,)

    @settings(deadline=None)
    @given(seed=seeds, subset=subsets)
    def test_required_are_those_compared_and_those_that_may_join(self, seed, subset):
        lazy = fitted(seed, subset)[0].lazy_
        queries = queries_of(seed)
        queries[0, 4] = np.inf
        tested = np.isin(np.arange(5), lazy.features_tested())
        undefined = ~np.isfinite(queries)
        assert_array_equal(lazy.requests(queries), lazy.subset | lazy.unusual(queries) | (undefined & tested))
        assert not lazy.unusual(queries)[undefined].any()
        assert not (lazy.requests(queries) & ~tested).any()
        assert_array_equal(lazy.requests(np.full((1, 5), np.nan))[0], tested)


class TestThresholds:
    @settings(deadline=None, max_examples=50)
    @given(
        seed=seeds, subset=subsets, whole=st.booleans(), passes=st.integers(1, 3), eta=st.sampled_from([0.1, 3.0])
    )
    def test_are_those_of_the_definition(self, seed, subset, whole, passes, eta):
        distance = "all" if whole else "selected"
        model, X, y = fitted(seed, subset, thresholds="fitted", distance=distance, n_passes=passes, eta=eta)
        expected = learn_thresholds(X, y, model.deviations_, eta, passes, None if whole else subset, NOMINAL)
        assert_allclose(model.thresholds_, np.where(model.deviations_ > 0.0, expected, np.inf), rtol=1e-12)

    def test_are_deviations_if_not_fitted(self):
        X, y = table(3, 30, missing=0.0, coarse=False)
        model = QuerySensitiveNeighbors(Fixed()).fit(X, y)
        assert_allclose(model.thresholds_, shares_of(X, X).std(axis=0, ddof=1))
        assert_allclose(model.means_, shares_of(X, X).mean(axis=0))

    def test_rise_if_the_nearest_of_the_same_class_is_far_in_a_feature_and_fall_if_near(self):
        X = np.array([[0.0, 0.0, 0.5], [0.1, 1.0, 0.5], [0.9, 0.0, 0.2], [1.0, 1.0, 0.2]])
        model = QuerySensitiveNeighbors(Fixed([0]), thresholds="fitted").fit(X, [0, 0, 1, 1])
        assert model.thresholds_[1] > model.deviations_[1]
        assert model.thresholds_[2] < model.deviations_[2]
        other = QuerySensitiveNeighbors(Fixed([0]), thresholds="fitted").fit(X, [0, 1, 0, 1])
        assert other.thresholds_[1] < other.deviations_[1]
        assert other.thresholds_[2] > other.deviations_[2]

    def test_are_fitted_to_the_nearest_of_another_group(self):
        X, y = table(5, 10, missing=0.0, coarse=False)
        model = QuerySensitiveNeighbors(Fixed([1, 2]), thresholds="fitted")
        model.fit(np.vstack([X, X]), np.tile(y, 2), np.tile(np.arange(10), 2))
        assert_allclose(model.thresholds_, learn_thresholds(X, y, model.deviations_, 0.1, 2, [1, 2]), rtol=1e-12)
        alone = QuerySensitiveNeighbors(Fixed([1, 2]), thresholds="fitted").fit(X, y, np.zeros(10))
        assert_array_equal(alone.thresholds_, alone.deviations_)


class TestPrediction:
    @settings(deadline=None)
    @given(seed=seeds, subset=subsets)
    def test_is_the_class_of_the_nearest_by_each_querys_own_features(self, seed, subset):
        model, X, y = fitted(seed, subset)
        queries = queries_of(seed)
        features = [np.flatnonzero(row).tolist() for row in model.query_subset(queries)]
        expected = [y[nearest(X, q, own, NOMINAL)] for q, own in zip(queries, features, strict=True)]
        assert_array_equal(model.predict(queries), expected)

    @settings(deadline=None, max_examples=50)
    @given(seed=seeds, subset=subsets, k=st.integers(1, 12), laplace=st.booleans(), tied=st.booleans())
    def test_is_the_vote_of_the_nearest(self, seed, subset, k, laplace, tied):
        model, X, y = fitted(seed, subset, n_neighbors=k, laplace=laplace, ties="all" if tied else "first")
        assert LazyNeighbors.from_arrays(model.lazy_.to_arrays()).tied is tied
        queries = queries_of(seed)[:6]
        added = int(laplace)
        for query, row, found in zip(
            queries, model.query_subset(queries), model.predict_proba(queries), strict=True
        ):
            own = np.flatnonzero(row)

            def distance(i, query=query, own=own):
                return total([squared_diff(X, query, X[i], j, NOMINAL) for j in own])

            voters = sorted(range(len(X)), key=lambda i: (distance(i), i))
            farthest = distance(voters[k - 1])
            voters = [i for i in voters if distance(i) <= farthest] if tied else voters[:k]
            votes = np.bincount(np.searchsorted(model.classes_, y[voters]), minlength=len(model.classes_))
            assert_array_equal(found, (votes + added) / (len(voters) + added * len(model.classes_)))

    def test_is_that_of_plain_neighbours_if_all_are_selected(self):
        X, y = table(8, 40)
        model = QuerySensitiveNeighbors(Fixed(range(5)), n_neighbors=3, nominal=NOMINAL).fit(X, y)
        plain = NeighborsClassifier(3, nominal=NOMINAL).fit(X, y)
        assert_array_equal(model.predict_proba(queries_of(8)), plain.predict_proba(queries_of(8)))

    def test_is_the_first_instances_class_if_no_feature_is_compared(self):
        model = QuerySensitiveNeighbors(Fixed()).fit([[0.0], [4.0], [8.0]], ["b", "a", "a"])
        assert model.predict([[4.0]]) == ["b"]

    @settings(deadline=None, max_examples=30)
    @given(seed=seeds, subset=subsets, exponents=st.lists(st.integers(-60, 60), min_size=5, max_size=5))
    def test_does_not_depend_on_units(self, seed, subset, exponents):
        X, y = table(seed)
        queries = queries_of(seed)
        one = QuerySensitiveNeighbors(Fixed(subset)).fit(X, y)
        other = QuerySensitiveNeighbors(Fixed(subset)).fit(np.ldexp(X, exponents), y)
        assert_array_equal(other.predict_proba(np.ldexp(queries, exponents)), one.predict_proba(queries))

    @pytest.mark.parametrize("far", [np.inf, -np.inf])
    def test_treats_an_infinite_value_of_a_stored_procedure_as_missing(self, far):
        lazy = fitted(1, [1, 2])[0].lazy_
        queries = queries_of(1)
        unknown = queries.copy()
        queries[:, 2], unknown[:, 2] = far, np.nan
        assert_array_equal(lazy.probabilities(queries), lazy.probabilities(unknown))

    def test_accepts_the_largest_numbers(self):
        X = np.array([[0.0, -1e308], [1e-300, -1e308], [2e-300, np.nan]])
        model = QuerySensitiveNeighbors(Fixed([0, 1]), n_neighbors=2).fit(X, [0, 1, 1])
        assert_array_equal(model.predict_proba([[1e308, -1e308], [-1e308, 1e308]]).sum(axis=1), 1.0)
        assert not model.unusual([[1e308, -1e308]]).any()
        assert QuerySensitiveNeighbors(Fixed([1])).fit(X, [0, 1, 1]).unusual([[1e308, 1e308]]).tolist() == [[1, 0]]

    def test_does_not_change_with_the_callers_array(self):
        X, y = table(9, 30)
        model = QuerySensitiveNeighbors(Fixed([1])).fit(X, y)
        before = model.predict_proba(X.copy())
        again = X.copy()
        X[:] = 0.0
        assert_array_equal(model.predict_proba(again), before)


class TestSelector:
    @pytest.mark.parametrize("groups", [None, np.arange(40) // 4])
    def test_is_by_default_forward_and_leaves_out_one_instance_or_group(self, groups):
        X, _ = table(11, 40, coarse=False)
        y = (X[:, 2] > 0) + 2 * (X[:, 4] > 0)
        folds = LeaveOneOut() if groups is None else LeaveOneGroupOut()
        expected = SequentialSelector(NeighborsClassifier(1, nominal=NOMINAL), cv=folds).fit(X, y, groups)
        model = QuerySensitiveNeighbors(nominal=NOMINAL).fit(X, y, groups)
        assert model.subset_.tolist() == sorted(expected.ranking_)
        assert model.selector_.estimator.nominal == [*NOMINAL]
        assert len(model.subset_) > 1

    def test_is_cloned_and_receives_the_groups(self):
        X, y = table(12)
        selector, groups = Fixed([2]), np.arange(len(X)) // 2
        model = QuerySensitiveNeighbors(selector).fit(X, y, groups)
        assert_array_equal(model.selector_.groups_, groups)
        assert not hasattr(selector, "support_")
        assert model.subset_.tolist() == [2]

    def test_need_not_accept_groups(self):
        X, y = table(13, 30, missing=0.0)
        model = QuerySensitiveNeighbors(SelectKBest(k=2)).fit(X, y, np.arange(30) // 2)
        assert len(model.subset_) == 2


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"thresholds": "mean"}, "thresholds is 'mean', expected 'deviation' or 'fitted'"),
        ({"distance": "none"}, "distance is 'none', expected 'selected' or 'all'"),
        ({"eta": 0.0}, "eta is 0.0, expected a number, more than 0"),
        ({"eta": np.nan}, "eta is nan"),
        ({"eta": "1"}, "eta is '1'"),
        ({"n_passes": 0}, "n_passes is 0, expected a whole number, at least 1"),
        ({"n_passes": 1.0}, "n_passes is 1.0"),
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"n_neighbors": 4}, "n_neighbors is 4, expected 1 to"),
        ({"nominal": [1]}, "nominal holds 1"),
    ],
)
def test_a_parameter_out_of_range_is_named(chosen, message):
    with pytest.raises(ValueError, match=message):
        QuerySensitiveNeighbors(Fixed(), **chosen).fit([[1.0], [2.0], [3.0]], [0, 1, 1])


def test_continuous_targets_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        QuerySensitiveNeighbors(Fixed()).fit([[1.0], [2.0], [3.0]], [0.5, 1.5, 1.7])


def test_an_infinite_range_is_refused():
    with pytest.raises(ValueError, match="feature 1 spans more than a number can hold"):
        QuerySensitiveNeighbors(Fixed()).fit([[0.0, -1e308], [1.0, 1e308]], [0, 1])


@pytest.mark.parametrize("model", [QuerySensitiveNeighbors(), QuerySensitiveNeighbors(thresholds="fitted")])
def test_scikit_learn_conventions(model):
    for result in check_estimator(model, on_skip=None):
        assert result["status"] in {"passed", "skipped"}, result["check_name"]


def small():
    """A lazy classifier of two features, the second of which may join."""
    return LazyNeighbors(
        values=np.array([[0.0, 5.0], [1.0, 5.0], [np.nan, 9.0]]),
        classes=np.array([0, 0, 1]),
        n_classes=2,
        subset=np.array([True, False]),
        means=np.array([0.5, 1 / 3]),
        thresholds=np.array([0.5, 0.5]),
        nominal=np.zeros(2, dtype=bool),
        n_neighbors=2,
        laplace=True,
    )


class TestFields:
    @settings(deadline=None, max_examples=30)
    @given(seed=seeds, subset=subsets)
    def test_arrays_keep_every_bit(self, seed, subset):
        lazy = fitted(seed, subset, n_neighbors=2, laplace=True)[0].lazy_
        again = LazyNeighbors.from_arrays(lazy.to_arrays())
        assert_array_equal(again.probabilities(queries_of(seed)), lazy.probabilities(queries_of(seed)))
        for name, array in lazy.to_arrays().items():
            assert_array_equal(again.to_arrays()[name], array)

    @pytest.mark.parametrize("shape", [(2,), (3, 1), (3, 3)])
    def test_rows_of_another_width_are_refused(self, shape):
        for method in (small().probabilities, small().unusual, small().requests):
            with pytest.raises(ValueError, match=r"values have shape .*, expected \(n_rows, 2\)"):
                method(np.zeros(shape))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"values": np.zeros(3)}, r"neighbours.values has shape \(3,\)"),
            ({"values": np.zeros((0, 2))}, r"neighbours.values has shape \(0, 2\)"),
            ({"values": np.zeros((3, 2), np.float32)}, "neighbours.values is of float32"),
            (
                {"values": np.array([[0, 1], [np.inf, 2], [0, 0]])},
                "neighbours.values is infinite at instance 1, f",
            ),
            ({"values": np.array([[-1e308, 1], [1e308, 2], [0, 0]])}, "neighbours.values spans more .* feature 0"),
            ({"classes": np.array([0, 1])}, r"neighbours.classes is of int64 and shape \(2,\)"),
            ({"classes": np.array([0.0, 1.0, 1.0])}, "neighbours.classes is of float64"),
            ({"classes": np.array([0, 2, 1])}, "neighbours.classes is 2 at instance 1, expected 0 to 1"),
            ({"classes": np.array([0, 0, -1])}, "neighbours.classes is -1 at instance 2"),
            ({"n_classes": 0}, "neighbours.n_classes is 0"),
            ({"n_classes": True}, "neighbours.n_classes is True, expected int"),
            ({"n_neighbors": 4}, "neighbours.n_neighbors is 4, expected 1 to 3"),
            ({"n_neighbors": 0}, "neighbours.n_neighbors is 0"),
            ({"laplace": 1}, "neighbours.laplace is 1, expected bool"),
            ({"subset": np.array([True])}, r"neighbours.subset is of bool and shape \(1,\)"),
            ({"subset": np.array([1, 0])}, "neighbours.subset is of int64"),
            ({"means": np.array([0.5, np.nan])}, "neighbours.means is nan at feature 1, expected a number"),
            ({"thresholds": np.array([0.5, -0.1])}, "neighbours.thresholds is -0.1 at feature 1"),
            ({"thresholds": np.array([np.nan, 0.1])}, "neighbours.thresholds is nan at feature 0"),
            ({"nominal": np.array([False, True])}, "neighbours.thresholds is 0.5 at feature 1, expected inf"),
        ],
    )
    def test_a_damaged_field_is_named(self, change, message):
        with pytest.raises(ModelError, match=message):
            replace(small(), **change)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"colour": np.zeros(1)}, "neighbours.colour is not a field of neighbours"),
            ({"laplace": np.array([1])}, r"neighbours.laplace is of int64 and shape \(1,\), expected bool"),
            ({"n_neighbors": np.array([1, 1])}, r"neighbours.n_neighbors is of int64 and shape \(2,\)"),
            ({"n_classes": np.array([2.0])}, "neighbours.n_classes is of float64"),
        ],
    )
    def test_a_damaged_array_is_named(self, change, message):
        with pytest.raises(ModelError, match=message):
            LazyNeighbors.from_arrays({**small().to_arrays(), **change})

    @pytest.mark.parametrize("name", small().to_arrays())
    def test_a_missing_array_is_named(self, name):
        arrays = small().to_arrays()
        del arrays[name]
        with pytest.raises(ModelError, match=f"neighbours.{name} is missing"):
            LazyNeighbors.from_arrays(arrays)


def test_a_gateway_needs_no_scikit_learn():
    code = "import sys, streamfs.classifiers.lazy; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
class TestExperiment:
    SCRIPT = Path(__file__).parents[2] / "examples" / "papers" / "query_sensitive.py"

    def test_compares_all_methods(self, script):
        if "STREAMFS_DATA" not in os.environ:
            pytest.skip("STREAMFS_DATA is not set: the data sets are not there")
        found = json.loads(script(self.SCRIPT, "--quick", "--json"))
        for selector in ("FSS", "Relief"):
            sizes = found["features"]["labor"]
            assert sizes[selector] <= sizes[f"{selector}+QSFS1"] <= sizes["all features"] == 16
            assert found["accuracies"]["iris"][f"{selector}+QSFS2"] > 85
        assert [test["print, 18 sets"] for test in found["tests"]] == pytest.approx(
            [test["stated"] for test in found["tests"]], abs=0.002
        )

    def test_reports_missing_data_sets(self, refusal, monkeypatch):
        monkeypatch.delenv("STREAMFS_DATA", raising=False)
        ended = refusal(self.SCRIPT, "--quick")
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.startswith("STREAMFS_DATA is not set")
        assert len(ended.stderr.splitlines()) == 1

"""The filters that search by the inconsistency rate: the Las Vegas filter and Finco."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles import selection as naive
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

from streamfs.data.described_instances import read_described
from streamfs.selection import EqualWidthDiscretiser, Finco, LasVegasFilter, inconsistency

NAN = float("nan")
DATA = os.environ.get("STREAMFS_DATA")


@st.composite
def coded(draw):
    """Rows of few values, and classes."""
    n_rows, n_features = draw(st.integers(2, 25)), draw(st.integers(1, 6))
    values = st.sampled_from([0.0, 1.0, 2.0, NAN])
    X = draw(st.lists(values, min_size=n_rows * n_features, max_size=n_rows * n_features))
    y = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    return np.reshape(X, (n_rows, n_features)), np.array(y)


thresholds = st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5, 1.0]) | st.integers(0, 25).map(lambda k: k / 25)


def draws(n_tries, n_features, seed):
    """Subsets as the filter draws them."""
    random = np.random.RandomState(seed)
    drawn = [np.flatnonzero(random.randint(2, size=n_features)) for _ in range(n_tries)]
    return [subset.tolist() for subset in drawn if len(subset)]


def assert_agrees(selector, X, y):
    """Check that mask, ranking and rate agree."""
    chosen = selector.ranking_
    assert chosen.dtype == np.int64
    assert_array_equal(np.sort(chosen), np.flatnonzero(selector.support_))
    assert_array_equal(selector.get_support(indices=True), np.sort(chosen))
    assert_array_equal(selector.transform(X), X[:, np.sort(chosen)])
    assert selector.inconsistency_ == naive.inconsistency(X[:, chosen], y)


class TestLasVegas:
    @given(table=coded(), threshold=thresholds, n_tries=st.integers(1, 30), seed=st.integers(0, 9))
    def test_selects_by_definition(self, table, threshold, n_tries, seed):
        X, y = table
        found = LasVegasFilter(threshold, n_tries, "passthrough", seed).fit(X, y)
        expected = naive.las_vegas(X, y, draws(n_tries, X.shape[1], seed), threshold)
        assert found.ranking_.tolist() == list(expected)
        assert_agrees(found, X, y)

    def test_all_features_if_no_subset_is_consistent_enough(self):
        found = LasVegasFilter(discretiser="passthrough").fit(np.ones((4, 3)), [0, 0, 1, 1])
        assert found.ranking_.tolist() == [0, 1, 2]
        assert found.inconsistency_ == 0.5

    def test_finds_the_features_that_determine_the_class(self):
        X = np.random.default_rng(0).integers(0, 2, (200, 8)).astype(float)
        found = LasVegasFilter(discretiser="passthrough", random_state=0).fit(X, X[:, 2] != X[:, 5])
        assert found.ranking_.tolist() == [2, 5]

    def test_the_draw_is_seeded(self):
        X, y = np.random.default_rng(1).normal(size=(40, 12)), np.arange(40) % 2
        one, same = (LasVegasFilter(0.1, 20, random_state=3).fit(X, y).ranking_ for _ in range(2))
        assert_array_equal(one, same)
        others = {tuple(LasVegasFilter(0.1, 20, random_state=seed).fit(X, y).ranking_) for seed in range(5)}
        assert len(others) > 1

    @pytest.mark.parametrize("max_tries", [0, -1, 2.5, "many"])
    def test_wrong_number_of_tries(self, max_tries):
        with pytest.raises(ValueError, match=f"max_tries is {max_tries!r}, expected a whole number, at least 1"):
            LasVegasFilter(max_tries=max_tries).fit([[0.0], [1.0]], [0, 1])


class TestFinco:
    @given(table=coded(), threshold=thresholds)
    def test_selects_by_definition(self, table, threshold):
        X, y = table
        found = Finco(threshold, "passthrough").fit(X, y)
        assert found.ranking_.tolist() == list(naive.finco(X, y, threshold))
        entered = [found.ranking_[: k + 1] for k in range(len(found.ranking_))]
        assert found.path_.tolist() == [naive.inconsistency(X[:, subset], y) for subset in entered]
        assert_agrees(found, X, y)

    def test_the_first_feature_enters_whatever_its_rate(self):
        found = Finco(discretiser="passthrough").fit(np.ones((4, 3)), [0, 0, 1, 1])
        assert found.ranking_.tolist() == [0]
        assert found.path_.tolist() == [0.5]

    def test_the_feature_that_reaches_the_threshold_is_kept(self):
        X = [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 0]]
        found = Finco(0.0, "passthrough").fit(X, [0, 1, 2, 3])
        assert found.ranking_.tolist() == [0, 1]
        assert found.path_.tolist() == [0.5, 0.0]

    @pytest.mark.skipif(not DATA, reason="STREAMFS_DATA is not set")
    @pytest.mark.parametrize("name", ["iris", "glass", "hepatitis", "breast-cancer"])
    def test_public_sets_with_kinds_and_missing_cells(self, name):
        found = read_described(Path(DATA, "uci", f"{name}.csv"))
        discretiser = EqualWidthDiscretiser(nominal=found.nominal)
        codes, y = discretiser.fit_transform(found.values), np.unique(found.labels, return_inverse=True)[1]
        selector = Finco(0.02, discretiser).fit(found.values, found.labels)
        assert selector.ranking_.tolist() == list(naive.finco(codes, y, 0.02))


both = pytest.mark.parametrize("selector", [LasVegasFilter(random_state=0), Finco()], ids=["lvf", "finco"])


@both
class TestBoth:
    def test_values_are_made_discrete_by_default(self, selector):
        random = np.random.default_rng(2)
        X = random.normal(size=(60, 5))
        y = X[:, 3] > 0
        codes = EqualWidthDiscretiser().fit_transform(X)
        found = selector.fit(X, y)
        assert found.inconsistency_ == inconsistency(codes[:, found.ranking_], y)
        assert_array_equal(found.discretiser_.transform(X), codes)

    def test_with_a_given_discretiser(self, selector):
        X = np.random.default_rng(3).normal(size=(60, 4))
        y = X[:, 1] > X[:, 2]
        bins = KBinsDiscretizer(5, encode="ordinal", strategy="uniform")
        found = type(selector)(threshold=0.1, discretiser=bins).fit(X, y)
        assert found.inconsistency_ == inconsistency(bins.fit_transform(X)[:, found.ranking_], y)
        assert found.discretiser_ is not bins

    def test_groups_change_nothing(self, selector):
        X, y = np.random.default_rng(4).normal(size=(30, 4)), np.arange(30) % 3
        alone = selector.fit(X, y).ranking_
        assert_array_equal(selector.fit(X, y, groups=np.arange(30) // 2).ranking_, alone)

    @pytest.mark.parametrize("threshold", [-0.1, 1.5, NAN, "0", None])
    def test_wrong_threshold(self, selector, threshold):
        with pytest.raises(ValueError, match=f"threshold is {threshold!r}, expected a number, at least 0"):
            type(selector)(threshold=threshold).fit([[0.0], [1.0]], [0, 1])

    @pytest.mark.parametrize(
        ("discretiser", "message"),
        [
            ("none", "discretiser is 'none', expected an object with fit_transform, or 'passthrough'"),
            (OneHotEncoder(sparse_output=False), r"discretiser makes values of shape \(3, 4\), expected \(3, 2\)"),
            (FunctionTransformer(lambda X: X / 0.0), "infinity"),
        ],
    )
    def test_wrong_discretiser(self, selector, discretiser, message):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
            type(selector)(discretiser=discretiser).fit([[1.0, 5.0], [2.0, 6.0], [2.0, 6.0]], [0, 1, 1])

    def test_continuous_classes(self, selector):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            selector.fit([[0.0], [1.0]], [0.5, 1.5])

    def test_scikit_learn_conventions(self, selector):
        check_estimator(selector, on_skip=None)

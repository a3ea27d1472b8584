"""The inconsistency rate, and the bins that make values discrete."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles import selection as naive
from sklearn.utils.estimator_checks import check_estimator

from streamfs.data.described_instances import read_described
from streamfs.selection import EqualWidthDiscretiser, SubsetInconsistency, inconsistency
from streamfs.selection._inconsistency import find_pair, find_row

NAN = float("nan")
DATA = os.environ.get("STREAMFS_DATA")

cells = st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e300, NAN])


@st.composite
def coded(draw, *, max_rows=25, max_features=4, values=cells):
    """Rows of few values, and classes."""
    n_rows, n_features = draw(st.integers(1, max_rows)), draw(st.integers(1, max_features))
    X = draw(st.lists(values, min_size=n_rows * n_features, max_size=n_rows * n_features))
    y = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    return np.reshape(X, (n_rows, n_features)), np.array(y)


class TestInconsistency:
    @given(table=coded())
    def test_equals_the_definition(self, table):
        assert inconsistency(*table) == naive.inconsistency(*table)

    @given(table=coded(), data=st.data())
    def test_of_a_subset_and_with_each_feature_added(self, table, data):
        X, y = table
        features = st.integers(0, X.shape[1] - 1)
        subset, tried = data.draw(st.lists(features, unique=True)), data.draw(st.lists(features, unique=True))
        rates = SubsetInconsistency(X, y)
        assert rates.rate(subset) == naive.inconsistency(X[:, subset], y)
        expected = [naive.inconsistency(X[:, [*subset, feature]], y) for feature in tried]
        assert_array_equal(rates.rates_with_each(subset, tried), expected)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys.modules[SubsetInconsistency.__module__], "ROOM", 0)
            assert_array_equal(rates.rates_with_each(subset, tried), expected)

    @given(table=coded(), n_allowed=st.integers(0, 6))
    def test_a_count_that_stops_early_is_on_the_same_side(self, table, n_allowed):
        X, y = table
        threshold = n_allowed / len(y)
        expected = naive.inconsistency(X, y)
        found = SubsetInconsistency(X, y).rate(range(X.shape[1]), threshold)
        assert found == expected if expected <= threshold else threshold < found <= expected

    @given(table=coded(), data=st.data())
    def test_neither_order_nor_names_matter(self, table, data):
        X, y = table
        rows = data.draw(st.permutations(range(len(y))))
        features = data.draw(st.permutations(range(X.shape[1])))
        names = np.array(["d", "a", "c", "b"])
        assert inconsistency(X[rows][:, features], names[y[rows]]) == inconsistency(X, y)

    @given(table=coded(max_features=5))
    def test_falls_with_features(self, table):
        X, y = table
        rates = [SubsetInconsistency(X, y).rate(range(k)) for k in range(X.shape[1] + 1)]
        assert rates == sorted(rates, reverse=True)

    @pytest.mark.parametrize("n_values", [2, 10, 10**6])
    def test_many_rows(self, n_values):
        random = np.random.default_rng(0)
        X, y = random.integers(0, n_values, (20_000, 3)).astype(float), random.integers(0, 4, 20_000)
        counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
        groups, inverse = np.unique(counts[0][:, :-1], axis=0, return_inverse=True)
        largest = np.zeros(len(groups), np.int64)
        np.maximum.at(largest, inverse.ravel(), counts[1])
        assert inconsistency(X, y) == (len(y) - largest.sum()) / len(y)

    def test_rows_whose_hashes_collide_are_distinguished(self):
        bits = np.arange(30, dtype=np.uint64)[:, None]
        slots, first_rows = np.array([1, 0], np.int32), np.zeros(1, np.int32)  # the first slot is that of row 0
        assert {int(find_row(bits, np.arange(1), row, slots, first_rows)) for row in range(1, 30)} == {1}

    def test_classes_of_a_group_whose_hashes_collide_are_distinguished(self):
        slots, groups, labels = np.array([1, 0], np.int32), np.array([3], np.int32), np.array([5], np.int32)
        others = [(3, label) for label in range(6, 30)] + [(group, 5) for group in range(4, 30)]
        assert {int(find_pair(*pair, slots, groups, labels)) for pair in others} == {1}

    def test_without_features_all_rows_are_one_group(self):
        assert inconsistency(np.zeros((5, 0)), [0, 0, 1, 2, 2]) == 0.6
        assert SubsetInconsistency(np.zeros((5, 2)), np.array([0, 0, 1, 2, 2])).rate([]) == 0.6

    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            ([[0.0]], [0, 1], "inconsistent numbers of samples"),
            ([[np.inf]], [0], "infinity"),
            ([[0.0], [1.0]], [0.5, 1.5], "Unknown label type"),
            (np.zeros((0, 2)), [], "0 sample"),
        ],
    )
    def test_wrong_use(self, X, y, message):
        with pytest.raises(ValueError, match=message):
            inconsistency(X, y)

    def test_an_unknown_feature(self):
        rates = SubsetInconsistency(np.zeros((3, 2)), np.zeros(3))
        for call in (
            lambda: rates.rate([2]),
            lambda: rates.rates_with_each([5], [0]),
            lambda: rates.rates_with_each([], [2]),
        ):
            with pytest.raises(IndexError, match="out of bounds"):
                call()

    @pytest.mark.skipif(not DATA, reason="STREAMFS_DATA is not set")
    def test_iris_as_in_dprep(self):
        """The manual of R's dprep gives 0.006666667 for iris in bins of equal width, not their number."""
        iris = read_described(Path(DATA, "uci", "iris.csv"))
        rates = {
            rule: inconsistency(EqualWidthDiscretiser(rule).fit_transform(iris.values), iris.labels)
            for rule in ("sturges", "scott", "freedman-diaconis")
        }
        assert rates == {"sturges": 1 / 150, "scott": 1 / 150, "freedman-diaconis": 2 / 150}


numbers = st.integers(-50, 50).map(float) | st.just(NAN)
tables = coded(max_rows=30, values=numbers)


class TestEqualWidth:
    @given(table=tables)
    def test_bins_and_codes_are_as_defined(self, table):
        X, y = table
        for supervised, n_bins_of in (
            (False, naive.freedman_diaconis_bins),
            (True, lambda x: naive.supervised_bins(x, y)),
        ):
            discretiser = EqualWidthDiscretiser(supervised=supervised)
            codes = discretiser.fit_transform(X, y)
            n_bins = [n_bins_of(x) for x in X.T]
            assert discretiser.n_bins_.tolist() == n_bins
            expected = [naive.equal_width_codes(x, n) for x, n in zip(X.T, n_bins, strict=True)]
            assert_array_equal(codes, np.transpose(expected))

    @given(x=st.lists(st.integers(-50, 50), min_size=2, max_size=40).filter(lambda x: len(set(x)) > 1))
    def test_other_rules(self, x):
        x = np.array(x, float)
        sturges = EqualWidthDiscretiser("sturges").fit(x[:, None])
        assert sturges.n_bins_ == [np.ceil(np.log2(len(x))) + 1]
        scott = EqualWidthDiscretiser("scott").fit(x[:, None])
        width = 3.49 * np.std(x, ddof=1) * len(x) ** (-1 / 3)
        assert scott.n_bins_ == [np.ceil(np.ptp(x) / width)]

    def test_scotts_factor(self):
        """Uniform values have a deviation of range / sqrt(12): sqrt(12) / 3.49 n^(1/3) = 99.26 bins."""
        assert EqualWidthDiscretiser("scott").fit(np.arange(1e6)[:, None]).n_bins_ == [100]

    def test_a_width_of_zero_falls_back_on_sturges(self):
        x = np.array([0.0] * 15 + [1.0])[:, None]
        assert EqualWidthDiscretiser("freedman-diaconis").fit(x).n_bins_ == [5]
        assert EqualWidthDiscretiser("scott", supervised=True).fit(x, [0] * 15 + [1]).n_bins_ == [5]

    @given(x=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), n_bins=st.integers(1, 20))
    def test_codes_rise_with_values_and_fill_the_range(self, x, n_bins):
        x = np.sort(x)
        codes = EqualWidthDiscretiser(n_bins).fit_transform(x[:, None]).ravel()
        assert (np.diff(codes) >= 0).all()
        assert codes[0] == 0
        assert codes[-1] == (0 if x[0] == x[-1] else n_bins - 1)

    def test_values_outside_the_range_are_in_the_outer_bins(self):
        discretiser = EqualWidthDiscretiser(4).fit([[0.0], [8.0]])
        found = discretiser.transform([[-1e308], [-0.1], [8.0], [1e308], [NAN]]).ravel()
        assert_array_equal(found, [0, 0, 3, 3, NAN])

    def test_constant_and_empty_features(self):
        discretiser = EqualWidthDiscretiser().fit([[NAN, 3.0], [NAN, 3.0]])
        assert discretiser.n_bins_.tolist() == [1, 1]
        assert_array_equal(discretiser.transform([[5.0, 2.0], [NAN, 9.0]]), [[0, 0], [NAN, 0]])

    def test_nominal_features_are_unchanged(self):
        X = np.array([[0.0, 7.0], [5.0, NAN], [9.0, 7.5]])
        discretiser = EqualWidthDiscretiser(2, nominal=[1])
        assert_array_equal(discretiser.fit_transform(X), [[0, 7], [1, NAN], [1, 7.5]])
        assert discretiser.n_bins_.tolist() == [2, 0]

    def test_the_number_of_bins_is_bounded(self):
        x = np.array([0.0, 1e-300, 2e-300, 1e300])[:, None]
        discretiser = EqualWidthDiscretiser().fit(np.repeat(x, [10, 10, 10, 1], axis=0))
        assert discretiser.n_bins_ == [2**53]
        assert_array_equal(discretiser.transform(x).ravel(), [0, 0, 0, 2**53 - 1])

    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            ({"n_bins": "doane"}, "n_bins is 'doane', expected 'freedman-diaconis' or 'scott' or 'sturges'"),
            ({"n_bins": 0}, "n_bins is 0, expected 'freedman-.*, or a whole number, 1 to"),
            ({"n_bins": 2.5}, "n_bins is 2.5, expected"),
            ({"n_bins": None}, "n_bins is None, expected"),
            ({"n_bins": 3, "supervised": True}, "supervised is True but n_bins is 3, expected one of freedman"),
            ({"nominal": [2]}, "nominal holds 2, expected features from 0 to 1"),
        ],
    )
    def test_wrong_parameters(self, chosen, message):
        with pytest.raises(ValueError, match=message):
            EqualWidthDiscretiser(**chosen).fit([[0.0, 1.0], [1.0, 2.0]], [0, 1])

    def test_an_infinite_range(self):
        with pytest.raises(
            ValueError, match=r"feature 1 ranges from -1e\+308 to 1e\+308, expected a finite range"
        ):
            EqualWidthDiscretiser().fit([[0.0, -1e308], [1.0, 1e308]])

    @pytest.mark.parametrize("supervised", [False, True])
    def test_scikit_learn_conventions(self, supervised):
        check_estimator(EqualWidthDiscretiser(supervised=supervised), on_skip=None)

"""Criteria of subsets: the fast evaluators against the plain ones, folds, and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles.selection import inconsistency
from sklearn.model_selection import LeaveOneOut, RepeatedStratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from streamfs.classifiers import neighbours
from streamfs.classifiers.c45 import C45Classifier
from streamfs.classifiers.kernel_density import KernelDensityClassifier
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.errors import DataError
from streamfs.selection.criteria import Consistency, EstimatorEvaluator, WrapperAccuracy
from streamfs.selection.evaluators import StepEvaluator
from streamfs.selection.folds import make_folds
from streamfs.selection.wrapped_neighbours import NeighborsEvaluator

KINDS = ("smooth", "coarse", "close", "binary", "wild", "constant")


def make_column(rng, kind, n_rows):
    """Values with or without ties; some equal in single precision, or lost beside an outlier."""
    values = rng.normal(size=n_rows)
    if kind == "coarse":
        return np.round(2.0 * values)
    if kind == "close":
        return np.round(2.0 * values) + 1e-9 * rng.integers(3, size=n_rows)
    if kind == "binary":
        return (values > 0.0).astype(float)
    if kind == "wild":
        return np.where(rng.random(n_rows) < 0.1, 1e25, 1.0) * values
    return np.full(n_rows, 3.0) if kind == "constant" else values


def make_table(seed, n_rows, kinds, missing):
    rng = np.random.default_rng(seed)
    X = np.column_stack([make_column(rng, kind, n_rows) for kind in kinds])
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.permutation(np.arange(n_rows) % 3)


tables = st.builds(
    make_table,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(9, 40),
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=6),
    missing=st.sampled_from([0.0, 0.0, 0.2]),
)
classifiers = st.builds(
    NeighborsClassifier,
    n_neighbors=st.integers(1, 4),
    nominal=st.sampled_from([None, [0], [0, 1]]),
    power=st.sampled_from([1, 2]),
    scale=st.booleans(),
    ties=st.sampled_from(["first", "all"]),
)


def evaluators(classifier, X, y, groups=None, cv=3):
    """The fast evaluator, and the one that fits the classifier to each fold."""
    fast = WrapperAccuracy(classifier, cv).prepare(X, y, groups)
    assert isinstance(fast, NeighborsEvaluator)
    return fast, EstimatorEvaluator(classifier, X, y, make_folds(X, y, groups, cv, 0))


def assert_same(fast, plain, subset, n_features):
    out = [f for f in range(n_features) if f not in subset]
    assert fast(subset) == plain(subset)
    assert fast.with_each(subset, out).tolist() == [plain([*subset, f]) for f in out]
    if len(subset) > 1:
        expected = [plain([g for g in subset if g != f]) for f in subset]
        assert fast.without_each(subset, subset).tolist() == expected


class TestNeighborsAreScoredAsIfFitted:
    @settings(deadline=None, max_examples=75)
    @given(table=tables, classifier=classifiers, seed=st.integers(0, 2**32 - 1))
    def test_to_the_bit(self, table, classifier, seed):
        X, y = table
        rng = np.random.default_rng(seed)
        fast, plain = evaluators(classifier, X, y)
        for _ in range(2):
            subset = rng.permutation(X.shape[1])[: rng.integers(1, X.shape[1] + 1)].tolist()
            assert_same(fast, plain, subset, X.shape[1])

    @pytest.mark.parametrize(
        "cv", [2, LeaveOneOut(), RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)]
    )
    def test_in_any_folds(self, cv):
        X, y = make_table(1, 30, ("smooth", "coarse", "binary"), 0.1)
        fast, plain = evaluators(NeighborsClassifier(), X, y, cv=cv)
        assert_same(fast, plain, [2, 0], 3)

    def test_in_folds_given_as_rows_in_any_order(self):
        X, y = make_table(1, 30, ("coarse", "binary"), 0.0)
        rows = np.random.default_rng(0).permutation(30)
        fast, plain = evaluators(NeighborsClassifier(), X, y, cv=[(rows[:20], rows[20:]), (rows[12:], [])])
        assert_same(fast, plain, [1], 2)

    def test_in_folds_of_groups(self):
        X, y = make_table(2, 40, ("smooth", "coarse"), 0.0)
        fast, plain = evaluators(NeighborsClassifier(1), X, y, np.arange(40) // 3)
        assert_same(fast, plain, [0], 2)

    def test_more_rows_than_a_block_and_more_queries_than_a_tile(self):
        X, y = make_table(3, 1300, ("coarse", "close", "smooth", "coarse"), 0.01)
        fast, plain = evaluators(NeighborsClassifier(5, nominal=[3]), X, y, cv=4)
        assert_same(fast, plain, [3, 1], 4)

    def test_with_a_row_farther_than_single_precision_can_hold(self):
        X, y = np.arange(12.0)[:, np.newaxis], np.zeros(12, int)
        X[5], y[[0, 5]] = 1e30, 1
        fast, plain = evaluators(NeighborsClassifier(1), X, y, cv=LeaveOneOut())
        assert fast([0]) == plain([0]) == 10 / 12

    def test_by_any_number_of_threads(self, monkeypatch):
        X, y = make_table(4, 60, ("coarse", "close", "smooth", "coarse"), 0.1)
        fast, _ = evaluators(NeighborsClassifier(), X, y)
        expected = fast.with_each([1], [0, 2, 3])
        monkeypatch.setattr(neighbours, "MUCH_WORK", 0)
        for n_threads in (2, 3, 50):
            monkeypatch.setattr(neighbours, "n_processors", lambda n=n_threads: n)
            assert_array_equal(fast.with_each([1], [0, 2, 3]), expected)

    def test_the_empty_subset_can_be_added_to(self):
        X, y = make_table(5, 30, ("coarse", "smooth"), 0.0)
        fast, plain = evaluators(NeighborsClassifier(), X, y)
        assert fast.with_each([], [0, 1]).tolist() == [plain([0]), plain([1])]

    @pytest.mark.parametrize(
        ("subset", "features", "error", "message"),
        [
            ([0, 3], [], IndexError, r"subset is \[0, 3\], expected features from 0 to 2"),
            ([0], [-1], IndexError, r"subset is \[-1\]"),
            ([0, 0], [], ValueError, r"subset is \[0, 0\], expected each feature once"),
            ([0, 1], [2, 1], ValueError, "expected one without 1, which is added"),
        ],
    )
    def test_an_impossible_step_is_refused(self, subset, features, error, message):
        X, y = make_table(5, 30, ("coarse", "smooth", "smooth"), 0.0)
        fast, _ = evaluators(NeighborsClassifier(), X, y)
        with pytest.raises(error, match=message):
            fast.with_each(subset, features)

    def test_removing_an_absent_or_the_last_feature_is_refused(self):
        X, y = make_table(5, 30, ("coarse", "smooth", "smooth"), 0.0)
        fast, _ = evaluators(NeighborsClassifier(), X, y)
        with pytest.raises(ValueError, match="expected one with 2, which is removed"):
            fast.without_each([0, 1], [2])
        with pytest.raises(ValueError, match=r"subset is \[1\], expected at least 2 features"):
            fast.without_each([1], [1])

    def test_more_neighbours_than_a_fold_leaves_are_refused(self):
        X, y = make_table(5, 12, ("coarse", "smooth"), 0.0)
        with pytest.raises(ValueError, match="n_neighbors is 9, expected 1 to the number of rows"):
            WrapperAccuracy(NeighborsClassifier(9), 3).prepare(X, y)


class TestWrapperAccuracy:
    def test_counts_correct_rows_over_all_folds(self):
        X, y = make_table(6, 41, ("smooth", "coarse", "smooth"), 0.0)
        folds = [(fold.training, fold.test) for fold in make_folds(X, y, None, 4, 7)]
        expected = np.mean(cross_val_predict(GaussianNB(), X[:, [0, 2]], y, cv=folds) == y)
        assert WrapperAccuracy(GaussianNB(), 4, random_state=7).prepare(X, y)([2, 0]) == expected

    def test_wraps_a_pipeline(self):
        X, y = make_table(6, 41, ("smooth", "coarse", "smooth"), 0.0)
        evaluate = WrapperAccuracy(make_pipeline(StandardScaler(), GaussianNB())).prepare(X, y)
        assert not isinstance(evaluate, StepEvaluator)
        assert evaluate([1]) == WrapperAccuracy(GaussianNB()).prepare(X, y)([1])

    @pytest.mark.parametrize("kind", [C45Classifier, NeighborsClassifier])
    def test_nominal_features_are_those_of_the_subset(self, kind):
        X, y = make_table(7, 60, ("smooth", "coarse", "coarse"), 0.0)
        folds = make_folds(X, y, None, 3, 0)
        expected = EstimatorEvaluator(kind(nominal=[0]), X[:, [1, 2]], y, folds)([0, 1])
        assert EstimatorEvaluator(kind(nominal=[1]), X, y, folds)([2, 1]) == expected

    @pytest.mark.parametrize("classifier", [NeighborsClassifier(2), KernelDensityClassifier()])
    def test_has_fast_evaluators_with_the_same_result(self, classifier):
        X, y = make_table(7, 60, ("smooth", "coarse", "smooth"), 0.1)
        fast = WrapperAccuracy(classifier, 4).prepare(X, y)
        assert not isinstance(fast, EstimatorEvaluator)
        assert fast([0, 1]) == EstimatorEvaluator(classifier, X, y, make_folds(X, y, None, 4, 0))([0, 1])

    def test_its_classifier_is_not_fitted(self):
        X, y = make_table(7, 60, ("smooth", "coarse", "coarse"), 0.0)
        classifier = C45Classifier(nominal=[1])
        WrapperAccuracy(classifier).prepare(X, y)([1, 2])
        assert classifier.nominal == [1]
        assert not hasattr(classifier, "tree_")

    @pytest.mark.parametrize("classifier", [NeighborsClassifier(), DecisionTreeClassifier()])
    def test_an_empty_subset_is_refused(self, classifier):
        X, y = make_table(7, 60, ("smooth", "coarse"), 0.0)
        with pytest.raises(ValueError, match="subset is empty, expected at least one feature"):
            WrapperAccuracy(classifier).prepare(X, y)([])


class TestFolds:
    def test_rows_of_a_group_stay_together(self):
        X, y = make_table(8, 60, ("smooth",), 0.0)
        groups = np.random.default_rng(0).integers(20, size=60)
        for fold in make_folds(X, y, groups, 5, 0):
            assert not set(groups[fold.training]) & set(groups[fold.test])

    def test_every_row_is_tested_once_and_every_class_trained_on(self):
        y = np.repeat([0, 1, 2], [2, 9, 20])
        folds = make_folds(np.zeros((31, 1)), y, None, 5, 0)
        assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(31))
        assert all(len(np.unique(y[fold.training])) == 3 for fold in folds)

    def test_the_seed_decides(self):
        X, y = make_table(8, 60, ("smooth",), 0.0)
        one, two, other = (make_folds(X, y, None, 5, seed)[0].test.tolist() for seed in (1, 1, 2))
        assert one == two != other

    @pytest.mark.parametrize(
        ("y", "groups", "cv", "error", "message"),
        [
            ([0, 0, 0, 0], None, 2, DataError, "y has one class only, '0'"),
            (["a", "b", "b", "b"], None, 2, DataError, "class 'a' has 1 sample only, expected at least 2"),
            ([0, 0, 1, 1], [0, 0, 1, 2], 2, DataError, "class '0' has 1 group only, expected at least 2"),
            ([0, 0, 1, 1], None, 3, ValueError, "cv is 3, expected 2 to 2 folds"),
            ([0, 0, 1, 1], None, 1, ValueError, "cv is 1, expected 2 to 2 folds"),
            ([0, 0, 1, 1], None, "five", ValueError, "cv is 'five', expected a number of folds"),
            ([0, 0, 1, 1], None, None, ValueError, "cv is None, expected a number of folds"),
            ([0, 0, 1, 1], None, [], DataError, "which tests no row"),
        ],
    )
    def test_invalid_folds_are_refused(self, y, groups, cv, error, message):
        with pytest.raises(error, match=message):
            make_folds(np.zeros((4, 1)), np.array(y), groups, cv, 0)


class TestConsistency:
    @settings(deadline=None)
    @given(table=tables)
    def test_is_one_less_the_inconsistency(self, table):
        X, y = table
        evaluate = Consistency("passthrough").prepare(X, y)
        everything = list(range(X.shape[1]))
        assert evaluate(everything) == 1.0 - inconsistency(X, y)
        assert evaluate.with_each(everything[1:], [0])[0] == evaluate(everything)
        assert evaluate.without_each(everything, [0])[0] == 1.0 - inconsistency(X[:, 1:], y)

    def test_discretises(self):
        X, y = make_table(9, 200, ("smooth", "smooth"), 0.0)
        assert Consistency("passthrough").prepare(X, y)([0]) == 1.0
        assert Consistency().prepare(X, y)([0]) < 0.8

    def test_an_unknown_discretiser_is_refused(self):
        with pytest.raises(ValueError, match="discretiser is 'none', expected an object with fit_transform"):
            Consistency("none").prepare(np.zeros((2, 1)), np.array([0, 1]))

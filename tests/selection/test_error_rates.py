"""Error rates against manual counts, and their invariants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, train_test_split
from sklearn.utils import resample

from streamfs.selection.error_rates import (
    ErrorRate,
    bootstrap,
    cross_validation,
    hold_out,
    leave_one_out,
    resubstitution,
)


class NearestMean(ClassifierMixin, BaseEstimator):
    """A nearest-mean classifier that records the rows it was trained on and those it predicted."""

    trained, predicted = [], []

    def fit(self, X, y):
        NearestMean.trained.append(set(X[:, 0].tolist()))
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label, 1:].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        NearestMean.predicted.append(set(X[:, 0].tolist()))
        return self.classes_[((X[:, None, 1:] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


@pytest.fixture(autouse=True)
def _forget():
    NearestMean.trained, NearestMean.predicted = [], []


def two_clouds(n_rows=40, seed=0):
    """Rows with their number in the first column, which is not used for training, and their labels."""
    random = np.random.default_rng(seed)
    labels = np.array(["near", "far"])[np.arange(n_rows) % 2]
    values = random.normal(size=(n_rows, 2)) + (labels == "far")[:, None]
    return np.column_stack([np.arange(n_rows), values]), labels


def n_wrong(X, y, known, predicted):
    """Count, one by one, the query rows that a classifier of the known rows gets wrong."""
    count = 0
    for row in predicted:
        means = {label: X[[i for i in known if y[i] == label], 1:].mean(axis=0) for label in np.unique(y[known])}
        nearest = min(sorted(means), key=lambda label: ((X[row, 1:] - means[label]) ** 2).sum())
        count += nearest != y[row]
    return count


def test_resubstitution_predicts_the_training_rows():
    X, y = two_clouds()
    measured = resubstitution(NearestMean(), X, y)
    assert measured == ErrorRate(n_wrong(X, y, np.arange(40), np.arange(40)) / 40, 40)
    assert NearestMean.trained == NearestMean.predicted == [set(range(40))]


def test_the_standard_error_is_that_of_a_share_of_independent_rows():
    assert ErrorRate(0.2, 100).standard_error == pytest.approx(0.04)
    assert ErrorRate(0.0, 10).standard_error == 0.0


def test_hold_out_predicts_only_the_rows_held_out():
    X, y = two_clouds()
    known, held = train_test_split(np.arange(40), test_size=10, stratify=y, random_state=3)
    measured = hold_out(NearestMean(), X, y, test_size=10, random_state=3)
    assert measured == ErrorRate(n_wrong(X, y, known, held) / 10, 10)
    assert NearestMean.trained == [set(known)]
    assert NearestMean.predicted == [set(held)]
    assert (y[held] == "far").sum() == 5


def test_hold_out_uses_a_third_by_default():
    assert hold_out(NearestMean(), *two_clouds(), random_state=0).n_rows == 14


def test_leave_one_out_trains_on_all_other_rows():
    X, y = two_clouds(20)
    by_hand = sum(n_wrong(X, y, [i for i in range(20) if i != row], [row]) for row in range(20))
    assert leave_one_out(NearestMean(), X, y) == ErrorRate(by_hand / 20, 20)


def test_cross_validation_counts_the_errors_of_all_folds_over_all_rows():
    X, y = two_clouds(23)
    folds = StratifiedKFold(5, shuffle=True, random_state=np.random.RandomState(7))
    by_hand = sum(n_wrong(X, y, *sides) for _ in range(3) for sides in folds.split(X, y))
    measured = cross_validation(NearestMean(), X, y, n_folds=5, n_repetitions=3, random_state=7)
    assert measured == ErrorRate(by_hand / 69, 23)
    assert not any(
        known & queries for known, queries in zip(NearestMean.trained, NearestMean.predicted, strict=True)
    )


def test_groups_are_never_on_both_sides_of_a_fold():
    X, y = two_clouds()
    groups = np.arange(40) // 4
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=np.random.RandomState(1))
    by_hand = sum(n_wrong(X, y, *sides) for sides in folds.split(X, y, groups))
    measured = cross_validation(NearestMean(), X, y, n_folds=5, groups=groups, random_state=1)
    assert measured == ErrorRate(by_hand / 40, 40)
    for known, queries in zip(NearestMean.trained, NearestMean.predicted, strict=True):
        assert not {row // 4 for row in known} & {row // 4 for row in queries}


def test_a_class_with_fewer_rows_than_folds_gives_no_warning():
    X, y = two_clouds(21)
    y[:3] = "rare"
    assert cross_validation(NearestMean(), X, y, n_folds=5, random_state=0).n_rows == 21


@pytest.mark.parametrize("method", ["e0", "632"])
def test_bootstrap_predicts_the_rows_that_a_sample_leaves_out(method):
    X, y = two_clouds(12)
    random, rows = np.random.RandomState(5), np.arange(12)
    wrong = tested = 0
    for _ in range(2):
        drawn = resample(rows, stratify=y, random_state=random)
        left_out = [row for row in rows if row not in drawn]
        wrong, tested = wrong + n_wrong(X, y, drawn, left_out), tested + len(left_out)
    e0, seen = wrong / tested, n_wrong(X, y, rows, rows) / 12
    expected = {"e0": e0, "632": 0.632 * e0 + 0.368 * seen}
    measured = bootstrap(NearestMean(), X, y, n_samples=2, method=method, random_state=5)
    assert measured.rate == pytest.approx(expected[method], abs=1e-15)
    assert measured.n_rows == len(set().union(*NearestMean.predicted[:2]))


def test_a_bootstrap_sample_lacks_no_class():
    X, y = two_clouds(30)
    y[0] = "rare"
    bootstrap(NearestMean(), X, y, n_samples=20, method="e0", random_state=0)
    assert all(0 in trained for trained in NearestMean.trained)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000))
def test_an_error_rate_is_the_same_for_the_same_seed(seed):
    X, y = two_clouds(24, seed)
    for estimate in (hold_out, cross_validation, bootstrap):
        first, second = (estimate(NearestMean(), X, y, random_state=seed) for _ in range(2))
        assert first == second
        assert 0.0 <= first.rate <= 1.0


@pytest.mark.parametrize("method", ["e0", "632"])
def test_a_classifier_that_is_always_wrong_errs_always(method):
    class Contrary(NearestMean):
        def predict(self, X):
            return np.where(super().predict(X) == "near", "neither", "none")

    X, y = two_clouds()
    for measured in (
        resubstitution(Contrary(), X, y),
        hold_out(Contrary(), X, y),
        leave_one_out(Contrary(), X, y),
        cross_validation(Contrary(), X, y),
        bootstrap(Contrary(), X, y, method=method),
    ):
        assert measured.rate == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("estimate", "chosen", "message"),
    [
        (cross_validation, {"n_repetitions": 0}, "n_repetitions is 0, expected at least 1"),
        (cross_validation, {"n_folds": 9, "groups": [0, 1] * 20}, "n_folds is 9, expected at most .* groups, 2"),
        (cross_validation, {"n_folds": 30}, "n_splits=30 cannot be greater"),
        (bootstrap, {"n_samples": 0}, "n_samples is 0, expected at least 1"),
        (bootstrap, {"method": "e1"}, "method is 'e1', expected 'e0' or '632'"),
    ],
)
def test_a_wrong_parameter_is_named(estimate, chosen, message):
    with pytest.raises(ValueError, match=message):
        estimate(NearestMean(), *two_clouds(), **chosen)


def test_samples_that_leave_no_row_out_are_refused():
    with pytest.raises(ValueError, match="none of 5 samples leaves a row out"):
        bootstrap(NearestMean(), np.eye(2), np.array([0, 1]), n_samples=5)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(3), [0, 1], "inconsistent numbers of samples"),
        (np.eye(2), [[0], [1]], r"y has shape \(2, 1\)"),
        (np.empty((0, 1)), [], r"y has shape \(0,\)"),
    ],
)
def test_rows_without_one_label_each_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        resubstitution(NearestMean(), X, y)

"""Dependency-aware ranking and its stopping rules against the oracle, and their laws."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from matplotlib.image import imread
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dependency_aware as naive
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.selection.criteria import Consistency, WrapperAccuracy
from streamfs.selection.dependency_aware import DependencyAwareRanking
from streamfs.selection.stopping import (
    Check,
    OrderChange,
    RelativeValueChange,
    ValueChange,
    order_change,
    ranked,
    value_change,
)

EXACT = {"rtol": 0, "atol": 1e-12}
EXPERIMENT = Path(__file__).parents[2] / "examples" / "papers" / "dependency_aware.py"


class RecordedCriterion:
    """A criterion that scores by a function of the subset, and records its calls in order."""

    def __init__(self, evaluate):
        self.evaluate, self.probes, self.qualities, self.groups = evaluate, [], [], None

    def prepare(self, X, y, groups=None):  # noqa: ARG002 - the protocol
        self.groups = groups

        def evaluate(subset):
            self.probes.append(tuple(subset))
            self.qualities.append(self.evaluate(subset))
            return self.qualities[-1]

        return evaluate


def scattered(subset):
    """A number in [0, 1) unrelated to the features, the same for the same subset."""
    return float(np.random.default_rng(list(subset)).random())


def weighted(subset):
    """Grows with the features' indices."""
    return sum(0.25 * feature for feature in subset)


def fitted(evaluate, n_columns, **chosen):
    criterion = RecordedCriterion(evaluate)
    y = np.arange(4) % 2
    ranking = DependencyAwareRanking(criterion, **{"random_state": 0, **chosen})
    return ranking.fit(np.zeros((4, n_columns)), y), criterion


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 12), st.integers(1, 12), st.integers(1, 60), st.integers(0, 99))
def test_coefficients_equal_the_oracle(n_features, max_probe, n_probes, seed):
    chosen = {"max_probe": min(max_probe, n_features), "n_probes": n_probes, "random_state": seed}
    criterion = RecordedCriterion(scattered)
    ranking = DependencyAwareRanking(criterion, **chosen)
    X, y = np.zeros((4, n_features)), [0, 0, 1, 1]
    try:
        ranking.fit(X, y)
    except ValueError as error:
        assert "expected it to be in some and out of others" in str(error)  # noqa: PT017 - both ends are legal
    expected = naive.daf(criterion.probes, criterion.qualities, n_features)
    assert hasattr(ranking, "daf_") == (not np.isnan(expected).any())
    assert len(criterion.probes) == n_probes
    if hasattr(ranking, "daf_"):
        assert_allclose(ranking.daf_, expected, **EXACT)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 9), st.integers(1, 20), st.integers(60, 90), st.integers(0, 99))
def test_traces_equal_the_oracle_over_the_probes_so_far(n_features, check_every, n_probes, seed):
    ranking, criterion = fitted(
        scattered, n_features, check_every=check_every, n_probes=n_probes, random_state=seed
    )
    ends = np.arange(check_every, n_probes + 1, check_every)
    coefficients = [naive.daf(criterion.probes[:n], criterion.qualities[:n], n_features) for n in ends]
    first = next(i for i, daf in enumerate(coefficients) if not np.isnan(daf).any())
    pairs = list(zip(coefficients[first:], coefficients[first + 1 :], strict=False))
    assert_array_equal(ranking.checked_at_, ends[first:])
    for ours, oracle in (
        (ranking.order_changes_, naive.order_change),
        (ranking.value_changes_, naive.value_change),
    ):
        assert_allclose(ours, [np.nan, *(oracle(before, after) for before, after in pairs)], **EXACT)


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(-3, 3), min_size=n, max_size=n).map(np.array)] * 2)
    )
)
def test_changes_equal_the_oracle_with_ties(pair):
    before, after = (daf / 4 for daf in pair)
    assert order_change(before, after) == pytest.approx(naive.order_change(before, after), abs=1e-12)
    assert value_change(before, after) == pytest.approx(naive.value_change(before, after), abs=1e-12)


def test_a_probe_is_uniform_in_size_and_in_its_features():
    _, criterion = fitted(scattered, 10, max_probe=4, n_probes=4000)
    for probe in criterion.probes:
        assert list(probe) == sorted(set(probe))
        assert {type(feature) for feature in probe} == {int}
    sizes = np.bincount([len(probe) for probe in criterion.probes], minlength=6)
    assert_array_equal(sizes[[0, 5]], 0)
    assert_allclose(sizes[1:5] / 4000, 0.25, atol=0.03)
    counts = np.bincount(np.concatenate(criterion.probes), minlength=10)
    assert_allclose(counts / 4000, 0.25, atol=0.03)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_workers_change_no_bit(n_jobs):
    one, _ = fitted(scattered, 8, n_probes=97, check_every=10)
    many, _ = fitted(scattered, 8, n_probes=97, check_every=10, n_jobs=n_jobs)
    for name in ("daf_", "ranking_", "order_changes_", "value_changes_"):
        assert_array_equal(getattr(one, name), getattr(many, name))


def test_workers_may_be_processes():
    expected, _ = fitted(scattered, 8, n_probes=40, check_every=10)
    with parallel_config("loky"):
        ranking, criterion = fitted(scattered, 8, n_probes=40, check_every=10, n_jobs=2)
    assert criterion.probes == []
    assert_array_equal(ranking.daf_, expected.daf_)


@pytest.mark.parametrize("check_every", [1, 7, 50, 1000])
def test_checking_more_often_changes_no_coefficient(check_every):
    expected, _ = fitted(scattered, 8, n_probes=100)
    assert_array_equal(fitted(scattered, 8, n_probes=100, check_every=check_every)[0].daf_, expected.daf_)


def test_a_longer_run_continues_a_shorter_one():
    _, short = fitted(scattered, 8, n_probes=30, check_every=7)
    _, longer = fitted(scattered, 8, n_probes=90, check_every=11)
    assert longer.probes[:30] == short.probes


@pytest.mark.parametrize(
    ("rule", "stops"),
    [
        (OrderChange(0.2), lambda run, k: run.order_changes_[k] < 0.2),
        (ValueChange(0.01), lambda run, k: run.value_changes_[k] < 0.01),
        (RelativeValueChange(0.2), lambda run, k: run.value_changes_[k] < 0.2 * run.value_changes_[1]),
        (lambda checks: len(checks) == 3, lambda _, k: k == 2),
    ],
)
def test_a_rule_stops_at_its_first_check(rule, stops):
    whole, _ = fitted(scattered, 8, n_probes=2000, check_every=20)
    first = next(k for k in range(len(whole.checked_at_)) if stops(whole, k))
    assert 1 < first < len(whole.checked_at_) - 1
    stopped, criterion = fitted(scattered, 8, n_probes=2000, check_every=20, stopping=rule)
    assert stopped.stopped_by_ is rule
    assert stopped.n_probes_ == len(criterion.probes) == whole.checked_at_[first]
    assert_array_equal(stopped.value_changes_, whole.value_changes_[: first + 1])
    assert_array_equal(stopped.daf_, fitted(scattered, 8, n_probes=stopped.n_probes_)[0].daf_)


def test_without_a_rule_all_probes_are_drawn():
    ranking, criterion = fitted(scattered, 8, n_probes=107, check_every=10)
    assert ranking.stopped_by_ is None
    assert ranking.n_probes_ == len(criterion.probes) == 107
    assert ranking.checked_at_[-1] == 100


def test_a_rule_sees_the_coefficients_and_their_order():
    seen = []
    ranking, _ = fitted(scattered, 8, n_probes=40, check_every=20, stopping=seen.extend)
    assert ranking.stopped_by_ is None
    assert seen[-1].n_probes == 40
    assert_array_equal(seen[-1].daf, ranking.daf_)
    assert_array_equal(seen[-1].ranking, ranking.ranking_)


def test_checks_begin_when_every_feature_has_been_in_and_out():
    ranking, criterion = fitted(scattered, 6, n_probes=80, check_every=1, max_probe=1)
    first = int(ranking.checked_at_[0])
    assert set().union(*criterion.probes[:first]) == set(range(6))
    assert set().union(*criterion.probes[: first - 1]) != set(range(6))
    assert_array_equal(np.isnan(ranking.value_changes_), np.arange(len(ranking.checked_at_)) == 0)


def test_a_criterion_that_never_changes_leaves_the_features_in_their_order():
    ranking, _ = fitted(lambda _: 0.1, 7, n_probes=500, check_every=50)
    assert_array_equal(ranking.daf_, 0.0)
    assert_array_equal(ranking.ranking_, range(7))
    assert_array_equal(ranking.value_changes_[1:], 0.0)
    assert fitted(lambda _: 0.1, 7, check_every=50, stopping=RelativeValueChange(0.1))[0].n_probes_ == 100


def test_a_constant_added_to_the_criterion_changes_nothing():
    plain, _ = fitted(weighted, 7, n_probes=300)
    raised, _ = fitted(lambda subset: 2.0**20 + weighted(subset), 7, n_probes=300)
    assert_array_equal(raised.daf_, plain.daf_)


def test_features_that_add_more_come_first():
    assert_array_equal(fitted(weighted, 6, n_probes=4000)[0].ranking_, [5, 4, 3, 2, 1, 0])


def test_features_that_count_only_together_come_before_noise():
    ranking, _ = fitted(lambda subset: float({1, 4} <= set(subset)), 6, n_probes=1000, n_features=2)
    assert set(ranking.ranking_) == {1, 4}


def test_the_best_features_are_selected():
    ranking, _ = fitted(weighted, 6, n_probes=4000, n_features=2)
    assert_array_equal(ranking.ranking_, [5, 4])
    assert ranking.ranking_.dtype == np.int64
    assert_array_equal(ranking.get_support(), [False] * 4 + [True] * 2)
    assert_array_equal(ranking.transform(np.arange(6.0)[np.newaxis]), [[4.0, 5.0]])
    assert fitted(weighted, 6, n_probes=100)[0].support_.all()


def test_missing_values_are_left_to_the_criterion():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = X[:, 1] > 0
    X[random.random(X.shape) < 0.1] = np.nan
    assert DependencyAwareRanking(n_probes=40, random_state=0).fit(X, y).ranking_[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "criterion",
    [
        WrapperAccuracy(make_pipeline(StandardScaler(), LinearSVC(random_state=0))),
        WrapperAccuracy(NeighborsClassifier(n_neighbors=3)),
        Consistency(),
    ],
)
def test_features_are_ranked_by_wrappers_and_by_a_filter_with_any_number_of_workers(criterion):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 6))
    y = X[:, 4] - X[:, 2] > 0
    one, two = (
        DependencyAwareRanking(criterion, 3, n_probes=120, n_features=2, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert set(one.ranking_) == {2, 4}
    assert_array_equal(one.daf_, two.daf_)


def test_groups_reach_the_criterion():
    criterion = RecordedCriterion(scattered)
    ranking = DependencyAwareRanking(criterion, n_probes=50, random_state=0)
    ranking.fit(np.zeros((4, 3)), [0, 0, 1, 1], groups=["a", "b", "a", "b"])
    assert_array_equal(criterion.groups, ["a", "b", "a", "b"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ranking.fit(np.zeros((4, 3)), [0, 0, 1, 1], groups=["a"])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"n_probes": 0}, "n_probes is 0, expected a whole number, at least 1"),
        ({"n_probes": None}, "n_probes is None, expected"),
        ({"check_every": 0.5}, "check_every is 0.5, expected"),
        ({"max_probe": 5}, "max_probe is 5, expected a whole number, 1 to 4"),
        ({"max_probe": 0}, "max_probe is 0, expected"),
        ({"n_features": 5}, "n_features is 5, expected a whole number, 1 to 4"),
        ({"n_features": "all"}, "n_features is 'all', expected"),
        ({"n_probes": 1, "max_probe": 1}, r"feature \d was in none of the 1 probes"),
    ],
)
def test_a_bad_parameter_is_named(chosen, message):
    with pytest.raises(ValueError, match=message):
        fitted(scattered, 4, **chosen)


def test_the_first_feature_without_a_coefficient_is_named():
    messages = set()
    for seed in range(20):
        with pytest.raises(
            ValueError, match="expected it to be in some and out of others: raise n_probes"
        ) as caught:
            fitted(scattered, 2, n_probes=1, random_state=seed)
        messages.add(str(caught.value).partition(",")[0])
    assert messages == {f"feature 0 was in {where} of the 1 probes" for where in ("none", "all")}


@pytest.mark.parametrize("quality", [np.nan, np.inf])
def test_a_quality_that_is_not_finite_is_an_error(quality):
    with pytest.raises(ValueError, match=rf"criterion is {quality} for features \[.*\], expected a finite number"):
        fitted(lambda _: quality, 4)


def test_a_lone_feature_cannot_be_ranked():
    with pytest.raises(ValueError, match=r"X has 1 feature\(s\), expected at least 2"):
        fitted(scattered, 1)


@pytest.mark.parametrize("rule", [OrderChange, ValueChange, RelativeValueChange])
@pytest.mark.parametrize("threshold", [0.0, -1.0, np.nan, np.inf, "low", None])
def test_a_threshold_is_a_positive_number(rule, threshold):
    with pytest.raises(ValueError, match=r"threshold is .*, expected a positive number"):
        rule(threshold)


@pytest.mark.parametrize(
    ("changes", "stops"),
    [
        ([], False),
        ([0.5], False),
        ([0.5, 0.1], False),
        ([0.5, 0.09], True),
        ([0.5, 0.01, 0.2], False),
        ([0.0], True),
        ([0.0, 0.01], False),
    ],
)
def test_a_relative_change_is_measured_by_the_first(changes, stops):
    checks = [Check(i, np.zeros(2), np.nan, change) for i, change in enumerate([np.nan, *changes])]
    assert RelativeValueChange(0.2)(checks) is stops


def test_among_equal_coefficients_the_lowest_index_is_first():
    assert_array_equal(ranked(np.array([0.0, 1.0, 0.0, 1.0, -0.0])), [1, 3, 0, 2, 4])


def test_a_rule_is_copied_with_the_ranking_and_has_a_repr():
    copy = clone(DependencyAwareRanking(stopping=ValueChange(0.5)))
    assert copy.stopping == ValueChange(0.5) != OrderChange(0.5)
    assert "ValueChange(threshold=0.5)" in repr(copy)


def test_scikit_learn_conventions():
    check_estimator(DependencyAwareRanking(n_probes=9, check_every=3, random_state=0), on_skip=None)


@pytest.mark.slow
def test_the_experiment_reports_where_each_rule_stops(script, tmp_path):
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip("STREAMFS_DATA is not set: madelon is not there")
    printed = script(EXPERIMENT, "--quick", "--json", "--plot", tmp_path / "probes.png")
    assert imread(tmp_path / "probes.png")[..., :3].std() > 0.05
    result = json.loads(printed)
    assert len(set(result["best"])) == 20
    assert [row["probes"] for row in result["checks"]] == [50, 100, 150, 200]
    assert all(0.3 < row["accuracy"] < 1.0 for row in result["checks"])
    for row in result["rules"]:
        assert row["saved"] == 1.0 - (row["probes"] or 200) / 200


def test_the_experiment_reports_missing_data(refusal, monkeypatch):
    monkeypatch.delenv("STREAMFS_DATA", raising=False)
    ended = refusal(EXPERIMENT)
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert "STREAMFS_DATA is not set" in ended.stderr

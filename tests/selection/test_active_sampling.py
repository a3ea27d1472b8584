"""Active sampling of feature values against a plain implementation of the paper."""

import os
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import active_sampling as naive
from sklearn.utils.estimator_checks import check_estimator

from streamfs.selection.active_sampling import ActiveFeatureSampling
from streamfs.selection.candidate import error_rate, sample_by, sample_recorded
from streamfs.selection.possible_values import PossibleValues
from streamfs.selection.ranking_quality import mean_square_error, spearman
from streamfs.selection.regions import benefits, decisions, joint_probabilities, make_regions

EXPERIMENT = Path(__file__).parents[2] / "examples" / "papers" / "active_sampling.py"
MUSHROOM = Path(os.environ.get("STREAMFS_DATA", "")) / "uci" / "mushroom.csv"


@st.composite
def sampled_regions(draw):
    """Regions of a few classes and joint values, with the values extracted of a candidate in each."""
    n_classes, n_joint, n_values = draw(st.tuples(st.integers(2, 3), st.integers(1, 4), st.integers(1, 5)))
    n = draw(st.integers(n_classes, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.permutation(np.arange(n) % n_classes)
    regions = make_regions(labels, rng.integers(0, n_joint, (n, 1)), draw(st.integers(0, 2)))
    known = regions.estimate(n_values)
    known.counts[:] = rng.integers(0, draw(st.integers(1, 40)), known.counts.shape)
    known.sizes[:] = known.counts.sum(axis=2)
    return regions, known


def instances(n=200, seed=0, n_values=3):
    """Two classes, two previous features, and a candidate that depends on the class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    previous = np.stack([rng.integers(0, 3, n), (labels + rng.integers(0, 3, n)) // 2], axis=1)
    previous[previous[:, 0] == 2, 1] = 0  # so that a joint value does not occur
    values = (labels + rng.integers(0, 2, n) + previous[:, 0]) % n_values
    return make_regions(labels, previous), values, rng.permutation(n)


def separable(n=120, seed=0):
    """One previous feature and three candidates, the last of which separates the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    noise = rng.integers(0, 3, (n, 3))
    return np.column_stack([noise, y]).astype(float), np.array(["no", "yes"])[y]


@given(sampled_regions())
@settings(deadline=None, max_examples=200)
def test_benefits_are_equation_3_by_brute_force(drawn):
    regions, known = drawn
    expected = naive.benefit(known.counts, regions.weights / regions.total)
    np.testing.assert_allclose(benefits(known), expected, rtol=0, atol=1e-12)
    decoupled = naive.decoupled_benefit(known.counts, regions.weights / regions.total)
    np.testing.assert_allclose(benefits(known), decoupled, rtol=0, atol=1e-12)


def test_a_region_alone_at_its_joint_value_has_no_benefit():
    known = make_regions([0, 0, 1], [[0.0], [1.0], [1.0]]).estimate(3)
    known.counts[0, 0] = [7, 0, 1]
    known.sizes[:] = known.counts.sum(axis=2)
    assert benefits(known)[:, 0].tolist() == [0.0, 0.0]
    assert (benefits(known)[:, 1] > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_each_instance_is_the_next_of_the_best_region_with_instances_left(seed):
    regions, values, order = instances(60, seed)
    truth = joint_probabilities(regions.estimate_of(values, 3))
    sampled, _ = sample_recorded(regions, values, truth, order, 60, is_active=True)
    assert sorted(sampled.drawn) == list(range(60))
    p, counts, left = regions.weights / regions.total, np.zeros((2, len(truth[0]), 3)), order.tolist()
    for instance in sampled.drawn:
        of_all = naive.benefit(counts, p)
        open_ones = {regions.region_of[i] for i in left}
        best = max(of_all.ravel()[region] for region in open_ones)
        equals = [region for region in open_ones if of_all.ravel()[region] > best - 1e-14]
        assert regions.region_of[instance] == min(equals)
        assert instance == next(i for i in left if regions.region_of[i] == min(equals))
        left.remove(instance)
        counts[regions.labels[instance], regions.joint[instance], values[instance]] += 1


def test_an_estimate_made_step_by_step_equals_one_made_at_once():
    regions, values, order = instances()
    truth = joint_probabilities(regions.estimate_of(values, 3))
    sampled, _ = sample_recorded(regions, values, truth, order, 50, is_active=True)
    seen = np.full(len(values), -1)
    seen[sampled.drawn] = values[sampled.drawn]
    at_once = regions.estimate_of(seen, 3)
    assert (sampled.known.counts == at_once.counts).all()
    assert (sampled.known.sizes == at_once.sizes).all()
    assert (benefits(sampled.known) == benefits(at_once)).all()


@pytest.mark.parametrize("is_active", [True, False])
@pytest.mark.parametrize("prior", [0, 1])
def test_error_rates_are_those_of_the_classifier_of_the_values_so_far(is_active, prior):
    plain, values, order = instances()
    regions = make_regions(plain.labels, plain.joint_values[plain.joint], prior)
    assert (regions.right_elsewhere > 0) == prior
    truth = joint_probabilities(regions.estimate_of(values, 3))
    sampled, errors = sample_recorded(regions, values, truth, order, 40, is_active=is_active)
    assert errors.shape == (41,)
    assert errors[0] == pytest.approx(regions.error_before)
    for n_drawn in range(41):
        seen = np.full(len(values), -1)
        seen[sampled.drawn[:n_drawn]] = values[sampled.drawn[:n_drawn]]
        known = regions.estimate_of(seen, 3)
        estimated = naive.posterior(known.counts) * (regions.weights / regions.total)[:, :, np.newaxis]
        # the oracle counts joint values that do not occur as wrong
        expected = naive.map_error(truth, estimated) - regions.right_elsewhere
        assert errors[n_drawn] == pytest.approx(expected, abs=1e-12)
    assert error_rate(regions, sampled.known, truth) == pytest.approx(errors[-1], abs=1e-12)


def test_the_random_policy_takes_instances_as_they_come():
    regions, values, order = instances()
    truth = joint_probabilities(regions.estimate_of(values, 3))
    sampled, _ = sample_recorded(regions, values, truth, order, 30, is_active=False)
    assert (sampled.drawn == order[:30]).all()


@pytest.mark.parametrize("is_active", [True, False])
def test_values_extracted_one_by_one_are_drawn_as_recorded_ones(is_active):
    regions, values, order = instances()
    truth = joint_probabilities(regions.estimate_of(values, 3))
    recorded, _ = sample_recorded(regions, values, truth, order, 90, is_active=is_active)
    calls = []

    def extract(instance):
        calls.append(instance)
        return int(values[instance])

    sampled = sample_by(regions, 3, extract, order, 90, is_active=is_active)
    assert (sampled.drawn == recorded.drawn).all()
    assert (sampled.known.counts == recorded.known.counts).all()
    assert calls == sampled.drawn.tolist()


def test_decisions_are_the_most_probable_classes_and_of_equals_the_first():
    regions = make_regions([0, 0, 1, 1, 1], [[0.0], [1.0], [0.0], [1.0], [1.0]])
    known = regions.estimate_of(np.array([0, -1, 1, -1, -1]), 2)
    assert decisions(known).tolist() == [[0, 1], [1, 1]]
    assert decisions(regions.estimate(2)).tolist() == [[0, 0], [1, 1]]


def test_a_prior_counts_joint_values_that_do_not_occur_too():
    regions = make_regions([0, 0, 1], [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], prior=1)
    assert regions.weights.tolist() == [[3.0, 1.0], [1.0, 2.0]]
    assert regions.total == 3 + 2 * 4
    assert regions.error_before == pytest.approx(1 - (3 + 2 + 1 + 1) / 11)


def test_without_previous_features_each_class_is_a_region():
    regions = make_regions([0, 1, 1], np.empty((3, 0)))
    assert regions.weights.tolist() == [[1.0], [2.0]]
    assert regions.joint_of(np.empty((2, 0))).tolist() == [0, 0]


def test_a_missing_previous_value_is_treated_as_a_value():
    previous = np.array([[np.nan, 1.0], [0.0, 1.0], [np.nan, 1.0], [0.0, np.nan]])
    regions = make_regions([0, 0, 1, 1], previous)
    assert regions.weights.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    assert regions.joint_of(np.array([[np.nan, 1.0], [np.nan, np.nan]])).tolist() == [2, -1]


@given(
    st.lists(st.tuples(*[st.sampled_from([0.1, 0.2, 0.25, 0.7])] * 2), min_size=2, max_size=9),
)
def test_rank_correlation_is_the_papers(pairs):
    scores, truth = np.array(pairs).T
    assert spearman(scores, truth) == pytest.approx(naive.spearman(scores.tolist(), truth.tolist()), abs=1e-12)


def test_rank_correlation_needs_two_scores():
    with pytest.raises(ValueError, match="there are 1 scores, expected at least 2"):
        spearman(np.array([1.0]), np.array([1.0]))


def test_mean_square_error_is_the_mean_over_runs():
    rng = np.random.default_rng(0)
    errors, truth = rng.random((5, 2, 3, 4)), rng.random(3)
    found = mean_square_error(errors, truth)
    assert found.shape == (2, 3, 4)
    for policy, candidate, size in np.ndindex(found.shape):
        expected = naive.mse(truth[candidate], errors[:, policy, candidate, size].tolist())
        assert found[policy, candidate, size] == pytest.approx(expected)


class TestEstimator:
    def test_scikit_learn_conventions(self):
        for result in check_estimator(ActiveFeatureSampling(), on_skip=None):
            assert result["status"] in {"passed", "skipped"}, result["check_name"]

    def test_the_candidate_that_separates_the_classes_is_chosen(self):
        X, y = separable()
        sampling = ActiveFeatureSampling([1], n_features=2, budget=20, random_state=0).fit(X, y)
        assert sampling.candidates_.tolist() == [0, 2, 3]
        assert sampling.candidate_ranking_[0] == 3
        assert sampling.ranking_.tolist() == [1, 3, sampling.candidate_ranking_[1]]
        assert sampling.support_.tolist() == [j in sampling.ranking_ for j in range(4)]
        assert (sampling.transform(X) == X[:, sampling.support_]).all()
        assert sampling.error_curves_.shape == (3, 21)
        assert (sampling.error_curves_[:, -1] == sampling.error_rates_).all()
        assert sampling.true_error_rates_.argmin() == 2

    def test_a_chosen_candidate_costs_its_sample_and_all_other_values(self):
        X, y = separable(120)
        sampling = ActiveFeatureSampling([0], n_features=2, budget=20, test_size=15, random_state=0).fit(X, y)
        assert sampling.n_extracted_ == 3 * 35
        assert sampling.total_cost_ == 3 * 35 + 2 * (120 - 35)
        assert ActiveFeatureSampling([0], budget=500).fit(X, y).total_cost_ == 3 * 120

    def test_instances_held_out_are_not_drawn_and_count_the_errors(self):
        X, y = separable()
        sampling = ActiveFeatureSampling([0], budget=30, test_size=25, random_state=3).fit(X, y)
        assert len(sampling.test_) == 25
        for drawn in sampling.drawn_:
            assert not set(drawn) & set(sampling.test_)
        best = sampling.candidate_ranking_[0]
        wrong = sampling.predict(X[sampling.test_]) != y[sampling.test_]
        assert wrong.mean() == sampling.error_rates_[sampling.candidates_.tolist().index(best)]
        assert sampling.error_curves_ is None
        assert sampling.true_error_rates_ is None

    @pytest.mark.parametrize("policy", ["active", "random"])
    def test_extracted_values_give_the_estimates_of_recorded_ones(self, policy):
        X, y = separable()
        n_values = np.array([3, 3, 3, 2])
        options = {"policy": policy, "budget": 30, "test_size": 25, "n_values": n_values, "random_state": 1}
        recorded = ActiveFeatureSampling([0], **options).fit(X, y)
        unknown = np.where([True, False, False, False], X, np.nan)
        calls = []

        def extract(instance, feature):
            calls.append((instance, feature))
            return X[instance, feature]

        sampling = ActiveFeatureSampling([0], **options).fit(unknown, y, extract=extract)
        assert sampling.candidate_ranking_.tolist() == recorded.candidate_ranking_.tolist()
        assert (sampling.error_rates_ == recorded.error_rates_).all()
        assert len(calls) == len(set(calls)) == sampling.n_extracted_
        assert calls[:30] == [(instance, 1) for instance in sampling.drawn_[0]]

    def test_a_prediction_follows_the_extracted_values(self):
        X, y = separable()
        sampling = ActiveFeatureSampling([0], budget=60, random_state=0).fit(X, y)
        assert (sampling.predict(X) == y).all()
        assert sampling.predict([[9.0, 0.0, 0.0, 1.0]]).tolist() == [statistics.mode(y)]  # an unseen joint value
        for joint in range(3):  # an unseen value
            nearby = y[X[:, 0] == joint]
            assert sampling.predict([[joint, 0.0, 0.0, 7.0]]).tolist() == [statistics.mode(nearby)]

    def test_candidates_are_sampled_independently(self):
        X, y = separable()
        sampling = ActiveFeatureSampling([0], budget=10, random_state=0).fit(X, y)
        assert len({tuple(drawn) for drawn in sampling.drawn_}) == 3
        again = ActiveFeatureSampling([0], budget=10, random_state=0).fit(X, y)
        assert all((a == b).all() for a, b in zip(sampling.drawn_, again.drawn_, strict=True))

    def test_nothing_drawn_leaves_the_candidates_in_their_order(self):
        X, y = separable()
        sampling = ActiveFeatureSampling([0], n_features=3, budget=0).fit(X, y)
        assert sampling.candidate_ranking_.tolist() == [1, 2, 3]
        assert sampling.error_rates_ == pytest.approx(sampling.regions_.error_before)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"policy": "lazy"}, "policy is 'lazy', expected 'active' or 'random'"),
            ({"previous": [4]}, "an index in previous is 4, expected a whole number, 0 to 3"),
            ({"previous": [0.5]}, r"previous is \[0\.5\], expected whole numbers"),
            ({"previous": [0, 0]}, r"previous is \[0, 0\], expected no index twice"),
            ({"previous": [0, 1, 2, 3]}, "expected no index twice and not all 4"),
            ({"budget": -1}, "budget is -1, expected a whole number, at least 0"),
            ({"budget": 2.5}, "budget is 2.5, expected a whole number"),
            ({"n_features": 0}, "n_features is 0, expected a whole number, at least 1"),
            ({"previous": [1], "n_features": 4}, "n_features is 4, expected a whole number, 1 to 3"),
            ({"test_size": 120}, "test_size is 120, expected a whole number, 1 to 119"),
            ({"prior": -1}, "prior is -1, expected a whole number, at least 0"),
            ({"n_values": [3, 3]}, "n_values has 2 entries, expected 4"),
            ({"n_values": [3, 3, 0, 2]}, "an entry of n_values is 0, expected"),
            ({"n_values": [3, 3, 3, 1]}, "feature 3 is 1.0 at instance [0-9]+, expected one of its 1 values"),
        ],
    )
    def test_a_parameter_out_of_range_is_named(self, options, message):
        X, y = separable()
        with pytest.raises(ValueError, match=message):
            ActiveFeatureSampling(**options).fit(X, y)

    def test_extracting_requires_n_values_and_test_size(self):
        X, y = separable()
        for options in ({"n_values": [3, 3, 3, 2]}, {"test_size": 5}):
            with pytest.raises(ValueError, match="test_size or n_values is None, expected both"):
                ActiveFeatureSampling(**options).fit(X, y, extract=partial(min))

    @pytest.mark.parametrize("value", [2.0, -1.0, 0.5, float("nan")])
    def test_an_impossible_extracted_value_is_refused(self, value):
        X, y = separable()
        asking = ActiveFeatureSampling([0, 1, 2], test_size=5, n_values=[3, 3, 3, 2])
        message = f"extract returned {value} for feature 3 of instance [0-9]+, expected one of its 2 values from 0"
        with pytest.raises(ValueError, match=message):
            asking.fit(X, y, extract=lambda _instance, _feature: value)

    def test_one_class_is_refused(self):
        with pytest.raises(ValueError, match="y holds one class, expected at least 2"):
            ActiveFeatureSampling().fit([[1.0], [2.0]], ["a", "a"])


def test_values_are_numbered_by_their_place_and_missing_is_one_of_them():
    possible = PossibleValues.occurring(0, np.array([5.0, np.nan, 2.0, np.nan]))
    assert len(possible) == 3
    assert possible.numbers(np.array([np.nan, 2.0, 5.0, 9.0])).tolist() == [2, 0, 1, -1]


def test_a_prior_of_one_gives_the_papers_table_1():
    if not MUSHROOM.is_file():
        pytest.skip("STREAMFS_DATA is not set: mushroom is not there")
    table = np.genfromtxt(MUSHROOM, delimiter=",", dtype=str, skip_header=1)
    columns = [np.unique(column, return_inverse=True)[1] for j, column in enumerate(table.T) if j != 10]
    X, y = np.stack(columns[:-1], axis=1), columns[-1]
    printed = [30.9, 2.3, 12.8, 17.5, 24.7, 21.3, 11.1]
    rng = np.random.default_rng(0)
    draws = [rng.choice(len(y), 4000, replace=False) for _ in range(30)]
    for start, rate in zip(range(0, 21, 3), printed, strict=True):
        rates = [100 * make_regions(y[rows], X[rows, start : start + 3], prior=1).error_before for rows in draws]
        assert abs(np.mean(rates) - rate) < 2.2 * np.std(rates)


@pytest.mark.slow
class TestExperiment:
    QUICK = ("--quick", "--mushrooms", "1000", "--json")

    def run(self, *options):
        command = [sys.executable, EXPERIMENT, *self.QUICK, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def test_its_tables_are_the_same_for_any_number_of_processes(self):
        if not MUSHROOM.is_file():
            pytest.skip("STREAMFS_DATA is not set: mushroom is not there")
        alone, shared = (self.run("--n-jobs", jobs) for jobs in ("1", "2"))
        assert alone.returncode == 0, alone.stderr
        assert alone.stdout == shared.stdout
        assert "runs with 1-3" in alone.stderr
        tables = orjson.loads(alone.stdout)
        assert [row["printed"] for row in tables["table_1"]] == [30.9, 2.3, 12.8, 17.5, 24.7, 21.3, 11.1]
        for row in tables["figure_1"]:
            assert len(row["active"]) == len(row["random"]) == 21
            assert row["active"][0] == row["random"][0]
        assert sum(row["lead"] > row["lead_ci"] for row in tables["figure_1"]) >= 4

    def test_it_reports_a_missing_data_set(self, refusal, monkeypatch):
        monkeypatch.setenv("STREAMFS_DATA", "")
        ended = refusal(EXPERIMENT, *self.QUICK)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.splitlines() == [
            "STREAMFS_DATA is not set, expected the folder that holds uci/mushroom.csv"
        ]

    def test_a_number_out_of_range_is_named(self, refusal):
        ended = refusal(EXPERIMENT, *self.QUICK, "--mushrooms", "20")
        assert ended.returncode == 2
        assert "--mushrooms is 20, expected at least 1000" in ended.stderr

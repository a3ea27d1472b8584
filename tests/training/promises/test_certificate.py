"""Thresholds tested on separate streams: which pass, in which order, and how often wrongly."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import promises as naive_promises
from scipy.stats import binom

from streamfs.errors import TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.promises import Promise, PromiseError
from streamfs.training.promises.certificate import DOUBT, N_THRESHOLDS, certify, chances, walk
from streamfs.training.promises.curve import ByClass, Curve
from streamfs.training.promises.refusal import MOST_STREAMS, PROBABLE, _failure, _nearest, _supported, refusal
from streamfs.training.promises.subset_score import evaluate_subset

risks = st.sampled_from([0.0137, 0.0513, 0.1037, 0.2019, 0.5003])  # no tail of whole hundredths is one
shares = st.integers(1, 99).map(lambda percent: percent / 100)
promises = st.builds(Promise, shares, st.none() | shares, risks)


@st.composite
def curves(draw, fewest=0):
    """Curves of up to 150 streams, of which the looser thresholds label more."""
    n_streams = draw(st.integers(1, 150))
    labelled = sorted(draw(st.lists(st.integers(1, n_streams), min_size=fewest, max_size=12)))
    right = [draw(st.integers(0, n) | st.just(n) | st.integers(9 * n // 10, n)) for n in labelled]
    cost, ticks = (np.array(draw(st.lists(st.integers(0, 99), min_size=12, max_size=12)), float) for _ in "ab")
    thresholds, n = np.linspace(1.0, 0.5, len(labelled)), len(labelled)
    counts = (np.array(each, dtype=np.int64) for each in (labelled, right))
    return Curve(thresholds, *counts, cost[:n], ticks[:n], n_streams)


def at(curve, thresholds):
    """The counts of a curve at some thresholds, for the oracle."""
    labelled, right = curve.at(thresholds)
    return naive_promises.Curve(curve.n_streams, labelled, right, labelled, labelled)


def of(n_streams, n_labelled, n_right):
    """A curve of given counts."""
    thresholds, cost = np.linspace(1.0, 0.5, len(n_labelled)), np.arange(1.0, 1 + len(n_labelled)) * n_streams
    return Curve(thresholds, np.array(n_labelled), np.array(n_right), cost, cost / 2, n_streams)


class TestCertify:
    @given(curves(), promises, st.lists(st.sampled_from([1.2, 1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.2]), max_size=8))
    def test_tests_accuracy_from_the_strictest_and_completeness_from_the_loosest(self, curve, promise, thresholds):
        order = np.array(sorted(thresholds, reverse=True))
        labelled, right = (counts.tolist() for counts in curve.at(order))
        accurate = [
            naive_promises.accuracy_p_value(n, n - k, promise.accuracy)
            for n, k in zip(labelled, right, strict=True)
        ]
        expected = naive_promises.fixed_sequence(accurate, promise.accuracy_risk)
        complete = None
        if promise.completeness is not None:
            complete = [
                naive_promises.completeness_p_value(curve.n_streams, n, promise.completeness) for n in labelled
            ]
            if (
                naive_promises.fixed_sequence(complete[::-1], promise.completeness_risk)
                < len(order) - 1 - expected
            ):
                expected = -1
        found = certify(curve, promise, order)
        if expected == -1:
            assert found is None
            return
        assert found.point == curve.at_threshold(order[expected])
        assert (found.n_labelled, found.n_right) == (labelled[expected], right[expected])
        assert found.n_streams == curve.n_streams
        assert_allclose(found.p_accuracy, accurate[expected], rtol=1e-9)
        if complete is None:
            assert found.p_completeness is None
        else:
            assert_allclose(found.p_completeness, complete[expected], rtol=1e-9)

    def test_a_threshold_that_passes_after_a_failure_is_not_kept(self):
        curve, promise = of(100, [40, 60, 80], [40, 50, 80]), Promise(0.9)
        assert certify(curve, promise, curve.thresholds).n_labelled == 40
        assert certify(curve, promise, curve.thresholds[1:]) is None
        assert certify(curve, promise, curve.thresholds[2:]).n_labelled == 80

    def test_labels_may_be_too_few_for_the_completeness_at_stricter_thresholds(self):
        curve = of(100, [40, 99, 100], [40, 99, 100])
        assert certify(curve, Promise(0.9, 0.9), curve.thresholds).n_labelled == 100
        assert certify(curve, Promise(0.9, 0.9), curve.thresholds[:1]) is None

    def test_nothing_is_certified_if_accuracy_fails_before_enough_are_labelled(self):
        curve = of(100, [40, 80, 100], [40, 80, 80])
        assert certify(curve, Promise(0.9), curve.thresholds).n_labelled == 80
        assert certify(curve, Promise(0.9, 0.9), curve.thresholds) is None
        assert certify(curve, Promise(0.9, 0.65), curve.thresholds).n_labelled == 80

    def test_completeness_has_its_own_part_of_the_risk(self):
        promise, curve = Promise(0.9, 0.7, risk=0.05), of(100, [80], [80])
        assert promise.completeness_risk < naive_promises.completeness_p_value(100, 80, 0.7) < 0.02
        assert certify(curve, promise, curve.thresholds) is None
        assert certify(curve, Promise(0.9, 0.7, risk=0.09), curve.thresholds).n_labelled == 80

    def test_nothing_is_certified_without_thresholds_to_test(self):
        curve = of(100, [100], [100])
        assert certify(curve, Promise(), np.array([])) is None
        assert certify(curve, Promise(), np.array([1.5])) is None
        assert certify(of(100, [], []), Promise(), np.array([0.5])) is None

    def test_it_is_written_as_json(self):
        curve = of(100, [40, 80], [40, 79])
        found = certify(curve, Promise(0.9, risk=0.05), curve.thresholds).to_json()
        p = found.pop("p_accuracy")
        assert_allclose(p, naive_promises.accuracy_p_value(80, 1, 0.9), rtol=1e-9)
        assert found == {
            "accuracy": 0.9,
            "completeness": None,
            "risk": 0.05,
            "per_class": None,
            "accuracy_risk": 0.05,
            "completeness_risk": 0.0,
            "threshold": 0.5,
            "streams": 100,
            "labelled": 80,
            "right": 79,
            "p_completeness": None,
            "cost": 2.0,
            "ticks": 1.0,
        }


class TestWalk:
    @given(curves(fewest=1), promises, st.integers(1, 300))
    def test_goes_from_the_likeliest_threshold_down_to_the_loosest(self, curve, promise, n_streams):
        order = walk(curve, promise, n_streams).thresholds
        chances = promise.accuracy_chances(*curve.doubted(DOUBT), n_streams)
        assert order.tolist() == curve.thresholds[chances.argmax() :].tolist()

    def test_of_many_thresholds_it_takes_some_spread_evenly(self):
        labelled = np.arange(1, 1001)
        curve = of(1000, labelled, np.minimum(labelled, 400))
        order = walk(curve, Promise(0.9), 200).thresholds
        assert len(order) == N_THRESHOLDS
        assert (np.diff(order) < 0).all()
        assert order[-1] == curve.thresholds[-1]
        assert set(order) <= set(curve.thresholds)
        assert np.ptp(np.diff(np.searchsorted(-curve.thresholds, -order))) <= 1

    def test_it_skips_thresholds_that_label_too_few_to_pass(self):
        labelled = np.arange(1, 101)
        curve = of(100, labelled, np.minimum(labelled, 60))
        assert 29 <= walk(curve, Promise(0.9), 100).n_labelled[0] <= 60


# The claim: thresholds are certified on drawn streams, and compared with their true shares


@cache
def population(kind):
    """Return confidences of many streams of one law at six ticks, and whether the label is right."""
    rng = np.random.default_rng(0)
    n = 40_000
    confidence = np.maximum.accumulate(np.round(rng.beta(2, 2, (n, 6)), 2), axis=1)
    likely = {"rising": 0.55 + 0.45 * confidence, "level": np.full((n, 6), 0.795), "falling": 1 - 0.4 * confidence}
    best = (rng.random((n, 1)) > likely[kind]).astype(int)
    return Trajectories(best, confidence, np.full(n, 6)), np.zeros(n, int), np.tile(np.arange(1.0, 7), (n, 1))


def some(kind, which):
    """The curve of some streams of a law."""
    trajectories, truth, spent = population(kind)
    chosen = Trajectories(trajectories.best[which], trajectories.confidence[which], trajectories.ticks[which])
    return Curve.of(chosen, truth[which], spent[which])


def broken(kind, promise, n_draws=600, n_held_out=90, n_test=90):
    """Return how many tests certify a threshold, and how many of these thresholds break the promise."""
    everything, rng = some(kind, slice(None)), np.random.default_rng(1)
    n_certified = n_broken = 0
    for _ in range(n_draws):
        drawn = rng.choice(everything.n_streams, n_held_out + n_test, replace=False)
        held_out, test = some(kind, drawn[:n_held_out]), some(kind, drawn[n_held_out:])
        certificate = certify(test, promise, walk(held_out, promise, n_test).thresholds)
        if certificate is not None:
            true = everything.at_threshold(certificate.point.threshold)
            n_certified += 1
            n_broken += true.accuracy < promise.accuracy or true.completeness < (promise.completeness or 0.0)
    return n_certified, n_broken


class TestTheClaim:
    @pytest.mark.parametrize("kind", ["rising", "level", "falling"])
    @pytest.mark.parametrize("completeness", [None, 0.7])
    def test_no_more_thresholds_break_the_promise_than_the_risk_allows(self, kind, completeness):
        promise = Promise(0.8, completeness, risk=0.1)
        n_certified, n_broken = broken(kind, promise)
        assert n_broken <= binom.ppf(0.999, 600, promise.risk)
        assert kind != "rising" or n_certified > 300

    def test_a_promise_that_is_just_broken_everywhere_is_certified_about_as_often_as_the_risk_says(self):
        _, n_broken = broken("level", Promise(0.8, risk=0.1))
        assert n_broken >= 20


class TestRefusal:
    def test_reports_the_nearest_threshold_and_how_many_streams_might_suffice(self):
        curve = of(50, [10, 40, 50], [10, 37, 44])
        error = refusal(curve, Promise(0.9, risk=0.05), 125, curve)
        assert isinstance(error, TrainingError)
        assert error.best == curve.point(1)
        assert error.curve == [point._asdict() for point in curve.points()]
        assert error.streams_needed > 125
        more, (least, most) = error.streams_needed - 125, error.streams_between
        assert 125 < least < error.streams_needed
        assert most is None
        assert str(error) == (
            "accuracy 0.9 (risk 0.05) cannot be promised: the best threshold, 0.75, labels 0.800 of 50 streams of "
            "the test, 0.925 of them rightly; the accuracy failed at the first threshold tested, 0.75, where 37 "
            f"of 40 labels are right; if these are the true shares, about {error.streams_needed} streams are "
            f"needed, {more} more than there are ({least} or any number more, a standard error up or down); or "
            f"promise less; held-out streams support an accuracy of {error.supported:.2f}"
        )

    @given(curves(fewest=1), promises)
    def test_with_that_number_of_streams_the_best_threshold_passes_probably(self, curve, promise):
        n_streams = 5 * curve.n_streams // 2
        error = refusal(curve, promise, n_streams, curve)
        both = curve.with_others(curve)
        place = _nearest(both, promise)
        shares = both.completeness[place], both.accuracy[place]
        if error.streams_needed is None:
            most = 9 * MOST_STREAMS // 10 * curve.n_streams // n_streams
            assert promise.chances(*shares, most) < PROBABLE + 0.01
        else:
            assert error.streams_needed > n_streams
            n_test = round(error.streams_needed * curve.n_streams / n_streams)
            assert promise.chances(*shares, n_test + n_test // 5 + 2) > PROBABLE - 0.25
        assert len(error.curve) <= 12

    def test_no_number_of_streams_suffices_if_the_shares_fall_short(self):
        error = refusal(of(50, [50], [44]), Promise(0.9), 125, of(50, [50], [44]))
        assert error.streams_needed is None
        assert "; if these are the true shares, more streams would not help, but from " in str(error)
        short = of(50, [50], [30])
        assert "; more streams would not help: promise less, allow more time, or " in str(
            refusal(short, Promise(0.9), 125, short)
        )
        nearly = of(1000, [1000], [901])  # some 600 000 in the test would do, of 1 500 000 in all
        assert refusal(nearly, Promise(0.9), 2500, nearly).streams_needed is None
        error = refusal(of(50, [40], [40]), Promise(0.9, 0.85), 125, of(50, [40], [40]))
        assert error.streams_needed is None
        assert "accuracy 0.9 at completeness 0.85 (risk 0.05) cannot be promised" in str(error)

    def test_the_best_is_the_one_whose_worse_share_is_best(self):
        curve = of(50, [30, 50], [30, 34])
        error = refusal(curve, Promise(0.7, 0.85), 125, curve)
        assert (error.best.completeness, error.best.accuracy) == (1.0, 0.68)

    def test_what_costs_more_than_may_be_paid_is_not_advised(self):
        curve = of(100, [60, 100], [60, 80])  # a stream costs 1 and 2, of the first a label 5/3
        error = refusal(curve, Promise(0.9, 0.85), 250, curve, max_cost=1.5)
        assert (error.best.cost, error.streams_needed, error.supported) == (1.0, None, None)
        error = refusal(curve, Promise(0.95), 250, curve, max_cost=0.5)
        assert (error.failed, error.best.completeness) == ("cost", 0.6)
        assert "costs 1.667 a label or more on the streams of the test, expected at most 0.5: allow" in str(error)

    def test_there_is_no_best_if_nothing_is_labelled(self):
        error = refusal(of(50, [], []), Promise(0.9), 125, of(50, [10], [10]))
        assert (error.best, error.curve, error.streams_needed) == (None, [], None)
        assert str(error) == "accuracy 0.9 (risk 0.05) cannot be promised: no stream of the test is labelled"

    def test_it_can_be_pickled(self):
        error = refusal(of(50, [50], [44]), Promise(0.9), 125, of(50, [50], [44]))
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert type(again) is PromiseError
        assert str(again) == str(error)
        assert vars(again) == vars(error)

    @pytest.mark.parametrize(
        ("labelled", "right", "completeness", "failed", "why"),
        [
            (
                [60, 90],
                [50, 75],
                0.5,
                "accuracy",
                "failed at the first threshold tested, 1, where 50 of 60 labels are",
            ),
            (
                [60, 90],
                [60, 80],
                0.8,
                "completeness",
                "passed down to 1, but there only 60 of 100 streams have a label",
            ),
            ([30, 90], [28, 90], 0.8, "order", "0.5 would have passed, but the test, in its order, ended before"),
        ],
    )
    def test_says_what_failed(self, labelled, right, completeness, failed, why):
        promise, held_out = Promise(0.9, completeness), of(100, labelled, labelled)
        assert certify(of(100, labelled, right), promise, held_out.thresholds) is None
        found, text = _failure(of(100, labelled, right), promise, held_out.thresholds, ())
        assert found == failed
        assert why in text

    @given(curves(fewest=1), promises, st.integers(20, 300))
    def test_the_accuracy_supported_is_the_highest_whose_test_passes_probably(self, held_out, promise, n):
        def passes(accuracy):
            return evaluate_subset(held_out, replace(promise, accuracy=accuracy), n).chance >= PROBABLE

        found = _supported(held_out, promise, n)
        higher = [k / 100 for k in range(50, 100) if k / 100 < promise.accuracy] + [promise.accuracy]
        assert found == max((each for each in higher if passes(each)), default=None)


class TestStreamsNeeded:
    """How many streams a refused promise needs."""

    def test_what_more_streams_bring_lowers_it(self):
        curve, promise = of(100, [100], [86]), Promise(0.85)
        still, learning = (refusal(curve, promise, 250, curve, gain=gain) for gain in (0.0, 0.04))
        assert 250 < learning.streams_needed < still.streams_needed

    def test_a_curve_that_still_rises_may_reach_what_shares_do_not(self):
        curve, promise = of(100, [100], [84]), Promise(0.85)
        assert refusal(curve, promise, 250, curve).streams_needed is None
        error = refusal(curve, promise, 250, curve, gain=0.05)
        n = error.streams_needed * 100 // 250
        chance = promise.accuracy_chances(1.0, 0.84 + 0.05 * (1 - 100 / n), n)
        assert chance >= 0.79

    def test_held_out_streams_count_beside_those_of_the_test(self):
        test, many, promise = of(100, [100], [86]), of(900, [900], [800]), Promise(0.85)
        alone, together = (refusal(test, promise, 250, other) for other in (of(100, [100], [86]), many))
        assert together.streams_needed < alone.streams_needed
        both = test.with_others(many)
        assert (both.n_streams, both.n_labelled.tolist(), both.n_right.tolist()) == (1000, [1000], [886])


def two_classes(rng, n, recalls, sure=0.9):
    """Confidence, best class and truth of streams of one tick, of which a share of each class is told apart."""
    truth = rng.integers(0, 2, n)
    right = rng.random(n) < np.where(truth == 0, *recalls)
    best = np.where(right, truth, 1 - truth)[:, np.newaxis]
    return Trajectories(best, np.full((n, 1), sure), np.ones(n, int)), truth


class TestPerClass:
    """The accuracy is promised of each class."""

    @pytest.mark.parametrize("per_class", ["labelled", "found"])
    def test_a_threshold_is_certified_only_if_each_class_passes(self, per_class):
        rng, outcomes = np.random.default_rng(0), []
        promise = Promise(0.8, risk=0.1, per_class=per_class)
        for recalls in ((0.95, 0.95), (0.97, 0.7), (0.7, 0.97)):
            trajectories, truth = two_classes(rng, 300, recalls)
            curve = Curve.of(trajectories, truth, np.ones((300, 1)), n_classes=2)
            certificate = certify(curve, promise, curve.thresholds)
            counts = naive_promises.by_class(
                trajectories.confidence, trajectories.best, trajectories.ticks, truth.tolist(), 0.9, 2
            )
            of = [(labelled if per_class == "labelled" else n, right) for labelled, right, n in counts]
            passes = all(binom.cdf(n - right, n, 0.2) <= 0.1 for n, right in of)
            assert (certificate is not None) == passes
            outcomes.append(passes)
            errors = np.array([[-0.5], [0.0], [2.0]])
            for said, error in zip(chances(curve, promise, 200, errors), errors.ravel(), strict=True):
                assert_array_equal(said, chances(curve, promise, 200, float(error)))
        assert outcomes == [True, False, False]

    def test_a_class_without_a_label_cannot_pass(self):
        trajectories = Trajectories(np.zeros((99, 1), int), np.full((99, 1), 0.9), np.ones(99, int))
        curve = Curve.of(trajectories, np.zeros(99, int), np.ones((99, 1)), n_classes=2)
        assert certify(curve, Promise(0.8), curve.thresholds) is not None
        for per_class in ("labelled", "found"):
            assert certify(curve, Promise(0.8, per_class=per_class), curve.thresholds) is None

    @pytest.mark.parametrize("per_class", ["labelled", "found"])
    def test_the_risk_is_that_of_any_class(self, per_class):
        """One class is just not kept, the others are: certified in no more than the risk of all draws."""
        rng, n_certified = np.random.default_rng(1), 0
        for _ in range(300):
            trajectories, truth = two_classes(rng, 200, (1.0, 0.799) if per_class == "found" else (0.745, 1.0))
            curve = Curve.of(trajectories, truth, np.ones((200, 1)), n_classes=2)
            promise = Promise(0.8, risk=0.1, per_class=per_class)
            n_certified += certify(curve, promise, curve.thresholds) is not None
        assert n_certified <= binom.ppf(0.999, 300, 0.1)
        assert n_certified > 0

    def test_the_chance_is_that_of_passing(self):
        rng, promise = np.random.default_rng(2), Promise(0.8, risk=0.1, per_class="found")
        trajectories, truth = two_classes(rng, 20_000, (0.9, 0.87))
        said = float(
            chances(Curve.of(trajectories, truth, np.ones((20_000, 1)), n_classes=2), promise, 200, 0.0)[0]
        )
        passed = 0
        for _ in range(300):
            trajectories, truth = two_classes(rng, 200, (0.9, 0.87))
            curve = Curve.of(trajectories, truth, np.ones((200, 1)), n_classes=2)
            passed += certify(curve, promise, curve.thresholds) is not None
        assert abs(passed / 300 - said) < 0.1

    def test_something_else_is_refused(self):
        with pytest.raises(ValueError, match="per_class is 'recall', expected labelled or found"):
            Promise(per_class="recall")
        with pytest.raises(ValueError, match="per_class is None, expected labelled or found"):
            Promise().class_p_values(ByClass(*np.ones((3, 1, 1), int)))

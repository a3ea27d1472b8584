"""Curves of all thresholds on recorded streams, compared with a replay of each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import promises as naive_promises

from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.held_out import Followed
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.held_out import curve_of

CONFIDENCES = [np.nan, 0.4, 0.5, 0.625, 0.75, 0.75, 0.875, 1.0]
BETWEEN = [0.001, 0.45, 0.5, 0.7, 0.75, 0.8, 0.875, 0.99, 1.0, 1.5]
UNKNOWN = 9


@st.composite
def replays(draw, fewest=0, fewest_ticks=0):
    """Trajectories with ties and gaps, true classes and spending; some streams have no ticks."""
    n_streams, n_ticks = draw(st.integers(fewest, 8)), draw(st.integers(fewest_ticks, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = rng.integers(0, n_ticks + 1, n_streams)
    confidence = rng.choice(CONFIDENCES[draw(st.integers(0, 1)) :], (n_streams, n_ticks))
    confidence[np.arange(n_ticks) >= lengths[:, np.newaxis]] = 0.0
    best = rng.integers(0, draw(st.integers(1, 3)), (n_streams, n_ticks))
    truth = rng.integers(-1, 3, n_streams)
    spent = rng.integers(0, 9, (n_streams, n_ticks)).cumsum(axis=1) / 4
    return Trajectories(best, confidence, lengths), truth, spent


def replayed(trajectories, truth, spent, thresholds):
    """The oracle's curve; an unknown class is one that is never predicted."""
    truth = np.where(truth < 0, UNKNOWN, truth)
    return naive_promises.curve(
        trajectories.confidence, trajectories.best, trajectories.ticks, truth, spent, thresholds
    )


def single(confidence, best=0, truth=0, spent=None):
    """The curve of one stream."""
    confidence = np.array([confidence], dtype=float)
    n_ticks = confidence.shape[1]
    trajectories = Trajectories(np.full((1, n_ticks), best), confidence, np.array([n_ticks]))
    return Curve.of(
        trajectories, np.array([truth]), np.arange(1.0, n_ticks + 1)[np.newaxis] if spent is None else spent
    )


def of(n_streams, thresholds, n_labelled, n_right):
    """A curve of given counts."""
    zeros = np.zeros(len(thresholds))
    return Curve(np.array(thresholds), np.array(n_labelled), np.array(n_right), zeros, zeros, n_streams)


class TestAllThresholds:
    @given(replays())
    def test_equals_replays_at_each_threshold(self, replay):
        curve, expected = Curve.of(*replay), replayed(*replay, Curve.of(*replay).thresholds)
        assert curve.n_streams == expected.n_streams
        assert_array_equal(curve.n_labelled, expected.n_labelled)
        assert_array_equal(curve.n_right, expected.n_right)
        assert_array_equal(curve.ticks, expected.ticks)
        assert_allclose(curve.cost, expected.cost, rtol=0, atol=1e-12)

    @given(replays(fewest_ticks=1), st.sampled_from(BETWEEN), st.integers(1, 3))
    def test_count_each_class_as_replays_do(self, replay, threshold, n_classes):
        trajectories, truth, spent = replay
        curve = Curve.of(trajectories, truth, spent, n_classes=n_classes)
        found = curve.by_class_at(np.array([threshold]))
        decided = trajectories.confidence, trajectories.best, trajectories.ticks, truth.tolist()
        expected = naive_promises.by_class(*decided, threshold, n_classes)
        assert list(zip(found.labelled_as[0], found.right_of[0], found.streams_of, strict=True)) == expected
        thinned = curve.thinned(3)
        assert thinned.by_class.right_of.shape == (len(thinned), n_classes)

    @given(replays())
    def test_are_confidences_that_fall(self, replay):
        thresholds = Curve.of(*replay).thresholds
        assert (np.diff(thresholds) < 0).all()
        assert set(thresholds.tolist()) <= set(replay[0].confidence.ravel().tolist())

    @given(replays(fewest_ticks=1), st.sampled_from(BETWEEN))
    def test_decide_as_one_threshold_does(self, replay, threshold):
        trajectories, truth, _ = replay
        classes, ticks = trajectories.decide(threshold)
        expected = naive_promises.decide(trajectories.confidence, trajectories.best, trajectories.ticks, threshold)
        assert_array_equal(classes, expected[0])
        assert_array_equal(ticks, expected[1])
        labelled, right = Curve.of(*replay).at(np.array([threshold]))
        assert labelled.tolist() == [(classes >= 0).sum()]
        assert right.tolist() == [((classes >= 0) & (classes == truth)).sum()]

    @given(replays(fewest=1), st.sampled_from(BETWEEN))
    def test_one_between_is_that_above_it(self, replay, threshold):
        curve = Curve.of(*replay)
        expected = replayed(*replay, [threshold])
        if not expected.n_labelled[0]:
            with pytest.raises(ValueError, match=f"threshold is {threshold}, expected one at which a stream is"):
                curve.at_threshold(threshold)
            return
        point, n = curve.at_threshold(threshold), expected.n_streams
        assert point.threshold == threshold
        assert point.completeness == expected.n_labelled[0] / n
        assert point.accuracy == expected.n_right[0] / expected.n_labelled[0]
        assert_allclose([point.cost, point.ticks], [expected.cost[0] / n, expected.ticks[0] / n], atol=1e-12)


class TestRepetitions:
    @given(replays(fewest_ticks=1), st.integers(1, 3))
    def test_that_are_alike_change_nothing(self, replay, n_repetitions):
        trajectories, truth, spent = replay
        once = Followed(trajectories, truth, spent, np.arange(1, spent.shape[1] + 1), 2)
        assert curve_of(Followed.stacked([once] * n_repetitions)).points() == curve_of(once).points()

    def test_count_streams_once_and_the_rest_as_means(self):
        truth, spent, ticks = np.array([0, 1]), np.array([[1.0, 2.0]] * 2), np.array([1, 2])
        best, lengths = np.zeros((2, 2), np.int64), np.array([2, 2])
        sure, unsure = np.array([[0.75, 0.0], [0.0, 0.75]]), np.array([[0.0, 0.75], [0.0, 0.5]])
        each = (
            Followed(Trajectories(best, confidence, lengths), truth, spent, ticks, 2)
            for confidence in (sure, unsure)
        )
        curve = curve_of(Followed.stacked([*each]))
        assert curve.n_streams == 2
        assert curve.n_labelled.tolist() == [1.5, 2.0]
        assert curve.n_right.tolist() == [1.0, 1.0]
        assert curve.points() == [(0.75, 0.75, 2 / 3, 1.75, 1.75), (0.5, 1.0, 0.5, 1.75, 1.75)]
        assert curve.by_class.labelled_as.tolist() == [[1.5, 0.0], [2.0, 0.0]]
        assert curve.by_class.streams_of.tolist() == [1.0, 1.0]


class TestSomeTicks:
    @given(replays(fewest_ticks=1), st.data())
    def test_some_ticks_suffice_if_only_they_can_decide(self, replay, data):
        (trajectories, truth, spent), n_ticks = replay, replay[2].shape[1]
        at = np.array(sorted({1, *data.draw(st.sets(st.integers(1, n_ticks)))}))
        seen = np.searchsorted(at, trajectories.ticks, side="right")
        ends = np.concatenate([[0], at])[seen]  # a stream ends at the last tick that is looked at
        is_unseen = ~np.isin(np.arange(1, n_ticks + 1), at) | (np.arange(n_ticks) >= ends[:, np.newaxis])
        confidence = np.where(is_unseen, 0.0, trajectories.confidence)
        expected = Curve.of(Trajectories(trajectories.best, confidence, ends), truth, spent)
        chosen = Trajectories(trajectories.best[:, at - 1], confidence[:, at - 1], seen)
        assert Curve.of(chosen, truth, spent[:, at - 1], at).points() == expected.points()


class TestStreams:
    def test_that_are_surer_later_are_decided_later_at_a_higher_threshold(self):
        curve = single([0.5, 0.4, 0.75, 0.6, 1.0])
        assert curve.thresholds.tolist() == [1.0, 0.75, 0.5]
        assert curve.ticks.tolist() == curve.cost.tolist() == [5.0, 3.0, 1.0]
        assert curve.n_labelled.tolist() == curve.n_right.tolist() == [1, 1, 1]

    def test_whose_confidence_is_not_known_at_first_are_decided_when_it_is(self):
        curve = single([np.nan, 0.5, np.nan, 0.75])
        assert curve.thresholds.tolist() == [0.75, 0.5]
        assert curve.ticks.tolist() == [4.0, 2.0]

    def test_that_are_never_sure_have_no_threshold(self):
        for confidence in ([np.nan, np.nan], [0.0, 0.0], []):
            curve = single(confidence)
            assert len(curve) == 0
            assert curve.points() == []
            assert len(curve.thinned()) == 0
            assert [counts.tolist() for counts in curve.at(np.array([0.0, 0.5]))] == [[0, 0], [0, 0]]

    def test_of_a_class_that_the_classifier_does_not_know_are_always_wrong(self):
        assert single([0.5, 0.75], best=0, truth=-1).n_right.tolist() == [0, 0]

    def test_that_never_open_get_no_label_and_pay_what_their_first_column_says(self):
        confidence = np.array([[0.0, 0.0], [0.75, 0.875]])
        trajectories = Trajectories(np.zeros((2, 2), int), confidence, np.array([0, 2]))
        curve = Curve.of(trajectories, np.array([0, 0]), np.array([[5.0, 9.0], [1.0, 2.0]]))
        assert curve.point(0) == (0.875, 0.5, 1.0, 3.5, 1.0)

    def test_that_are_undecided_pay_all_their_ticks(self):
        confidence = np.array([[0.25, 0.5, 0.0], [0.75, 0.5, 0.5]])
        trajectories = Trajectories(np.zeros((2, 3), int), confidence, np.array([2, 3]))
        curve = Curve.of(trajectories, np.array([0, 0]), np.array([[1.0, 2.0, 99.0], [10.0, 20.0, 30.0]]))
        assert curve.thresholds.tolist() == [0.75, 0.5, 0.25]
        assert curve.cost.tolist() == [12.0, 12.0, 11.0]


class TestCurve:
    @given(replays(fewest=1), st.integers(1, 9))
    def test_a_thinned_one_keeps_its_ends_and_invents_nothing(self, replay, most):
        curve = Curve.of(*replay)
        thinned = curve.thinned(most)
        assert len(thinned) == min(most, len(curve))
        assert thinned.n_streams == curve.n_streams
        assert set(thinned.points()) <= set(curve.points())
        if len(curve) and most > 1:
            assert thinned.points()[0] == curve.points()[0]
            assert thinned.points()[-1] == curve.points()[-1]

    @given(st.integers(1, 500), st.floats(0, 5), st.data())
    def test_doubt_takes_standard_errors_off_the_shares(self, n, errors, data):
        labelled = data.draw(st.integers(1, n))
        right = data.draw(st.integers(0, labelled))
        completeness, accuracy = of(n, [0.5], [labelled], [right]).doubted(errors)
        for found, share, of_so_many in ((completeness, labelled / n, n), (accuracy, right / labelled, labelled)):
            variance = share * (1 - share) / of_so_many + 1 / of_so_many**2
            assert_allclose(found, [max(0.0, share - errors * variance**0.5)], rtol=1e-9, atol=1e-12)

    def test_no_doubt_leaves_the_shares(self):
        curve = of(10, [0.9, 0.5], [4, 10], [4, 6])
        assert [shares.tolist() for shares in curve.doubted(0.0)] == [[0.4, 1.0], [1.0, 0.6]]

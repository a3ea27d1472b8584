"""From which cost of an error on it pays to wait."""

import numpy as np
import pytest

from streamfs import StreamSet, evaluate, train
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.decision_costs import DecisionCosts
from streamfs.training.held_out import Followed
from streamfs.training.waiting import MARGIN, worth_waiting


def followed(right_at_the_end):
    """Forty streams of two classes: half are right at tick 1 of 10, and send 1; some at tick 10, and send 4."""
    truth, best = np.arange(40) % 2, np.zeros((40, 2), dtype=np.int64)
    best[:, 1] = np.where(np.arange(40) < right_at_the_end, truth, 1 - truth)
    paths = Trajectories(best, np.full((40, 2), 0.5), np.full(40, 2))
    return Followed(paths, truth, np.tile([1.0, 4.0], (40, 1)), np.array([1, 10]))


@pytest.mark.parametrize("error", [1.0, 0.5])
def test_an_error_costs_at_least_what_waiting_costs_more(error):
    at_once = np.zeros(40, dtype=np.int64)
    found = worth_waiting(followed(36), at_once, DecisionCosts(error, 1.0, sending=0.1), 10, guessed=0.5)
    assert found.error_cost == pytest.approx(MARGIN * (0.9 + 0.1 * 3) / (0.9 - 0.5))
    assert (found.tick, found.right) == (10, pytest.approx(0.9))


def test_nobody_is_advised_to_wait_for_a_tick_that_has_passed():
    at_the_end = np.ones(40, dtype=np.int64)
    assert worth_waiting(followed(36), at_the_end, DecisionCosts(2.0, 1.0), 10, guessed=0.5) is None


def test_who_is_advised_pays_more_than_now():
    at_once = np.zeros(40, dtype=np.int64)
    found = worth_waiting(followed(36), at_once, DecisionCosts(9.0, 1.0), 10, guessed=0.5)
    assert found.error_cost == MARGIN * 9.0


def test_what_luck_explains_is_not_worth_waiting_for():
    at_once = np.zeros(40, dtype=np.int64)
    assert worth_waiting(followed(26), at_once, DecisionCosts(), 10, guessed=0.5) is None
    assert worth_waiting(followed(27), at_once, DecisionCosts(), 10, guessed=0.5) is not None


@pytest.mark.parametrize(
    ("now", "later", "is_worth"), [(34, 40, True), (36, 40, False), (24, 32, True), (24, 27, False)]
)
def test_labels_better_than_guesses_are_compared_stream_by_stream(now, later, is_worth):
    paths = followed(later)
    paths.trajectories.best[:, 0] = np.where(np.arange(40) < now, paths.truth, 1 - paths.truth)
    assert (worth_waiting(paths, np.zeros(40, dtype=np.int64), DecisionCosts(), 10) is not None) == is_worth


def test_who_pays_what_is_advised_gets_better_labels():
    rng, labels = np.random.default_rng(0), np.arange(60) % 2
    values = rng.normal(0.0, 1.0, (60, 20, 1))
    values[:, 16:, 0] += 3.0 * labels[:, np.newaxis]
    streams = StreamSet(values, labels.astype(str), ["x"])
    features = ["count()", "mean(x)", "last(x)"]
    guessing = train(streams, features=features).about["held_out"]
    assert guessing["ticks"] < 16
    advised = guessing["waiting"]["error_cost"]
    waits = train(streams, features=features, error_cost=advised)
    assert "waiting" not in waits.about["held_out"]
    assert evaluate(waits, streams).accuracy > 0.9

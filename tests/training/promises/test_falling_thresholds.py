"""Thresholds that fall with the tick: taken where they help, certified as an engine decides."""

import numpy as np
import pytest
from helpers.procedures import labelled_streams
from helpers.training_options import grouped

from streamfs import Procedure, evaluate, train_promised
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.card_schema import is_certified, read_promise
from streamfs.procedure.promise_monitor import monitor_of
from streamfs.training.held_out import Followed
from streamfs.training.promises import Promise, falling_thresholds
from streamfs.training.promises.falling_thresholds import cheapest_fall
from streamfs.training.promises.recertified import recertify
from streamfs.training.promises.split import TrainTestSplit

PROMISE = Promise(0.8, 0.8, risk=0.1)


@pytest.fixture(scope="module")
def streams():
    return labelled_streams(n_streams=160, n_ticks=10)


@pytest.fixture(scope="module")
def procedure(streams):
    """A procedure whose thresholds fall, whether that helps or not."""
    options = {"features": ["mean(a.level)", "mean(a.noise)"], "promise": PROMISE, "as_offered": True, "n_jobs": 1}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(falling_thresholds, "GAIN", -1e9)
        return train_promised(streams, **grouped(**options))


def followed(confidence, right):
    """Streams of one class, said to be it where that is right."""
    n_streams, n_ticks = confidence.shape
    best, ticks = np.where(right, 0, 1), np.full(n_streams, n_ticks)
    spent = np.tile(np.arange(1.0, n_ticks + 1), (n_streams, 1))
    truth = np.zeros(n_streams, np.int64)
    return Followed(Trajectories(best, confidence, ticks), truth, spent, np.arange(1, n_ticks + 1), 2)


def test_what_was_certified_is_what_an_engine_does(streams, procedure, tmp_path):
    evidence = read_promise(procedure.about["promise"])
    levels = procedure.stopping.levels
    assert evidence["fall"] > 0
    assert list(levels) == sorted(levels, reverse=True)
    decisions = evaluate(procedure, TrainTestSplit.of(streams, None, 0).test).decisions
    assert sum(decision.label is not None for decision in decisions) == evidence["labelled"]
    assert np.mean([decision.tick for decision in decisions]) == pytest.approx(evidence["ticks"])
    procedure.save(tmp_path / "model.streamfs")
    loaded = Procedure.load(tmp_path / "model.streamfs")
    assert is_certified(loaded.rule, evidence)
    assert monitor_of(loaded) is not None
    assert not is_certified(procedure.with_confidence(0.9).rule, evidence)


def test_it_can_be_certified_anew(procedure):
    others = labelled_streams(n_streams=160, n_ticks=10, seed=5)
    again = recertify(procedure, others, retrain=False, n_jobs=1)
    assert again.about["promise"]["fall"] == procedure.about["promise"]["fall"]
    assert is_certified(again.rule, read_promise(again.about["promise"]))


def test_thresholds_fall_where_early_confidence_is_luck():
    rng = np.random.default_rng(0)
    confidence, right = rng.uniform(0.5, 0.95, (300, 12)), rng.random((300, 12)) < 0.6
    confidence[:, 4:], right[:, 4:] = 0.8, rng.random((300, 1)) < 0.97
    assert cheapest_fall(followed(confidence, right), PROMISE, 200, np.inf, 12) is not None


def test_they_stay_where_confidence_is_as_true_at_any_tick():
    rng = np.random.default_rng(0)
    confidence = np.tile(rng.uniform(0.85, 1.0, (300, 1)), (1, 12))
    right = rng.random((300, 1)) < confidence
    assert cheapest_fall(followed(confidence, right), PROMISE, 200, np.inf, 12) is None

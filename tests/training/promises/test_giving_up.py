"""Streams that are given up: as the engine does it, only where it pays, and certified as any."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import Promise, SearchSettings, StreamSet, evaluate, train_promised
from streamfs.evaluation import markdown
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.promise_monitor import monitor_of
from streamfs.training.held_out import Followed
from streamfs.training.promises import falling_thresholds
from streamfs.training.promises.giving_up import cheapest_patience

HALF = Promise(accuracy=0.8, completeness=0.4)


def followed(n_streams=200, n_ticks=20, share=0.5):
    """Streams that are sure and right from tick 2 on, and others that never are, each tick at a price of 1."""
    confidence = np.full((n_streams, n_ticks), 0.5)
    confidence[: round(share * n_streams), 1:] = 0.95
    best = np.zeros((n_streams, n_ticks), dtype=int)
    truth = np.where(np.arange(n_streams) < share * n_streams, 0, np.arange(n_streams) % 2)
    ticks = np.arange(1, n_ticks + 1)
    spent = np.tile(ticks.astype(float), (n_streams, 1))
    return Followed(Trajectories(best, confidence, np.full(n_streams, n_ticks)), truth, spent, ticks)


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.sampled_from([0.4, 0.6, 0.8]))
def test_streams_end_at_the_first_tick_below_the_floor(seed, patience, floor):
    rng = np.random.default_rng(seed)
    lengths, confidence = rng.integers(0, 8, 12), rng.choice([0.3, 0.5, 0.7, 0.9], (12, 7))
    confidence[np.arange(7) >= lengths[:, np.newaxis]] = 0.0
    before = Trajectories(np.zeros((12, 7), int), confidence, lengths)
    floors = np.where(np.arange(1, 8) > patience, floor, 0.0)
    after = before.giving_up(floors)
    for i, length in enumerate(lengths.tolist()):
        low = [t for t in range(length) if t + 1 > patience and confidence[i, t] < floor]
        end = low[0] + 1 if low else length
        assert after.ticks[i] == end
        assert_array_equal(after.confidence[i], [*confidence[i, :end], *[0.0] * (7 - end)])


def test_the_hopeless_are_given_up_as_soon_as_they_stand_out():
    patience = cheapest_patience(followed(), HALF, 1, 200, np.inf)
    assert patience.tick == 2
    assert 0.5 < patience.floor <= 0.95


def test_nothing_is_given_up_before_the_start_or_against_the_completeness():
    late = followed().since(5)
    assert cheapest_patience(late, HALF, 5, 200, np.inf).tick > 5
    complete = Promise(accuracy=0.6, completeness=0.9)
    assert cheapest_patience(followed(), complete, 1, 200, np.inf) is None


def hopeless(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat(["calm", "busy"], 120)
    level = np.where(labels == "calm", -1.0, 1.0) * (rng.random(240) < 0.7)
    return StreamSet(rng.normal(level[:, np.newaxis, np.newaxis], 0.6, (240, 24, 1)), labels, ["noise"])


def test_what_was_certified_is_what_an_engine_does_elsewhere(monkeypatch):
    monkeypatch.setattr(falling_thresholds, "GAIN", 1e9)
    streams, promise = hopeless(1), Promise(accuracy=0.8, completeness=0.5)
    procedure = train_promised(
        streams,
        promise,
        features=["mean(noise)"],
        search=SearchSettings(as_offered=True),
        classifier="extra-trees",
        n_jobs=1,
    )
    evidence = procedure.about["promise"]
    assert procedure.stopping.floors == (0.0, evidence["floor"])
    assert procedure.stopping.ticks == (evidence["start"], evidence["patience"])
    assert monitor_of(procedure) is not None
    assert f"given up below {evidence['floor']:.3g} from tick {evidence['patience']}" in markdown(procedure)
    found = evaluate(procedure, hopeless(2))
    given_up = [decision for decision in found.decisions if decision.reason == "given_up"]
    assert len(given_up) > 20
    assert all(decision.tick >= evidence["patience"] for decision in given_up)
    assert found.accuracy >= 0.8
    assert found.completeness >= 0.5

"""Procedures whose classifier requests some channels only while a stream is unusual: engine and model file."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.lazy import NaiveLazyStream, lazy_procedure, neighbours, random_procedure
from helpers.one_by_one import check_one_by_one
from helpers.procedures import mean_procedure
from hypothesis import given, settings
from hypothesis import strategies as st

import feature_extractors as fx
from streamfs import Costs, Engine, Procedure, StreamSet, evaluate
from streamfs.base import container
from streamfs.data.feature_table import tabulate
from streamfs.engine.engine import DECIDED
from streamfs.errors import ModelError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.requested_channels import RequestedChannels

NAN = float("nan")
SEEDS = st.integers(0, 2**32)


def random_stream(rng, n_ticks, *, gaps=0.2):
    """Samples of the four channels; the first has a value in each."""
    samples = np.round(rng.normal(rng.normal(0, 2, 4), 1.0, (n_ticks, 4)), 1)
    samples[1:][rng.random((n_ticks - 1, 4)) < gaps] = rng.choice([NAN, np.inf])
    return samples


def content(engine):
    return *(array.tobytes() for array in engine.to_state()[1].values()), engine.counters


@given(SEEDS)
def test_a_channel_that_is_let_go_is_not_asked_for_again_before_the_next_episode(seed):
    rng = np.random.default_rng(seed)
    engine = Engine(random_procedure(rng, confidence=1.0))
    engine.admit("s")
    row = np.array([engine.row("s")])
    for episode in range(2):
        asked = engine.asked(row)
        assert asked.all()
        for tick, sample in enumerate(random_stream(rng, 9)):
            engine.push("s", 100.0 * episode + 0.5 * tick, sample)
            now = engine.asked(row)
            assert not (now & ~asked).any()
            asked = now
        assert engine.status("s") == DECIDED
        engine.reopen("s")


@given(SEEDS)
def test_readings_of_a_released_channel_have_no_effect(seed):
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng)
    full, spared = Engine(procedure), Engine(procedure)
    for tick, sample in enumerate(random_stream(rng, 9)):
        asked = full.asked(np.array([full.row("s")]))[0]
        decision = full.push("s", 0.5 * tick, sample)
        assert spared.push("s", 0.5 * tick, np.where(asked, sample, NAN)) == decision
    left, right = content(full), content(spared)
    assert left[:-1] == right[:-1]


@given(SEEDS)
def test_decisions_channels_and_costs_are_those_of_a_slow_twin(seed):
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng)
    engine, twin = Engine(procedure), NaiveLazyStream(procedure)
    row = np.array([engine.row("s")])
    tick, decision = 1, None
    for sample in random_stream(rng, rng.integers(1, 10)):
        decision = engine.push("s", 0.5 * (tick - 1), sample)
        if tick > procedure.time_limit:
            twin.time_out()
        else:
            twin.take(tick, dict(zip(procedure.channels, sample.tolist(), strict=True)))
        asked = {c for c, wanted in zip(procedure.channels, engine.asked(row)[0], strict=True) if wanted}
        assert asked == twin.asked_channels()
        values = engine.values("s")
        assert values == pytest.approx(twin.values, rel=1e-9, abs=1e-12, nan_ok=True)
        if decision is not None:
            break
        tick += rng.choice([1, 1, 1, 2, 5])
    if decision is None and rng.random() < 0.5:
        [decision] = engine.expire(100.0)
        twin.time_out()
    decision = engine.close("s") if decision is None else decision
    assert decision.tick == twin.tick
    assert decision.cost == pytest.approx(twin.cost, rel=1e-12)
    if not np.isnan(decision.confidence):
        probabilities = procedure.classifier.probabilities(values[None])[0]  # of equal distances, rounding decides
        assert decision.confidence == probabilities.max()
        assert decision.label in (None, procedure.classes[probabilities.argmax()])


@given(SEEDS, st.integers(1, 40))
def test_samples_may_come_one_by_one_or_together_and_through_a_snapshot(seed, size):
    rng = np.random.default_rng(seed)
    check_one_by_one(random_procedure(rng), rng, 4, 2, size)


@given(SEEDS)
@settings(max_examples=30)
def test_trajectories_decide_and_cost_as_the_engine_does(seed):
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng)
    procedure = replace(procedure, costs=Costs(procedure.costs.each, a=2.0))
    values = np.stack([random_stream(rng, 12) for _ in range(20)])
    values[np.isinf(values)] = NAN
    labels = rng.choice(procedure.classes, 20)
    streams = StreamSet(values, labels, ["x", "y", "z", "w"], 0.5, lengths=rng.integers(1, 13, 20))
    decisions = evaluate(procedure, streams).decisions
    trajectories = Trajectories.of(procedure.classifier, tabulate(streams, procedure.features), 9)
    found, ticks = trajectories.decide(procedure.confidence)
    assert [None if i < 0 else procedure.classes[i] for i in found] == [d.label for d in decisions]
    assert ticks.tolist() == [d.tick for d in decisions]
    spent = trajectories.spent(procedure.costs.take(procedure.classifier.features_tested()), ticks)
    assert spent == pytest.approx([d.cost for d in decisions], rel=1e-12)


def test_a_tree_asks_for_everything_to_the_end():
    engine = Engine(mean_procedure(costs=Costs([2.0], [3.0], a=3.0, b=0.5)))
    assert not engine.varies
    for tick in range(4):
        engine.push("s", float(tick), [0.0])
        assert engine.asked(np.array([engine.row("s")])).tolist() == [[True]]
    assert engine.push("s", 4.0, [9.0]).cost == 3.0 * 5 * 2.0 + 0.5 * 3.0


def test_a_classifier_that_fails_charges_nothing():
    engine = Engine(lazy_procedure("x", "y"))
    engine.push("s", 0.0, [0.5, 0.0])
    before = content(engine)[:-1]
    engine._answer = None
    with pytest.raises(TypeError):
        engine.push("s", 1.0, [0.5, 0.0])
    assert content(engine)[:-1] == before


def test_a_stream_that_never_began_has_cost_nothing_but_its_setting_up():
    procedure = lazy_procedure("x", "y")
    engine = Engine(procedure)
    engine.push("s", 0.0, [0.5, NAN])
    assert engine.close("s").cost == procedure.cost(0) == 4.0 * 2 * 0.25


def test_a_feature_that_never_joins_is_not_asked_for_once_the_episode_has_begun():
    procedure = lazy_procedure("x", "y")
    never = replace(procedure.classifier, thresholds=np.full(2, np.inf))
    engine = Engine(replace(procedure, classifier=never))
    row = np.array([engine.row("s")])
    assert engine.asked(row).tolist() == [[True, True]], "an episode begins with a value in every column"
    engine.push("s", 0.0, [0.5, 1.0])
    assert engine.asked(row).tolist() == [[True, False]]
    assert engine.close("s").cost == 2.0 * 1.0 + 4.0 * 0.5


@pytest.mark.parametrize(
    ("spent", "message"),
    [(-1.0, "spent of row 0 is -1.0, expected a cost"), (NAN, "spent of row 0 is nan"), (np.inf, "row 0 is inf")],
)
def test_a_snapshot_with_impossible_costs_is_refused(spent, message):
    engine = Engine(lazy_procedure("x", "y"))
    engine.push("s", 0.0, [0.5, 0.0])
    header, arrays = engine.to_state()
    with pytest.raises(ModelError, match=message):
        Engine.from_state(engine.procedure, header, {**arrays, "spent": np.array([spent])})
    del arrays["spent"]
    with pytest.raises(ModelError, match="has no spent"):
        Engine.from_state(engine.procedure, header, arrays)


@given(SEEDS)
@settings(max_examples=20)
def test_saved_neighbours_decide_alike(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng)
    path = tmp_path_factory.mktemp("models") / "m.streamfs"
    procedure.save(path)
    loaded = Procedure.load(path)
    assert (loaded.digest, loaded.text()) == (procedure.digest, procedure.text())
    assert replace(loaded).packed == procedure.packed
    one, other = Engine(procedure), Engine(loaded)
    for tick, sample in enumerate(random_stream(rng, 9)):
        assert repr(one.push("s", 0.5 * tick, sample)) == repr(other.push("s", 0.5 * tick, sample))


@pytest.mark.parametrize("name", ["values", "classes", "means", "n_neighbors"])
def test_a_model_file_without_a_part_of_its_neighbours_is_damaged(tmp_path, name):
    header, arrays, _ = container.unpack(lazy_procedure("x", "y").packed, "model", 1, "it")
    del arrays[f"neighbours.{name}"]
    (tmp_path / "m.streamfs").write_bytes(container.pack("model", 1, header, arrays))
    with pytest.raises(ModelError, match=rf"m\.streamfs is damaged: neighbours\.{name} is missing"):
        Procedure.load(tmp_path / "m.streamfs")


def test_neighbours_of_other_features_are_refused(tmp_path):
    procedure = lazy_procedure("x", "y")
    with pytest.raises(ValueError, match="the neighbours have 2 features, expected 3"):
        replace(procedure, features=lazy_procedure("x", "y", "z").features, costs=Costs(np.ones(3)))
    header, arrays, _ = container.unpack(procedure.packed, "model", 1, "it")
    arrays |= {"costs.each": np.ones(3), "costs.once": np.ones(3)}
    header["features"].append("mean(z)")
    (tmp_path / "m.streamfs").write_bytes(container.pack("model", 1, header, arrays))
    with pytest.raises(ModelError, match=r"m\.streamfs is damaged: the neighbours have 2 features, expected 3"):
        Procedure.load(tmp_path / "m.streamfs")


def test_a_person_reads_when_a_feature_is_looked_at():
    lines = lazy_procedure("x", "y", "z").text().splitlines()
    assert lines[-4:] == [
        "neighbours  8 of 22 instances vote",
        "always      mean(x)",
        "if unusual  mean(y)  at most -1, or at least 1",
        "            mean(z)  at most -1, or at least 1",
    ]


def test_features_without_channels_request_none():
    classifier = neighbours([[1.0], [9.0]] * 9, [0, 1] * 9, [0], n_neighbors=8)
    asking = RequestedChannels(classifier, [fx.get("count()")])
    assert asking.channels(np.array([[3.0], [np.nan]])).shape == (2, 0)
    followed, asked = asking.replay(np.arange(1.0, 7.0).reshape(2, 3, 1))
    assert asked.all()
    np.testing.assert_array_equal(followed.ravel(), np.arange(1.0, 7.0))

"""A stopping rule defined in this test: asked, saved, loaded, served, and gone from what it gives up."""

from dataclasses import dataclass, replace

import numpy as np
import orjson
import pytest
from helpers.own_stopping import Leads
from helpers.procedures import mean_procedure
from helpers.random_models import random_forest, random_procedure
from helpers.records import Models, label, message, new_core, restored
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs import Engine, Procedure, StreamSet, evaluate, tabulate
from streamfs.errors import ModelError
from streamfs.evaluation import sweep
from streamfs.evaluation.model_card import facts, markdown
from streamfs.evaluation.traffic import measure_traffic
from streamfs.evaluation.trajectories import Trajectories
from streamfs.gateway.core.bindings import Bindings
from streamfs.procedure import Action, StoppingRule, TickThresholds, read_rule, register_rule, stopping

LEADS = Leads(margin=0.3, patience=3)
NAN = float("nan")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(stopping, "_RULES", dict(stopping._RULES))
    register_rule(Leads)


def procedure_of(rule=LEADS, **options):
    """The mean is low or high; "off" has 21 / 26, and "on" 31 / 32."""
    return mean_procedure(**options).with_stopping(rule)


def test_a_stream_is_decided_given_up_or_timed_out():
    procedure = procedure_of(Leads(margin=0.7, patience=3))
    engine = Engine(procedure)
    assert engine.push("high", 0.0, [0.9]).reason == "confident"
    assert [engine.push("low", tick, [0.0]) for tick in (0.0, 1.0)] == [None, None]
    given_up = engine.push("low", 2.0, [0.0])
    assert (given_up.label, given_up.reason, given_up.tick) == (None, "given_up", 3)
    assert given_up.cost == procedure.cost(3)
    assert given_up.confidence == pytest.approx(21 / 26)
    assert engine.is_decided("low")
    assert engine.push("low", 3.0, [0.9]) is None
    assert engine.counters["after_decision"] == 1
    waiting = Engine(procedure_of(Leads(margin=0.7, patience=99), time_limit=2))
    assert waiting.push("low", 0.0, [0.0]) is None
    assert waiting.push("low", 1.0, [0.0]).reason == "timeout"


def naive_end(rule, probabilities):
    """Ask a rule tick by tick; return the last tick, and whether the stream is labelled."""
    for tick, row in enumerate(probabilities, start=1):
        action = int(np.asarray(rule.actions(np.array([tick]), row[np.newaxis]))[0])
        if action != Action.WAIT:
            return tick, action == Action.DECIDE
    return len(probabilities), False


def with_forest(rng):
    return random_procedure(rng, random_forest(rng.integers(2**32), n_features=5, n_classes=3))


@dataclass(frozen=True)
class Slowly(StoppingRule):
    """The same as thresholds, but outside of the compiled pass."""

    word = "slowly"
    ticks: tuple[int, ...]
    levels: tuple[float, ...]

    def actions(self, ticks, probabilities):
        return TickThresholds(self.ticks, self.levels).actions(ticks, probabilities)


@pytest.mark.parametrize("make", [random_procedure, with_forest])
@given(seed=st.integers(0, 2**32 - 1), patience=st.integers(1, 12), margin=st.sampled_from([0.0, 0.2, 0.5, 0.9]))
@settings(max_examples=25)
def test_offline_is_online(make, seed, patience, margin):
    """An engine, in batches or one by one, and trajectories do as a rule that is asked at each tick in turn."""
    rng = np.random.default_rng(seed)
    procedure = make(rng).with_stopping(Leads(margin, patience))
    values = np.round(rng.normal(1, 1.5, (12, 10, len(procedure.channels))))
    values[rng.random(values.shape) < 0.2] = NAN
    columns = [channel.partition("@")[0] for channel in procedure.channels]
    streams = StreamSet(values, rng.choice(procedure.classes, 12), columns, 0.5, lengths=rng.integers(1, 11, 12))
    table = tabulate(streams, procedure.features, procedure.max_silence)
    trajectories = Trajectories.of(procedure.classifier, table, procedure.time_limit)
    found, ticks = trajectories.decide(procedure.rule)
    seen, engine = streams.seen_through(procedure.channels, procedure.max_silence), Engine(procedure)
    for i, decision in enumerate(evaluate(procedure, streams).decisions):
        n_ticks = trajectories.ticks[i]
        tick, is_labelled = naive_end(procedure.rule, trajectories.probabilities[i, :n_ticks])
        assert (decision.tick, decision.label is not None) == (tick, is_labelled)
        assert (ticks[i], found[i] >= 0) == (tick, is_labelled)
        assert decision.label is None or decision.label == procedure.classes[found[i]]
        assert (decision.reason == "given_up") == (0 < patience <= tick and not is_labelled and n_ticks > 0)
        pushed = [engine.push(decision.stream, 0.5 * t, seen.values[i, t]) for t in range(streams.lengths[i])]
        assert [decision] == [d for d in pushed if d] or decision.reason == "closed"
    thresholds = TickThresholds((1, 3), (0.8, 0.6))
    slowly = procedure.with_stopping(Slowly(thresholds.ticks, thresholds.levels))
    one, other = (evaluate(each, streams).decisions for each in (slowly, procedure.with_stopping(thresholds)))
    assert [d.to_json() for d in one] == [d.to_json() for d in other]


def test_a_file_keeps_it_by_its_word(tmp_path, monkeypatch):
    procedure, path = procedure_of(), tmp_path / "m.streamfs"
    procedure.save(path)
    assert LEADS.to_json() == {"rule": "leading", "margin": 0.3, "patience": 3}
    loaded = Procedure.load(path)
    assert (loaded.rule, loaded.digest) == (LEADS, procedure.digest)
    assert replace(loaded).packed == procedure.packed
    assert "stopping    leading (margin 0.3, patience 3)\n" in loaded.text()
    monkeypatch.delitem(stopping._RULES, "leading")
    with pytest.raises(ModelError, match=r"damaged: stopping\.rule is 'leading', expected thresholds"):
        Procedure.load(path)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "leading", "margin": 0.3}, "stopping.patience is missing"),
        ({"rule": "leading", "margin": 0.3, "patience": 3, "x": 1}, "stopping.x is unknown"),
    ],
)
def test_parameters_that_are_missing_or_unknown_are_refused_by_name(rule, message):
    with pytest.raises(ModelError, match=message):
        read_rule(rule)


def test_what_is_not_a_rule_is_refused():
    with pytest.raises(TypeError, match=r"stopping is 0\.9, expected a StoppingRule, such as TickThresholds"):
        procedure_of(0.9)
    for kind, error, words in (
        (type("Named", (StoppingRule,), {"word": "named"}), TypeError, "expected a dataclass"),
        (
            dataclass(frozen=True)(type("Taken", (Leads,), {})),
            ValueError,
            "word is 'leading', expected one",
        ),
    ):
        with pytest.raises(error, match=words):
            register_rule(kind)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (
            lambda ticks, _: np.zeros(len(ticks) + 1, int),
            r"the actions of leading have shape \(2,\), expected \(1,\)",
        ),
        (lambda ticks, _: np.full(len(ticks), 3), "an action of leading is 3, expected one of <Action.WAIT: 0>"),
        (lambda ticks, _: np.full(len(ticks), NAN), "an action of leading is nan, expected one of"),
    ],
)
def test_wrong_actions_are_refused_before_a_stream_moves(actions, message, monkeypatch):
    procedure = procedure_of()
    engine = Engine(procedure)
    engine.push("s", 0.0, [NAN])
    with monkeypatch.context() as patched:
        patched.setattr(Leads, "actions", lambda _, *given: actions(*given))
        with pytest.raises(ValueError, match=message):
            engine.push("s", 1.0, [0.0])
    assert engine.tick("s") == 0
    assert engine.push("s", 1.0, [0.9]).label == "on"


def test_trajectories_without_all_probabilities_refuse_it():
    bare = Trajectories(np.zeros((1, 2), int), np.ones((1, 2)), np.array([2]))
    with pytest.raises(ValueError, match=r"rule is Leads\(margin=0.3, patience=3\), expected thresholds"):
        bare.decide(LEADS)


def test_an_evaluation_counts_what_is_given_up_as_unlabelled():
    procedure = procedure_of(Leads(margin=0.7, patience=3))
    streams = StreamSet(np.repeat([[[0.0]], [[0.9]]], 6, axis=1), ["off", "on"], ["x"])
    [found, one] = sweep(procedure, streams, [procedure.rule, 0.8])
    assert (found.completeness, found.accuracy, found.ticks) == (0.5, 1.0, 2.0)
    assert np.isnan(found.confidence)
    assert (one.completeness, one.confidence) == (1.0, 0.8)
    assert measure_traffic(procedure, streams).ticks == 2.0


def test_an_engine_continues_from_a_snapshot():
    procedure = procedure_of(Leads(margin=0.7, patience=3))
    engine = Engine(procedure)
    for tick in range(2):
        assert engine.push("s", float(tick), [0.0]) is None
        engine = Engine.restore(procedure, engine.snapshot())
    assert engine.push("s", 2.0, [0.0]).reason == "given_up"
    assert Engine.restore(procedure, engine.snapshot()).is_decided("s")


def test_a_gateway_stops_the_node_of_a_stream_that_is_given_up():
    models = Models(procedure_of(Leads(margin=0.7, patience=2)))
    core, _ = new_core(models, Bindings.single(["x"], ["a"]), lateness=0.0)
    core.take([message("a", 0.0, 0.0)])
    core = restored(core, models)
    effects = core.take([message("a", time, 0.0) for time in (1.0, 2.0)])
    [decision] = effects.decisions
    assert (decision.stream, decision.label, decision.reason, decision.tick) == ("a", None, "given_up", 2)
    assert core.decided == {("given_up", ""): 1}
    published = {p.topic: p.payload for p in effects.publications}
    assert orjson.loads(published["streamfs/decision/a"])["reason"] == "given_up"
    assert orjson.loads(published["streamfs/control/a"])["channels"] == []
    core.take([label("a", "off", 3.0)])
    assert core.counters["labels"] == 1


def test_a_card_names_it():
    text = markdown(procedure_of())
    assert (
        "Decides whether a stream is `off` or `on`, by the stopping rule leading (margin 0.3, patience 3)" in text
    )
    assert facts(procedure_of())["stopping"] == LEADS.to_json()

"""A gateway whose nodes send some channels only while their stream is unusual, or from a tick of it on."""

from math import ceil
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from helpers.lazy import lazy_procedure, neighbours
from helpers.procedures import channels_procedure
from helpers.records import (
    EVICTING,
    Models,
    check_divided,
    command,
    content,
    make_options,
    message,
    new_core,
    requested_channels,
)
from helpers.stories import PAIRS, story_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_recovery import Run, come_of, killed_often

import feature_extractors as fx
from streamfs import Costs, Procedure
from streamfs.engine.engine import OPEN, WAITING
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import clock_record, model_record, start_record

ALONE = Models(
    lazy_procedure("x", "y@every:2", far=0.4),
    channels_procedure("x", "door@flag:0.5", time_limit=9),
    lazy_procedure("x", "door@flag:0.5", "y@every:2", far=0.2, time_limit=4),
)
PAIRED = Models(
    lazy_procedure("a.x", "b.x", "b.y@every:2", far=0.4),
    channels_procedure("a.x", "b.x", time_limit=9),
    lazy_procedure("b.x", "a.door@flag:0.5", far=0.3, time_limit=12),
)
OPENING = Models(
    channels_procedure("x", "y@every:2@from:4", time_limit=9),
    channels_procedure("x", "door@flag:0.5@from:2", "y@every:2", time_limit=6),
    lazy_procedure("x", "y@every:2@from:3", far=0.2, time_limit=8),
)
BINDINGS = {
    ALONE: Bindings.single(ALONE.first.channels),
    PAIRED: Bindings.pairs(PAIRED.first.channels, PAIRS),
    OPENING: Bindings.single(OPENING.first.channels),
}
CASES = {
    "alone": (ALONE, {"reopen_after": 3.0, "lateness": 0.0}),
    "evicting": (ALONE, {"streams": 3, **EVICTING, "expire_after": 20.0, "reopen_after": 4.0}),
    "paired": (PAIRED, {"reopen_after": 2.0}),
    "opening": (OPENING, {"reopen_after": 3.0, "lateness": 0.0}),
    "opening late": (OPENING, {"streams": 3, **EVICTING, "expire_after": 20.0, "reopen_after": 4.0}),
}
SEEDS = st.integers(0, 2**32)


def wanted(core):
    """Return the channels that each node must send, counted afresh: those requested by an undecided stream."""
    roster = core.roster
    channels = {name: set() for name in roster.nodes}
    for model in roster.models:
        engine = model.engine
        rows = engine.rows(WAITING, OPEN)
        ahead = 1 + ceil(0.5 + core.joiner.timing.lateness)  # ticks, of a second
        for row, asked in zip(rows.tolist(), engine.asked(rows, ahead), strict=True):
            for slot, is_asked in zip(model.slots_of(engine.name(row)), asked.tolist(), strict=True):
                if is_asked:
                    node, channel = core.joiner.place(slot)
                    channels[roster.name(node)].add(channel)
    return channels


@pytest.mark.parametrize("case", CASES)
@given(SEEDS)
@settings(max_examples=20)
def test_every_node_receives_at_once_exactly_what_its_streams_request(case, seed):
    models, options = CASES[case]
    core, effects = new_core(models, BINDINGS[models], **options)
    known = requested_channels(effects.publications)
    for record in story_of(models, seed):
        known |= requested_channels(core.take([record]).publications)
        sends = {node: set(known.get(node, [])) for node in core.roster.nodes}
        assert sends == wanted(core)


@pytest.mark.parametrize("restoring", [False, True], ids=["kept", "restored"])
@pytest.mark.parametrize("case", CASES)
@given(seed=SEEDS, sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5))
@settings(max_examples=10)  # simulated worlds try it, too
def test_the_same_records_have_the_same_effects_however_they_are_divided(case, restoring, seed, sizes):
    models, options = CASES[case]
    check_divided(models, BINDINGS[models], options, list(story_of(models, seed)), sizes, restoring=restoring)


@pytest.mark.parametrize("case", CASES)
@given(seed=SEEDS)
@settings(max_examples=8)
def test_a_gateway_that_is_killed_anywhere_goes_on_as_if_nothing_had_happened(case, seed):
    models, options = CASES[case]
    records = list(story_of(models, seed))
    with TemporaryDirectory() as folder:
        found, core, taken = killed_often(folder, records, Random(seed), models, BINDINGS[models], options)  # noqa: S311 - the same for a seed
    whole = Core(models.first, BINDINGS[models], make_options(**options), models)
    assert found == come_of(whole.take(taken))
    assert content(core) == content(whole)


def heard(core, tick, **values):
    """Let a node report values at a tick; return the control messages that it receives."""
    records = [message("n1", float(tick), value, tick, channel) for channel, value in values.items()]
    effects = core.take([*records, clock_record(tick + 1.0)])
    return requested_channels(effects.publications).get("n1"), effects.decisions


def test_a_node_drops_what_is_usual_and_sends_it_again_in_the_next_episode():
    models = Models(lazy_procedure("x", "y", far=1.0))
    core, effects = new_core(models, Bindings.single(["x", "y"], ["n1"]), lateness=0.0, grace=0.0)
    assert requested_channels(effects.publications) == {"n1": ["x", "y"]}
    assert heard(core, 0, x=0.5, y=2.0) == (None, [])
    assert heard(core, 1, x=0.5, y=1.0) == (None, [])
    assert heard(core, 2, x=0.5, y=-3.0) == (["x"], [])
    assert heard(core, 3, x=0.5, y=90.0) == (None, []), "what still comes is not looked at"
    told, [decision] = heard(core, 4, x=5.0)
    assert told == []
    assert (decision.label, decision.tick, decision.cost) == ("on", 5, 2.0 * (5 * 1.0 + 3 * 2.0) + 4.0 * 0.5)
    effects = core.take([command({"reopen": "n1"})])
    assert requested_channels(effects.publications) == {"n1": ["x", "y"]}
    assert heard(core, 6, x=0.5, y=9.0) == (None, [])
    _, [decision] = heard(core, 7, x=9.0, y=9.0)
    assert (decision.episode, decision.tick) == (2, 2)
    assert decision.cost == 2.0 * 2 * 3.0 + 4.0 * 0.5, "nothing is left of the first episode"


def test_a_channel_goes_on_as_long_as_one_stream_asks_for_it():
    models = Models(lazy_procedure("a.x", "b.y", far=1.0))
    pairs = {"p": {"a": "n0", "b": "n2"}, "q": {"a": "n1", "b": "n2"}}
    core, _ = new_core(models, Bindings.pairs(["a.x", "b.y"], pairs), lateness=0.0, grace=0.0)

    def requested_at(tick, **values):
        records = [
            message(node, float(tick), value, tick, "y" if node == "n2" else "x") for node, value in values.items()
        ]
        effects = core.take([*records, clock_record(tick + 1.0)])
        return requested_channels(effects.publications)

    assert requested_at(0, n0=0.5, n2=0.0) == {}, "one of the streams has not begun, and asks for all"
    assert requested_at(1, n0=0.5, n1=0.5, n2=3.0) == {}, "and now its value is unusual"
    assert requested_at(2, n0=0.5, n1=0.5, n2=-3.0) == {"n2": []}
    assert requested_at(3, n0=9.0, n1=0.5) == {"n0": []}
    assert wanted(core) == {"n0": set(), "n1": {"x"}, "n2": set()}


def test_a_stream_that_ends_gives_back_what_it_still_asks_for_and_no_more():
    models = Models(lazy_procedure("x", "y", far=1.0), channels_procedure("x", "y"))
    core, _ = new_core(models, Bindings.single(["x", "y"], ["n1"]), lateness=0.0, grace=0.0)
    heard(core, 0, x=0.5, y=0.0)
    core.take([model_record(list(models)[1], 1.0)])
    assert wanted(core) == {"n1": {"x"}}, "an open episode ends on its model"
    core.take([clock_record(30.0), command({"reopen": "n1"})])
    assert heard(core, 31, x=0.0, y=0.0)[1] == []
    assert core.roster.control._uses[core.roster.nodes["n1"]].tolist() == [1, 1]
    assert wanted(core) == {"n1": {"x", "y"}}


def test_a_node_that_takes_the_place_of_one_that_was_let_go_sends_everything():
    models = Models(lazy_procedure("x", "y", far=1.0))
    core, _ = new_core(models, Bindings.single(["x", "y"]), lateness=0.0, grace=0.0, streams=1, **EVICTING)
    heard(core, 0, x=0.5, y=0.0)
    assert wanted(core) == {"n1": {"x"}}
    effects = core.take([message("n2", 1.0, 0.5, 0)])
    assert requested_channels(effects.publications)["n2"] == ["x", "y"]


def test_nodes_that_are_bound_otherwise_are_asked_for_what_their_new_streams_need(tmp_path):
    procedure = lazy_procedure("a.x", "b.y", far=1.0)
    models = Models(procedure)
    before = Bindings.pairs(procedure.channels, {"p": {"a": "n0", "b": "n1"}})
    with Run(tmp_path, models, before) as run:
        run.take([start_record(procedure.digest, 0.0)])
        readings = [message("n0", 0.0, 0.5, 0), message("n1", 0.0, 0.0, 0, "y")]
        run.take([*readings, clock_record(16.0)], snapshot=True)
        assert wanted(run.core) == {"n0": {"x"}, "n1": set()}
    after = Bindings.pairs(procedure.channels, {"q": {"a": "n0", "b": "n1"}, "r": {"a": "n2", "b": "n1"}})
    with Run(tmp_path, models, after) as run:
        started = run.take([start_record(procedure.digest, 6.0)])
        assert requested_channels(started.publications) == {"n1": ["y"], "n2": ["x"]}
        assert run.core.roster.control._uses[:3].tolist() == [[1, 0], [0, 2], [1, 0]]


def test_an_old_value_does_not_let_a_channel_go_that_a_reopened_stream_asks_for():
    """Of two pairs that share a node the one goes on while the other's second node is silent, and changes."""
    rows = [[0.5, 0.0]] * 8 + [[0.5, 1.6]] * 9 + [[0.0, 0.0], [1.0, 0.0]]
    classes = [0, 1] * 4 + [1] * 9 + [0, 1]
    classifier = neighbours(rows, classes, [0], thresholds=[np.inf, 0.5], n_neighbors=8)
    features = fx.get("mean(a.x)"), fx.get("mean(b.y@delta:0.5)")
    procedure = Procedure(features, classifier, ("off", "on"), Costs([1.0, 1.0], [0.0, 0.0]), 0.9, 6)
    pairs = {"p": {"a": "n0", "b": "n1"}, "r": {"a": "n0", "b": "n2"}}
    bindings = Bindings.pairs(procedure.channels, pairs)
    core, effects = new_core(Models(procedure), bindings, lateness=2.0, reopen_after=5.0)
    known, last, decisions = requested_channels(effects.publications), {}, []
    for second in range(80):
        records = []
        for node in ("n0", "n1", "n2"):
            level = 1.6 if (second >= 9 if node == "n1" else second < 3) else 0.0
            for channel in known.get(node, []):
                if channel == "x":
                    records.append(message(node, float(second), 0.5, None, channel))
                elif node not in last or abs(last[node] - level) > 0.5:
                    records.append(message(node, float(second), level, None, channel))
                    last[node] = level
            if not known.get(node):
                last.pop(node, None)  # it says what its value is as soon as it is to send again
        effects = core.take([*records, clock_record(float(second))])
        known |= requested_channels(effects.publications)
        decisions += [(d.episode, d.label, d.tick) for d in effects.decisions if d.stream == "p"]
    assert decisions[0] == (1, None, 6)
    assert decisions[1:] == [(episode, "on", 1) for episode in range(2, len(decisions) + 1)]
    assert len(decisions) > 3

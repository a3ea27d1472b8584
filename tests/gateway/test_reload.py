"""A model change during a run: open episodes finish with their model, all others use the new one."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.own_classifier import Minimal
from helpers.procedures import channels_procedure
from helpers.records import (
    EVICTING,
    Models,
    command,
    content,
    ids,
    label,
    make_options,
    message,
    new_core,
    raw,
    requested_channels,
    restored,
)

from streamfs.errors import ModelError
from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import clock_record, model_record, settings_record, start_record
from streamfs.gateway.core.replay_configuration import described
from streamfs.gateway.model_file import rehearse
from streamfs.gateway.recovery import last_model, recover
from streamfs.gateway.storage.state import State

OLD = channels_procedure("x", time_limit=8)
WIDER = channels_procedure("x", "door@flag:0.5", time_limit=4)
OTHER = channels_procedure("y", time_limit=4)
MODELS = Models(OLD, WIDER, OTHER)
NODES = ("open", "decided", "unheard")
ALONE = Bindings.single(["x"], NODES)


def readings(node, times, value=0.0, channel="x"):
    return [message(node, float(time), value, channel=channel) for time in times]


def begun(bindings=None, **options):
    """Return a core with an open stream, a decided one, and one that never sent."""
    bindings = Bindings.single(["x"], NODES) if bindings is None else bindings
    core, _ = new_core(MODELS, bindings, lateness=0.0, grace=0.0, **options)
    heard = [*readings("open", [0]), *readings("decided", [0], 1.0), *readings("open", [1])]
    first = core.take([*heard, clock_record(1.0)])
    assert ids(first.decisions) == ["decided/1"]
    return core


def reload(core, procedure):
    return core.take([model_record(procedure.digest, 0.0)])


def costs(effects):
    return {f"{d.stream}/{d.episode}": (d.tick, d.cost) for d in effects.decisions}


def streams_by_model(core):
    return {model.procedure.digest: set(model.engine.streams) for model in core.roster.models}


def test_open_episodes_end_on_the_model_they_began_with():
    core = begun()
    reload(core, WIDER)
    assert streams_by_model(core) == {OLD.digest: {"open"}, WIDER.digest: {"decided", "unheard"}}
    assert costs(core.take(readings("open", range(2, 20)))) == {"open/1": (8, OLD.cost(8))}
    assert streams_by_model(core) == {WIDER.digest: set(NODES)}
    assert core.counters["models"] == 1


def test_new_episodes_follow_the_new_model_and_count_on():
    core = begun()
    reload(core, WIDER)
    core.take([command({"reopen": "decided"})])
    door = readings("decided", [2], 0.0, "door@flag:0.5")
    assert costs(core.take([*door, *readings("decided", range(2, 7))])) == {"decided/2": (4, WIDER.cost(4))}


def test_streams_that_have_not_begun_wait_for_the_new_models_channels():
    core = begun()
    assert requested_channels(reload(core, OTHER).publications) == {"unheard": ["y"]}
    assert core.take(readings("unheard", range(2, 5), 1.0)).decisions == []
    (decision,) = core.take(readings("unheard", range(5, 7), 1.0, "y")).decisions
    assert ids([decision]) == ["unheard/1"]


def test_until_they_end_open_episodes_keep_their_channels():
    core = begun()
    reload(core, OTHER)
    assert set(core.topics) >= {"sensors/+/x", "sensors/+/y"}
    assert requested_channels(core.roster.control_states()) == {"open": ["x"], "decided": [], "unheard": ["y"]}
    assert requested_channels(core.take(readings("open", range(2, 10))).publications)["open"] == []
    assert requested_channels(core.take([command({"reopen": "open"})]).publications) == {"open": ["y"]}


@pytest.mark.parametrize("restoring", [False, True])
def test_what_nodes_still_send_for_a_model_that_has_gone_is_paid(restoring):
    core = begun()
    reload(core, OTHER)
    core.take(readings("open", range(2, 10)))
    assert streams_by_model(core) == {OTHER.digest: set(NODES)}
    if restoring:
        core = restored(core, MODELS)
    before = core.spent.messages
    core.take(readings("open", [10, 11]))
    assert core.spent.messages == before + 2
    assert core.counters["unbound"] == 0


def test_streams_decided_before_are_opened_again_when_their_time_comes():
    core = begun(reopen_after=5.0)
    reload(core, WIDER)
    core.take([*readings("unheard", range(2, 7)), clock_record(6.0)])
    assert core.counters["reopened"] == 1
    assert not core.roster.newest.engine.is_decided("decided")


def test_a_stream_that_ended_on_the_model_before_is_opened_again_after_its_own_decision():
    core = begun(reopen_after=5.0)
    reload(core, WIDER)
    core.take(readings("open", range(2, 9)))  # decided at 7
    core.take([clock_record(12.0)])
    assert core.roster.newest.engine.is_decided("open")
    core.take([clock_record(14.5)])
    assert core.roster.newest.engine.episode("open") == 2


def test_a_label_for_a_decision_of_the_model_before_teaches_the_new_one_nothing():
    core = begun()
    reload(core, WIDER)
    core.take([label("decided", "on")])
    assert (core.counters["labels_unused"], core.counters["labels_learned"]) == (1, 0)


def test_a_stream_that_leaves_while_its_model_drains_counts_on_when_it_comes_again():
    core, _ = new_core(MODELS, Bindings.single(["x"]), lateness=0.0, streams=1, **EVICTING)
    core.take(readings("n1", [0, 1]))
    reload(core, WIDER)
    effects = core.take(readings("n2", [2, 3]))
    assert ids(effects.decisions) == ["n1/1"]
    assert streams_by_model(core) == {WIDER.digest: {"n2"}}
    core.take(readings("n1", [4]))
    assert core.roster.newest.engine.episode("n1") == 2


def test_a_stream_that_left_before_the_model_came_counts_on_when_it_comes_again():
    core, _ = new_core(MODELS, Bindings.single(["x"]), lateness=0.0, streams=1, **EVICTING)
    core.take([*readings("n1", [0, 1]), *readings("n2", [2, 3])])
    reload(core, WIDER)
    core.take(readings("n1", [4]))
    assert core.roster.newest.engine.episode("n1") == 2


def test_the_model_before_may_come_back_while_it_drains():
    core = begun()
    reload(core, WIDER)
    reload(core, OLD)
    assert [model.procedure.digest for model in core.roster.models] == [OLD.digest, OLD.digest]
    decisions = core.take([command({"reopen": "*"}), *readings("open", range(2, 20), 1.0)]).decisions
    assert ids(decisions) == ["open/1"]
    assert streams_by_model(core) == {OLD.digest: set(NODES)}


def test_open_streams_are_counted_by_their_models():
    core = begun()
    core.take(readings("unheard", [2, 3]))
    for procedure in (WIDER, OTHER, OLD):
        reload(core, procedure)
    core.take([command({"reopen": "decided"}), *readings("decided", [4, 5])])
    assert len(core.roster.models) == 2
    assert core.roster.n_open == {OLD.digest: 3}


def test_what_a_model_that_has_gone_has_counted_is_kept():
    core, _ = new_core(MODELS, Bindings.single(["x"], ["open"]), lateness=0.0)
    core.take(readings("open", [0, 1]))
    reload(core, WIDER)
    core.take(readings("open", range(2, 20)))
    assert streams_by_model(core) == {WIDER.digest: {"open"}}
    assert core.counters["samples"] == OLD.time_limit


def test_the_same_model_again_changes_nothing():
    core = begun()
    before = content(core)
    reload(core, OLD)
    assert content(core) == before


def test_a_model_of_other_ticks_is_refused_and_nothing_changes():
    slower = replace(OLD, period=2.0)
    core, _ = new_core(Models(OLD, slower), Bindings.single(["x"], NODES))
    core.take(readings("open", [0, 1]))
    before = content(core)
    with pytest.raises(ModelError, match="period of 2 s, expected 1 s"):
        rehearse(slower, core.roster)
    with pytest.raises(ValueError, match="period of 2 s, expected 1 s"):
        reload(core, slower)
    assert content(core) == before


def test_a_model_with_a_role_that_no_node_has_is_refused():
    models = Models(channels_procedure("a.x"))
    core, _ = new_core(models, Bindings.pairs(["a.x"], {"p": {"a": "n1"}}))
    with pytest.raises(ModelError, match=r"does not fit the bindings: channel 'b\.x' has role 'b'"):
        rehearse(channels_procedure("a.x", "b.x"), core.roster)


class Unsure(Minimal):
    """A classifier that returns no probabilities."""

    n_classes = 2

    def __init__(self, given):
        self._given = given

    def features_tested(self):
        return (0,)

    def probabilities(self, values):
        return np.tile(self._given, (len(values), 1))


@pytest.mark.parametrize("given", [[np.nan, np.nan], [-0.5, 1.5], [np.inf, 0.0]])
def test_a_model_that_gives_no_probabilities_is_refused(given):
    core = begun()
    with pytest.raises(ModelError, match="expected probabilities"):
        rehearse(replace(OLD, classifier=Unsure(given)), core.roster)


def test_a_model_that_nobody_can_load_is_refused():
    core = Core(OLD, Bindings.single(["x"]))
    with pytest.raises(ModelError, match="there is no model cafe"):
        core.take([model_record("cafe", 0.0)])


OTHERWISE = Bindings.single(["x"], NODES, (Route.of("home/{node}", "json", fields={"temp": "x"}),))


def reconfigured(core, bindings, procedure=OLD, **options):
    core = core.reconfigured(bindings, make_options(lateness=0.0, grace=0.0, **options))
    effects = core.take([settings_record(procedure.digest, 5.0, core.configuration)])
    return core, effects


def test_other_settings_leave_open_episodes_as_they_are():
    core = begun()
    core, effects = reconfigured(core, OTHERWISE, reopen_after=1.0)
    assert effects.is_empty
    assert core.topics[0] == "home/+"
    (decision,) = core.take([raw("home/open", b'{"temp": 9.0, "t": 2}', 2.0), clock_record(9.0)]).decisions[:1]
    assert (decision.stream, decision.episode, decision.label, decision.tick) == ("open", 1, "on", 3)


def test_other_settings_may_come_with_another_model():
    core, effects = reconfigured(begun(), Bindings.single(["y"], [*NODES, "new"]), OTHER)
    assert streams_by_model(core) == {OLD.digest: {"open"}, OTHER.digest: {"decided", "unheard", "new"}}
    assert requested_channels(effects.publications)["new"] == ["y"]


def test_settings_without_nodes_for_a_model_in_use_are_refused():
    by_role, _ = new_core(Models(channels_procedure("a.x")), Bindings.pairs(["a.x"], {"desk": {"a": "n1"}}))
    with pytest.raises(ValueError, match="stream 'desk' has b"):
        by_role.reconfigured(Bindings.pairs(["b.x"], {"desk": {"b": "n1"}}), make_options())


def test_what_a_replay_makes_of_other_settings_is_what_the_gateway_made(tmp_path):
    first = [start_record(OLD.digest, 0.0), *readings("open", [0]), *readings("decided", [0], 1.0)]
    rest = [raw("home/open", b'{"temp": 9.0, "t": 2}', 2.0), clock_record(9.0)]
    core = Core(OLD, ALONE, make_options(), MODELS)
    core.take(first)
    later = core.reconfigured(OTHERWISE, make_options(reopen_after=3.0))
    change = settings_record(OLD.digest, 5.0, later.configuration)
    later.take([change, *rest])
    with State(tmp_path / "state") as state:
        for procedure in (OLD, WIDER):
            state.models.keep_model(procedure.packed)
        start = start_record(OLD.digest, 0.0, described(ALONE, make_options()))
        state.log.append([start, *first[1:], change, *rest])
        state.log.sync()
        found = recover(state, OLD, OTHERWISE, make_options(reopen_after=3.0))
        assert last_model(state).digest == OLD.digest
    assert content(found.core) == content(later)
    assert "home/+" in found.topics

"""Nodes without end, readings without end: what a gateway takes of them, and what it counts."""

import pytest
from helpers.procedures import channels_procedure
from helpers.records import (
    EVICTING,
    Models,
    batch,
    command,
    ids,
    label,
    make_options,
    message,
    new_core,
    outcome,
    raw,
    requested_channels,
    restored,
)

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.reading_buffer import ReadingBuffer
from streamfs.gateway.core.records import MESSAGE, Record, clock_record, model_record, start_record

MODELS = Models(channels_procedure("x", time_limit=15))
ANY = Bindings.single(["x"])


def reading(node, time, value=0.0, arrival=None):
    return message(node, float(time), value, arrival=arrival)


def begun(**options):
    core, _ = new_core(MODELS, ANY, lateness=0.0, **options)
    return core


def test_streams_beyond_the_limit_are_refused_and_counted():
    core = begun(streams=3)
    effects = core.take([reading(f"n{i}", t) for t in range(4) for i in range(5)])
    assert sorted(core.roster.nodes) == ["n0", "n1", "n2"]
    assert core.counters["refused"] == 8
    assert core.counters["messages"] == 20
    assert requested_channels(effects.publications).keys() == {"n0", "n1", "n2"}


def test_where_there_are_too_many_the_one_silent_longest_is_evicted():
    core = begun(streams=3, **EVICTING)
    core.take([reading("n0", 0), reading("n1", 1), reading("n2", 2), reading("n0", 3)])
    effects = core.take([reading("n3", 4)])
    assert sorted(core.roster.nodes) == ["n0", "n2", "n3"]
    assert [(d.stream, d.reason, d.tick) for d in effects.decisions] == [("n1", "closed", 0)]
    assert requested_channels(effects.publications) == {"n1": [], "n3": ["x"]}
    assert (core.counters["evicted"], core.counters["refused"]) == (1, 0)


def retained(publications):
    """What a broker keeps of publications."""
    kept = {publication.topic: publication.payload for publication in publications if publication.retain}
    return {topic for topic, payload in kept.items() if payload}


@pytest.mark.parametrize("how", ["evicted", "expired", "unbound"])
def test_nothing_is_retained_of_what_is_forgotten(how):
    options = {
        "evicted": {"streams": 2, **EVICTING},
        "expired": {"expire_after": 5.0},
    }
    if how == "unbound":
        core, _ = new_core(MODELS, Bindings.single(["x"], ["n0", "n1", "n2"]), lateness=0.0)
    else:
        core = begun(**options[how])
    published = core.take([reading(f"n{i % 3}", i, float(i % 2)) for i in range(9)]).publications
    if how == "unbound":
        core = Core.from_state(core.to_state()(), MODELS, Bindings.single(["x"], ["n2"]), core.options)
        published += core.take([start_record(core.procedure.digest, 0.0)]).publications
    published += core.take([clock_record(9.0), reading("n2", 10)]).publications
    known = {f"streamfs/{kind}/{name}" for kind in ("control", "decision") for name in core.roster.nodes}
    assert retained(published) <= known
    assert f"streamfs/control/{'n0' if how == 'unbound' else 'n9'}" not in retained(published)


def test_nodes_that_never_sent_are_evicted_first():
    core = begun(streams=2, **EVICTING)
    core.take([reading("n0", 0), raw("sensors/mute/x", b"?"), reading("n1", 1)])
    assert sorted(core.roster.nodes) == ["n0", "n1"]


def test_when_full_one_in_a_hundred_streams_is_evicted_at_once():
    core = begun(streams=200, **EVICTING)
    core.take([reading(f"n{i}", i / 10) for i in range(201)])
    assert core.counters["evicted"] == 2
    assert core.roster.n_streams == 199


def test_a_flood_of_new_names_evicts_a_share_an_hour_and_no_more():
    core = begun(streams=50, streams_when_full="evict", evicted_per_hour=0.1)
    core.take([reading(f"n{i}", 0, arrival=0.0) for i in range(50)])
    for hour in (1, 2, 3):
        at = 3600.0 * hour
        core.take([reading(f"made-up-{hour}-{i}", 0, arrival=at + 30 * i) for i in range(100)])
        core = restored(core, MODELS)
        core.take([reading(f"made-up-{hour}-{i}", 0, arrival=at + 3599) for i in range(100, 200)])
        assert core.counters["evicted"] == 5 * hour
        assert core.counters["refused"] == 195 * hour
    assert sum(f"n{i}" in core.roster.nodes for i in range(50)) >= 35
    core = core.reconfigured(ANY, make_options(streams=50, streams_when_full="evict", evicted_per_hour=0.02))
    core.take([reading("one-more", 0, arrival=at + 3599)])
    assert core.counters["evicted"] == 15  # not all but those that are too many for what is allowed now


def test_one_stream_an_hour_is_evicted_from_however_few():
    core = begun(streams=1, streams_when_full="evict")
    core.take([reading("n0", 0, arrival=0.0), reading("n1", 1, arrival=10.0), reading("n2", 1, arrival=20.0)])
    assert list(core.roster.nodes) == ["n1"]
    core.take([reading("n2", 2, arrival=3610.0)])
    assert list(core.roster.nodes) == ["n2"]


def test_an_evicted_stream_that_returns_continues_its_numbers():
    core = begun(streams=1, **EVICTING)
    decisions = []
    for turn in range(6):
        node = f"n{turn % 2}"
        decisions += core.take([reading(node, 10 * turn, 1.0), reading(node, 10 * turn + 1, 1.0)]).decisions
    assert ids(decisions) == ["n0/1", "n1/1", "n0/2", "n1/2", "n0/3", "n1/3"]


def test_nothing_of_a_stream_is_left_to_the_next_under_its_number():
    core = begun(streams=1, **EVICTING)
    core.take([message("n0", 0.0, 0.0, 7), message("n0", 1.0, 0.0, 8), message("n0", 9.0, 0.0, 9)])
    core.take([message("n1", 1.0, 0.0, 7)])
    assert core.counters["duplicate"] == 0
    assert core.spent.nodes["n1"].messages == 1
    assert [mark[:3] for mark in core.marks()] == [("n1", "x", 7)]


def test_streams_that_are_silent_for_long_are_closed_and_forgotten():
    core = begun(expire_after=5.0)
    core.take([reading("n0", 0), reading("n1", 0), reading("n0", 1)])
    effects = core.take([*(reading("n0", t) for t in range(2, 9)), clock_record(8.0)])
    assert [(d.stream, d.reason) for d in effects.decisions] == [("n1", "closed")]
    assert list(core.roster.nodes) == ["n0"]
    assert core.counters["expired"] == 1
    *before, withdrawn = [p for p in effects.publications if p.topic == "streamfs/control/n1"]
    assert requested_channels(before) == {"n1": []}
    assert (withdrawn.payload, withdrawn.retain) == (b"", True)  # a node that returns gets no outdated message


def test_expiry_before_a_stream_reopens_is_refused():
    with pytest.raises(ValueError, match=r"expire_after is 5.0, expected more than reopen_after, 9.0"):
        begun(expire_after=5.0, reopen_after=9.0)


@pytest.mark.parametrize("options", [{"expire_after": 5.0}, {"streams": 1, **EVICTING}])
def test_what_nodes_have_spent_stays_in_the_account_when_they_are_forgotten(options):
    core = begun(profile="cc2420", **options)
    heard = [("n0", 0), ("n0", 1), ("n1", 1), ("n2", 8), ("n2", 9), ("n2", 10)]
    records = [*(reading(node, time) for node, time in heard), clock_record(10.0)]
    effects = core.take(records)
    assert list(core.spent.nodes) == ["n2"]
    effects.add(core.finish())
    *nodes, total = [line for line in effects.energy if line["kind"] != "decision"]
    assert [(line["node"], line["messages"]) for line in nodes] == [("n0", 2), ("n1", 1), ("n2", 3)]
    assert total["messages"] == core.spent.messages == 6
    assert total["bytes"] == sum(len(record.payload) for record in records)
    assert total["energy"] == core.spent.joules == pytest.approx(core.joules) == sum(n["energy"] for n in nodes)
    assert restored(core, MODELS).spent == core.spent


def test_streams_expire_by_the_clock_while_nobody_sends():
    core = begun(expire_after=5.0)
    core.take([reading("n0", 0), reading("n1", 3)])
    core.take([clock_record(7.5)])
    assert list(core.roster.nodes) == ["n1"]
    core.take([clock_record(30.0)])
    assert core.roster.n_streams == 0
    assert core.counters["expired"] == 2


def test_a_node_that_has_never_said_anything_readable_is_forgotten_first():
    core = begun(expire_after=5.0)
    core.take([raw("sensors/mute/x", b"?"), reading("n0", 0)])
    core.take([*(reading("n0", t) for t in range(1, 4)), clock_record(3.0)])
    assert list(core.roster.nodes) == ["n0"]


def test_a_stream_that_has_a_name_never_expires():
    core, _ = new_core(MODELS, Bindings.single(["x"], ["n0", "n1"]), lateness=0.0, expire_after=5.0)
    core.take([reading("n0", t) for t in range(30)])
    assert core.roster.n_streams == 2
    assert core.counters["expired"] == 0


@pytest.mark.parametrize("divided", [False, True])
def test_a_node_that_comes_again_as_it_expires_is_a_new_stream(divided):
    core = begun(expire_after=5.0)
    core.take([reading("n0", 0), reading("n1", 0), reading("n0", 1)])
    records = [reading("n0", 7), clock_record(7.0), reading("n0", 8), reading("n1", 8, 1.0), reading("n1", 9, 1.0)]
    decisions = []
    for part in [[record] for record in records] if divided else [records]:
        decisions += core.take(part).decisions
    assert ids(decisions) == ["n1/1", "n1/2"]
    assert [d.reason for d in decisions] == ["closed", "confident"]


def test_streams_are_opened_again_a_while_after_their_decision():
    core = begun(reopen_after=3.0)
    decisions = core.take([reading("n0", t, 1.0) for t in range(20)]).decisions
    assert [(d.episode, d.time) for d in decisions] == [(1, 0.0), (2, 4.0), (3, 8.0), (4, 12.0), (5, 16.0)]
    assert core.counters["reopened"] == 4


def test_a_command_opens_one_stream_or_all_that_are_decided():
    core = begun()
    core.take([reading(node, t, 1.0) for t in range(2) for node in ("n0", "n1", "n2")])
    core.take([command({"reopen": "n0"})])
    assert core.roster.n_undecided == 1
    effects = core.take([command({"reopen": "*"})])
    assert core.roster.n_undecided == 3
    assert requested_channels(effects.publications) == {"n1": ["x"], "n2": ["x"]}
    assert (core.counters["reopened"], core.counters["commands"]) == (3, 2)


@pytest.mark.parametrize("payload", [{"close": "n0"}, {"reopen": 1}, {"reopen": "a", "b": 1}, [], "reopen", None])
def test_another_command_is_a_dead_letter(payload):
    core = begun()
    (rejected,) = core.take([command(payload)]).rejected
    assert 'expected {"reopen": "stream"}' in rejected["error"]
    assert (core.counters["unknown_commands"], core.counters["commands"]) == (1, 0)


def test_readings_beyond_what_may_wait_are_dropped_and_counted():
    core, _ = new_core(MODELS, ANY, lateness=100.0, pending=4)
    core.take([reading("n0", t) for t in range(10)])
    assert core.counters["overflow"] == 6
    assert core.joiner.n_pending == 4
    assert core.finish().decisions[0].tick == 10


def test_samples_are_unpacked_in_portions(monkeypatch):
    portions = []

    class Watched(ReadingBuffer):
        @property
        def columns(self):
            portions.append(self.n_samples)
            return super().columns

    records = [batch(f"n{i % 3}", float(5 * (i // 3)), [0.0] * 5) for i in range(30)]
    core = begun()
    whole = outcome(core, core.take(records))
    monkeypatch.setattr("streamfs.gateway.core.core.FED_AT_ONCE", 12)
    monkeypatch.setattr("streamfs.gateway.core.intake.ReadingBuffer", Watched)
    core = begun()
    assert outcome(core, core.take(records)) == whole
    assert max(portions) == 15


def test_a_channel_that_no_model_reads_any_more_feeds_nothing():
    models = Models(channels_procedure("x", "y"), channels_procedure("x"))
    bindings = Bindings.single(["x", "y"], [], (Route.of("sensors/{node}/{channel}"), Route.of("pack/{node}")))
    core, _ = new_core(models, bindings)
    pack = b'[{"n":"y","t":1000000000.0,"v":1}]'
    core.take([reading("n0", 1.0), model_record(list(models)[1], 1.0), command({"reopen": "*"})])
    core.take([clock_record(1000.0)])  # the episode that follows the old model ends
    core.take([Record(MESSAGE, 2.0, "pack/n0", pack, "application/senml+json"), raw("sensors/n0/y", b"1")])
    assert (core.counters["unbound"], core.joiner.n_pending, core.counters["future"]) == (2, 0, 0)


def test_a_flood_of_labels_for_nobody_keeps_nothing():
    core = begun()
    core.take([label(f"nobody-{i}", "on") for i in range(100)])
    assert core.counters["labels_unused"] == 100
    assert core.roster.n_streams == 0


def test_a_node_that_gets_a_name_is_a_stream_from_the_next_start_on():
    """A log that is replayed may have messages of nodes that are bound only now."""
    models = Models(channels_procedure("a.x", "b.x"))
    core = Core(models.first, Bindings.pairs(["a.x", "b.x"], {"p": {"a": "n0", "b": "n1"}}))
    assert core.take([reading("n0", 0), reading("n1", 0)]).publications == []
    assert (core.roster.n_streams, core.counters["refused"]) == (0, 2)
    core.take([start_record(models.first.digest, 1.0), reading("n0", 1), reading("n1", 1)])
    assert core.roster.streams == ["p"]


def test_a_batch_of_a_new_node_makes_one_stream():
    core = begun(streams=1)
    core.take([batch("n0", 0.0, [0.0] * 5), batch("n1", 0.0, [0.0] * 5)])
    assert (core.roster.n_streams, core.counters["refused"]) == (1, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("lateness", -1.0), ("overtaking", -1.0), ("grace", float("nan")), ("grace", float("inf"))),
        *(("expire_after", -1.0), ("streams", 0), ("pending", 0), ("delta", 0.0), ("name", "a/b")),
    ],
)
def test_options_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value!r}, expected"):
        make_options(**{name: value})

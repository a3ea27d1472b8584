"""From messages to readings: what is taken, what is rejected, and what each message costs its node."""

import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, batch, message, new_core, raw
from hypothesis import given
from hypothesis import strategies as st

from streamfs.costs.radio_profiles import profile
from streamfs.gateway.core import bindings, intake
from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.intake import MAX_ORPHANS
from streamfs.gateway.core.records import MESSAGE, Record
from streamfs.gateway.dead_letters import dead_letter
from streamfs.gateway.messages.codecs import codec_for, encode_array
from streamfs.gateway.messages.topics import LONGEST_TOPIC, Template

MODELS = Models(channels_procedure("x", "y"))
COUNTERS = ("messages", "own", "unbound", "malformed", "oversize", "refused")
LORA = "sx1276_lora_sf7"


def begun(bindings=None, **options):
    core, _ = new_core(
        MODELS, Bindings.single(["x", "y"], ["n1", "n2"]) if bindings is None else bindings, **options
    )
    return core


def counts(core):
    return {name: core.counters[name] for name in COUNTERS if core.counters[name]}


@pytest.mark.parametrize(
    ("payload", "error", "shown"),
    [
        (b"", "payload is b''", ""),
        (b"{", "payload is", "{"),
        (b'{"v":"1"}', "v is '1'", '{"v":"1"}'),
        (b'{"v":NaN}', "payload is", '{"v":NaN}'),
        (b"1e400", "payload is", "1e400"),
        (b"\xff\x00", "payload is", "\\xff\x00"),
        (b"[" * 5000, "payload is", "[" * 200),
        (b'{"v":1,"t":1e30}', "t is 1e+30", '{"v":1,"t":1e30}'),
        (b'{"v":1,"seq":-1}', "seq is -1", '{"v":1,"seq":-1}'),
    ],
)
def test_what_cannot_be_read_is_a_dead_letter_and_is_paid(payload, error, shown):
    core = begun()
    (rejected,) = core.take([raw("sensors/n1/x", payload)]).rejected
    assert (rejected["topic"], rejected["bytes"], rejected["payload"]) == ("sensors/n1/x", len(payload), shown)
    assert rejected["cause"] in {"time", "sequence", "number", "syntax", "content"}
    assert error in rejected["error"]
    assert counts(core) == {"messages": 1, "malformed": 1}
    assert core.spent.nodes["n1"] == (1, len(payload), 1.0)


@pytest.mark.parametrize("kind", ["deadletter", "decision", "control", "status", "alert"])
def test_what_the_gateway_publishes_is_never_a_reading(kind):
    core = begun(Bindings.single(["x"], routes=(Route.of("+/+/{node}", "json", "x"),)))
    effects = core.take([raw(f"streamfs/{kind}/n1", b"?"), raw(f"streamfs/{kind}/n2", b'{"v":1}')])
    assert not effects.rejected
    assert counts(core) == {"messages": 2, "own": 2}
    assert core.roster.n_streams == 0


def test_a_dead_letter_names_its_origin_and_is_not_retained():
    core = begun()
    (rejected,) = core.take([raw("sensors/n1/x", b"?")]).rejected
    letter = dead_letter(rejected, "streamfs", "attic")
    assert (letter.topic, letter.retain) == ("streamfs/deadletter/attic", False)
    assert orjson.loads(letter.payload)["payload"] == "?"


def test_a_payload_beyond_the_limit_is_rejected_unread():
    core = begun(payload_bytes=40)
    within, beyond = b"1" + b" " * 39, b"1" + b" " * 40
    (rejected,) = core.take([raw("sensors/n1/x", within), raw("sensors/n1/x", beyond)]).rejected
    assert rejected["error"] == "payload has 41 bytes, expected at most 40"
    assert counts(core) == {"messages": 2, "malformed": 1, "oversize": 1}
    assert core.spent.bytes == 81


def test_a_payload_beyond_the_limit_makes_no_node_known_and_is_rejected_whatever_its_topic():
    fields = Route.of("all/{node}", "json", fields={"x": "x"})
    named = Route.of("hub/up", "json", node="{id}", fields={"x": "x"}, ignore=["hub/status"])
    core = begun(Bindings.single(["x"], routes=(fields, named)), payload_bytes=40)
    beyond = b'{"id":"a","x":1}' + b" " * 40
    rejected = core.take([raw(topic, beyond) for topic in ("all/n7", "hub/up", "hub/status")]).rejected
    assert [message["cause"] for message in rejected] == ["size", "size"]
    assert counts(core) == {"messages": 3, "malformed": 2, "oversize": 2}
    assert core.roster.n_streams == 0


def test_a_node_is_not_admitted_for_what_cannot_be_read_where_payloads_name_channels():
    fields = Route.of("all/{node}", "json", fields={"x": "x"})
    core = begun(Bindings.single(["x"], routes=(fields,)))
    rejected = core.take(
        [raw(f"all/n{i}", payload) for i, payload in enumerate([b"?", b'{"x":"?"}', b""])]
    ).rejected
    assert [message["topic"] for message in rejected] == ["all/n0", "all/n1", "all/n2"]
    assert counts(core) == {"messages": 3, "malformed": 3}
    assert core.roster.n_streams == 0
    core.take([raw("all/n1", b'{"x":1}'), raw("all/n1", b"?")])
    assert core.roster.n_streams == 1
    assert core.spent.messages == 2


@pytest.mark.parametrize(
    "topic", ["sensors/n3/x", "sensors/n1/z", "sensors//x", "sensors/n1", "sensors/n1/x/y", "other", ""]
)
def test_what_feeds_no_stream_is_counted_and_keeps_nothing(topic):
    core = begun()
    assert core.take([raw(topic, b"1"), raw(topic, b"?")]).rejected == []
    assert counts(core) == {"messages": 2, "unbound": 2}
    assert core.orphans == {topic: 2}
    assert core.spent.messages == 0
    assert core._intake._targets == {}


def test_a_topic_that_is_too_long_feeds_no_stream_and_is_not_kept():
    """A name of 60 000 bytes took 600 kB of memory, and more of disk, wherever it was repeated."""
    core = begun(Bindings.single(["x"]))
    for name in ("n" * 60_000, "n" * (LONGEST_TOPIC - len("sensors//x") + 1)):
        core.take([raw(f"sensors/{name}/x", b"1")])
        (rejected,) = core.take([raw(f"streamfs/label/{name}", b"?" * 500)]).rejected
        assert len(rejected["topic"]) < 120
    assert core.roster.n_streams == 0
    assert all(len(topic) < 120 for topic in core.orphans)
    core.take([raw(f"sensors/{name[1:]}/x", b"1")])
    assert core.roster.n_streams == 1


def test_names_in_payloads_are_remembered_up_to_a_number(monkeypatch):
    """Whoever may publish could else fill memory with made-up channels, in a pack of SenML by its content type."""
    monkeypatch.setattr(bindings, "MOST_NAMES", 5)
    monkeypatch.setattr(intake, "MOST_NAMES", 5)
    core = begun()
    for number in range(20):
        names = [f"{number}.{each}{'m' * 1000 * (each == 3)}" for each in range(4)]
        pack = orjson.dumps([{"n": name, "v": 1} for name in names])
        core.take([Record(MESSAGE, 0.0, "sensors/n1/x", pack, "application/senml+json")])
    assert len(core.roster.routes._fed) <= 5
    assert len(core._intake._numbers[True]) <= 5
    assert max(len(name) for name, _ in core.roster.routes._fed) < 1000


def test_topics_that_feed_no_stream_are_known_up_to_a_number():
    core = begun()
    core.take([raw(f"other/{number}", b"1") for number in range(MAX_ORPHANS + 5)])
    assert len(core.orphans) == MAX_ORPHANS
    assert core.counters["unbound"] == MAX_ORPHANS + 5


def test_a_channel_that_no_stream_reads_is_counted_whatever_the_node():
    core = begun(Bindings.single(["x", "y"]))
    core.take([raw("sensors/anybody/z", b"1"), raw("sensors/anybody/x", b"1")])
    assert counts(core) == {"messages": 2, "unbound": 1}


def test_readings_go_on_where_others_were_rejected():
    core = begun(lateness=0.0)
    records = [raw("sensors/n1/x", b"?")] * 3
    records += [message("n1", t, 1.0, channel=c) for t in (0.0, 1.0) for c in "xy"] + records
    effects = core.take(records)
    assert [decision.stream for decision in effects.decisions] == ["n1"]
    assert counts(core) == {"messages": 10, "malformed": 6}
    assert core.spent.nodes["n1"].messages == 10


@given(values=st.lists(st.none() | st.sampled_from([0.0, 1.0]), min_size=1, max_size=9), again=st.integers(0, 2))
def test_a_batch_is_paid_once_and_is_as_good_as_its_readings(values, again):
    of_batch, of_readings = begun(lateness=0.0), begun(lateness=0.0)
    records = [batch("n1", 5.0, values, 3)] * (1 + again)
    assert of_batch.take(records).rejected == []
    of_readings.take([message("n1", 5.0 + i, v, i) for i, v in enumerate(values) if v is not None])
    rest = [message("n1", 9.0 + i, 1.0, 100 + i, channel) for i in range(9) for channel in "yx"]
    before = of_batch.spent.messages
    assert before == (1 if any(v is not None for v in values) else 1 + again)
    assert of_batch.counters["duplicate"] == again * sum(v is not None for v in values)
    decisions, expected = of_batch.take(rest).decisions, of_readings.take(rest).decisions
    assert [d.to_json() for d in decisions] == [d.to_json() for d in expected]


def test_arrays_go_between_readings_in_the_order_in_which_they_came():
    array = encode_array(0.0, 1.0, [0.0, 0.0, 0.0])
    core = begun()
    as_array = [Record(MESSAGE, 0.0, f"sensors/n1/{c}", array, "application/octet-stream") for c in "xy"]
    one_by_one = [message("n2", float(t), 0.0, channel=c) for t in range(3) for c in "xy"]
    assert core.take([one_by_one[0], as_array[0], *one_by_one[1:3], as_array[1], *one_by_one[3:]]).rejected == []
    assert core.spent.nodes["n1"] == (2, 2 * len(array), 2.0)
    assert [(d.stream, d.tick) for d in core.finish().decisions] == [("n1", 3), ("n2", 3)]


def uplink(counter, values, spreading_factor=None, time="2025-01-31T12:00:00Z"):
    event = {"time": time, "fCnt": counter, "object": values}
    if spreading_factor is not None:
        event["txInfo"] = {"modulation": {"lora": {"spreadingFactor": spreading_factor}}}
    return raw("application/7/device/n1/event/up", orjson.dumps(event), 1738324800.0)


@pytest.fixture
def lorawan():
    routes = (Route(Template("application/+/device/{node}/event/up"), codec_for("chirpstack")),)
    return begun(Bindings.single(["x", "y"], ["n1"], routes), profile=LORA, lateness=0.0)


def test_a_message_is_paid_by_its_spreading_factor(lorawan):
    spent = 0.0
    for counter, factor in enumerate([None, 7, 9, 12]):
        record = uplink(counter, {"x": 1, "y": 2}, factor)
        lorawan.take([record])
        radio = profile(LORA if factor is None else f"sx1276_lora_sf{factor}")
        spent += radio.message_joules(len(record.payload))
        assert lorawan.spent.joules == pytest.approx(spent, rel=1e-12)
    assert lorawan.spent.messages == 4


def test_a_message_of_several_channels_is_paid_once_however_often_it_is_delivered(lorawan):
    lorawan.take([uplink(1, {"x": 1, "y": 2, "battery": 3})] * 3)
    assert lorawan.spent.messages == 1
    assert lorawan.counters["duplicate"] == 4


@pytest.mark.parametrize("values", [{}, None, {"battery": 3}])
def test_a_message_without_a_wanted_channel_is_unbound_and_paid(lorawan, values):
    record = uplink(1, values, 12)
    assert lorawan.take([record]).rejected == []
    assert counts(lorawan) == {"messages": 1, "unbound": 1}
    joules = profile("sx1276_lora_sf12").message_joules(len(record.payload))
    assert lorawan.spent.nodes["n1"] == (1, len(record.payload), joules)


def test_a_payload_that_names_no_channel_needs_a_topic_that_does():
    routes = (Route(Template("sensors/{node}"), codec_for("json")),)
    core = begun(Bindings.single(["x", "y"], ["n1"], routes))
    (rejected,) = core.take([raw("sensors/n1", b"1")]).rejected
    assert rejected["error"] == "neither topic nor payload names a channel"
    assert core.spent.messages == 1


def test_the_number_of_remembered_topics_is_bounded(monkeypatch):
    monkeypatch.setattr(intake, "MOST_NAMES", 8)
    core = begun(Bindings.single(["x", "y"]), lateness=0.0)
    core.take([message(f"n{i}", t, 1.0, channel=c) for t in (0.0, 1.0) for i in range(20) for c in "xy"])
    assert len(core._intake._targets) <= 8
    assert core.roster.n_streams == 20
    assert core.decided == {("confident", "on"): 20}


TICKS = range(1, 50)


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        ("json", [{"t": 100 * tick, "x": tick, "y": tick} for tick in TICKS]),
        ("json", {"t0": 100, "dt": 100, "x": [*TICKS], "y": [*TICKS]}),
        ("senml+json", [{"n": name, "t": 2**28 + 100 * tick, "v": tick} for name in "xy" for tick in TICKS]),
    ],
)
def test_a_batch_of_several_channels_is_late_on_none_of_them(name, batch):
    route = Route.of("hub/{node}", name, fields={"x": "x", "y": "y"})
    core = begun(Bindings.single(["x", "y"], routes=(route,)))
    core.take([raw("hub/n1", orjson.dumps(batch))])
    assert core.counters["late"] == 0
    assert core.spent.nodes["n1"][0] == 1  # message

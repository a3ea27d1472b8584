"""Devices that are asked: what for, when, how often, and what is known of whether they do it."""

from collections import Counter
from contextlib import closing
from dataclasses import asdict

import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, new_core, raw, restored, take_divided
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.device_states import DAY, Device, Setting, device_of_state
from streamfs.gateway.core.obedience import Obedience
from streamfs.gateway.core.records import clock_record
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.senders import MARK
from streamfs.gateway.service import Gateway
from streamfs.gateway.settings.profiles import load_profile
from streamfs.gateway.transport.transport import Transport

PERIOD = 60.0
MODELS = Models(
    channels_procedure("temperature@delta:0.5", threshold=0.5, time_limit=30, period=PERIOD, max_silence=600.0)
)
Z, ASK = "zigbee2mqtt", "zigbee2mqtt/bridge/request/device/reporting/configure"
ANSWER = "zigbee2mqtt/bridge/response/device/reporting/configure"


def begun(profile, /, parameters=None, routes=(), **options):
    """Return a core whose nodes are devices of a profile, and those of further sources."""
    found = load_profile(profile, parameters=parameters)
    own = tuple(
        Route.of(
            reading["topic"],
            reading.get("format", "auto"),
            fields=reading.get("fields"),
            node=reading.get("node", ""),
            device=profile if reading.get("control", True) else "",
            quantities="{channel}" in reading["topic"],
            ignore=reading.get("ignore", ()),
            values=reading.get("values"),
        )
        for reading in found.readings
    )
    bindings = Bindings(
        MODELS.first.channels, {}, discovers=True, routes=(*own, *routes), devices={profile: found}
    )
    return new_core(MODELS, bindings, grace=0.0, lateness=0.0, **options)[0]


def report(at, value, device="kitchen/floor"):
    return raw(f"{Z}/{device}", orjson.dumps({"temperature": value, "n": at}), at)


def said(effects, topic=ASK):
    return [orjson.loads(each.payload) for each in effects.publications if each.topic == topic]


def answer(number, at, status="ok"):
    document = {"status": status, "transaction": number, "error": "UNSUPPORTED_ATTRIBUTE"}
    return raw(ANSWER, orjson.dumps(document), at)


def only(core):
    (device,) = core.conduct.devices.values()
    return device


def test_a_sleeper_is_asked_as_it_reports_and_rests_when_it_is_decided():
    core = begun(Z)
    first = core.take([report(0.0, 0.0)])
    (asked,) = said(first)
    assert asked["id"] == "kitchen/floor"
    assert (asked["minimum_report_interval"], asked["maximum_report_interval"]) == (60, 600)
    assert asked["reportable_change"] == 50
    assert not any(each.topic.startswith("streamfs/control/") for each in first.publications)
    core.take([answer(asked["transaction"], 1.0)])
    assert only(core).state == "acknowledged"
    assert not said(core.take([clock_record(30.0)]))
    decided = core.take([report(60.0, 9.0), report(120.0, 9.0)])
    assert [decision.label for decision in decided.decisions] == ["on"]
    (rest,) = said(decided)
    assert (rest["minimum_report_interval"], rest["maximum_report_interval"]) == (3600, 3600)
    core.take([answer(rest["transaction"], 121.0)])
    core.take([report(120.0 + 3600.0 * i, 9.0) for i in range(1, 6)])
    assert only(core).state == "observed"
    assert {name: n for name, n in core.conduct.counters.items() if n} == {
        "devices_asked": 2,
        "devices_acknowledged": 2,
        "devices_obeyed": 1,
    }


@pytest.mark.parametrize(("node", "field"), [("{data.id}", "data.x"), ("{*}", "*.x")])
def test_an_answer_counts_as_a_whole_where_a_source_reads_what_nodes_have_in_its_payload(node, field):
    core = begun(Z, routes=(Route.of(ANSWER, "json", node=node, fields={field: "temperature"}),))
    with closing(Transport("mqtt://127.0.0.1:1")) as transport:
        gateway = Gateway(MODELS.first, core.roster.bindings, transport)
        (asked,) = said(core.take([report(0.0, 0.0)]))
        document = {"data": {"id": "n1", "x": 1.0}, "status": "ok", "transaction": asked["transaction"]}
        sent = [Message(ANSWER, orjson.dumps(document), False, 1.0, "")]
        answered = gateway._arrivals.addressed(sent)
    assert [MARK in message.topic for message in answered] == [False, True]
    core.take([raw(message.topic, message.payload, 1.0) for message in answered])
    assert only(core).state == "acknowledged"
    assert core.counters["messages"] == 2, "the report, and what the payload's node has sent"


def test_a_device_that_always_hears_is_asked_again_until_it_answers():
    core = begun("tasmota")
    topic = "cmnd/plug/TelePeriod"
    sensor = raw("tele/plug/SENSOR", b'{"DHT11":{"Temperature":0.1}}', 0.0)
    publications = core.take([sensor, *(clock_record(float(at)) for at in range(0, 400, 20))]).publications
    assert [each.payload for each in publications if each.topic == topic] == [b"60"] * 3
    core = begun("tasmota")
    core.take([sensor, raw("stat/plug/RESULT", b'{"POWER":"ON"}'), raw("stat/plug/RESULT", b'{"TelePeriod":60}')])
    later = core.take([clock_record(float(at)) for at in range(0, 400, 20)])
    assert not [each for each in later.publications if each.topic == topic]
    assert only(core).state == "acknowledged"


def test_a_device_that_does_not_obey_is_named_and_not_waited_for():
    core = begun("tasmota", reopen_after=86_400.0)
    records = [
        raw("tele/plug/SENSOR", orjson.dumps({"DHT11": {"Temperature": 9.0}}), at)
        for at in (10.0 * i for i in range(100))
    ]
    effects = core.take(records)
    assert [decision.label for decision in effects.decisions] == ["on"]
    assert only(core).state == "disobeys"
    assert core.conduct.counters["devices_disobeyed"] == 1
    n_asked = sum(each.topic == "cmnd/plug/TelePeriod" for each in effects.publications)
    assert n_asked <= 2 * load_profile("tasmota").reach.tries


@pytest.mark.parametrize(("gap", "is_noticed"), [(0.02, False), (0.99, True), (1.0, True), (3.0, False)])
def test_a_device_that_reports_once_a_second_is_seen_not_to_rest(gap, is_noticed):
    """And messages that come together are one."""
    obedience = Obedience({"p": load_profile("senml")}, Counter())
    resting = Setting([3.0, 3.0, 1e6], rests=True, tries=1, sent_at=0.0)
    device = Device("n", "n", "p", 0.0, 0.0, settings={"": resting})
    for number in range(9):
        obedience.observe(device, gap, number * gap)
    assert obedience.is_due(device, resting, 9 * gap) == is_noticed


@pytest.mark.parametrize(("seconds", "is_noticed"), [(60, False), (500, True)])
def test_a_device_that_reports_all_the_time_is_seen_not_to_rest(seconds, is_noticed):
    """Unlike one of which much comes at once that a broker has kept."""
    obedience = Obedience({"p": load_profile("senml")}, Counter())
    resting = Setting([3600.0, 3600.0, 1e6], rests=True, tries=1, sent_at=0.0)
    device = Device("n", "n", "p", 0.0, 0.0, settings={"": resting})
    for tick in range(4 * seconds):
        obedience.observe(device, 0.25, 0.25 * tick)
    assert obedience.is_due(device, resting, seconds) == is_noticed


def test_messages_together_after_a_silence_on_a_topic_are_one():
    core = begun("tasmota")
    core.conduct.meet("a", "a", "tasmota", 0.0)
    core.conduct.want("a", [], ["temperature"])
    device = core.conduct.devices["tasmota|a"]
    for at, topic in ((0.0, "one"), (3600.0, "one"), (7200.0, "two"), (7200.2, "two")):
        core.conduct.hear("a", "tasmota", at, topic)
        device.settings[""].is_acknowledged = True
    assert device.n_skipped == 1


def test_a_device_that_refuses_is_not_asked_again_until_it_starts_anew():
    core = begun(Z)
    (asked,) = said(core.take([report(0.0, 0.0)]))
    core.take([answer(asked["transaction"], 1.0, "error")])
    assert (only(core).state, only(core).settings["temperature"].refusal) == ("refused", "UNSUPPORTED_ATTRIBUTE")
    assert not said(core.take([report(60.0 * i, 0.0) for i in range(1, 5)]))
    birth = {"type": "device_announce", "data": {"friendly_name": "kitchen/floor"}}
    core.take([raw(f"{Z}/bridge/event", orjson.dumps(birth), 300.0)])
    assert said(core.take([report(301.0, 0.0)]))


def test_no_more_messages_are_sent_than_the_budget_of_the_day():
    core = begun("chirpstack", reopen_after=60.0)
    topic = "application/7/device/01/command/down"

    def uplink(at, value):
        return raw("application/7/device/01/event/up", orjson.dumps({"object": {"temperature": value}}), at)

    records = [uplink(60.0 * i, 9.0 if i % 4 else 0.0) for i in range(480)]
    sent = [each for each in core.take(records).publications if each.topic == topic]
    assert 2 <= len(sent) <= 10 + 10 * 480 * 60 / 86_400
    assert core.conduct.counters["devices_deferred"] > 0


@pytest.mark.parametrize(
    ("profile", "topic", "said"),
    [
        (
            "chirpstack",
            "application/7/device/01/event/{}",
            {"object": {"temperature": 1.0}, "txInfo": {"modulation": {"lora": {"spreadingFactor": 7}}}},
        ),
        (
            "thethings",
            "v3/app@ttn/devices/01/{}",
            {
                "uplink_message": {
                    "decoded_payload": {"temperature": 1.0},
                    "settings": {"data_rate": {"lora": {"spreading_factor": 7}}},
                }
            },
        ),
    ],
)
def test_frames_of_class_a_are_paid_by_their_spreading_factor_and_joining_is_a_start(profile, topic, said):
    spent = []
    for factor in (b"7", b"12"):
        core = begun(profile, profile="sx1276_lora_sf7")
        payload = orjson.dumps(said).replace(b'actor":7', b'actor":' + factor)
        core.take([raw(topic.format("up"), payload, 60.0)])
        spent.append(core.joules)
        assert only(core).settings[""].tries == 1
        joined = [raw(topic.format("join"), b"{}", 90.0), raw(topic.format("up"), payload, 120.0)]
        asked = [each for each in core.take(joined).publications if "/down" in each.topic]
        assert asked
        assert asked[0].topic.startswith(topic.partition("/device")[0])
    assert spent[1] > 10 * spent[0] > 0.0


def test_names_of_devices_may_differ_from_those_of_nodes():
    core = begun(Z)
    core.take([report(0.0, 0.0, "attic"), report(1.0, 0.0, "attic/2")])
    assert {device.node for device in core.conduct.devices.values()} == {"attic", "attic%2F2"}


@pytest.mark.parametrize("sizes", [[1], [2, 5]])
def test_how_records_are_divided_makes_no_difference_to_what_devices_are_asked(sizes):
    records = [report(0.0, 0.0), answer(1, 2.0)]
    for i in range(1, 40):
        records += [report(60.0 * i, 9.0 * (i % 7 > 2)), clock_record(60.0 * i + 30.0)]
        records += [answer(i, 60.0 * i + 31.0)] * (i % 3 == 0)
    whole, effects = take_divided(begun(Z, reopen_after=300.0), records, [len(records)], MODELS)
    parted, same = take_divided(begun(Z, reopen_after=300.0), records, sizes, MODELS, restoring=True)
    assert effects == same
    assert content(whole) == content(parted)


class Sensor:
    """A device that hears for a moment after each report, and does what it is asked, unless it misses it."""

    def __init__(self):
        self.interval = 10.0

    def hear(self, effects):
        for message in said(effects):
            self.interval = float(message["maximum_report_interval"])


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["heard", "heard", "missed", "restarts", "killed"]), min_size=60, max_size=60))
def test_in_the_end_a_device_does_what_it_is_asked_whatever_happens_on_the_way(fates):
    core, sensor, at = begun(Z), Sensor(), 0.0
    for i, fate in enumerate([*fates, *["heard"] * 40]):
        at += sensor.interval + DAY * (i == len(fates) + 10)  # when one that does not obey is asked again
        effects = core.take([report(at, 9.0)])
        if fate == "killed":
            core = restored(core, MODELS)
        if fate == "restarts":
            sensor.interval = 10.0
            event = {"type": "device_announce", "data": {"friendly_name": "kitchen/floor"}}
            core.take([raw(f"{Z}/bridge/event", orjson.dumps(event), at)])
        elif fate != "missed":
            sensor.hear(effects)
            core.take([answer(message["transaction"], at) for message in said(effects)])
    assert sensor.interval == 3600.0
    assert only(core).state == "observed"


def test_a_device_of_an_earlier_snapshot_is_read():
    device = Device("n1", "n1", "tasmota", 10.0, 5.0)
    assert device_of_state({**asdict(device), "heard_at": 5.0}) == device

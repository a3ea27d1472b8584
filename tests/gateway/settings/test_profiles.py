"""Device profiles: what devices send is read, or refused by name, and they are asked as they read it."""

import re
from dataclasses import replace
from math import isnan
from pathlib import Path

import orjson
import pytest
from helpers.procedures import mean_procedure

from feature_extractors.report import Policy
from streamfs.errors import PayloadError, SettingsError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.routes import Route, addressed
from streamfs.gateway.core.speech import Address, Asked, asked_for, message
from streamfs.gateway.messages.codecs import Several
from streamfs.gateway.settings.cautions import cautions
from streamfs.gateway.settings.device_sources import sources_of
from streamfs.gateway.settings.message_preview import preview_by_profile, preview_message
from streamfs.gateway.settings.profiles import load_profile, profile_files, read_profile
from streamfs.gateway.settings.settings import read_settings

NOON = 1_795_365_000.0  # seconds: 2026-11-22T16:30:00Z
Z = "zigbee2mqtt"


def read(profile, topic, payload):
    """Return node and readings, by quantity; None for a topic that has none."""
    for source in sources_of(load_profile(profile)):
        route = source.route()
        found = None if route.ignores(topic) else route.find(addressed([route], topic, payload.encode())[0].topic)
        if found is not None:
            decoded = found.codec.decode(payload.encode(), NOON, "")
            parts = decoded.parts if isinstance(decoded, Several) else ((found.channel, decoded),)
            return found.node, {name: (part.value, part.time, part.sequence) for name, part in parts}
    return None


def corpus(name="payloads"):
    """Profile, topic, payload, node and readings (value, time, sequence) of what devices send."""
    lines = Path(__file__).with_name(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


PROFILES = sorted({profile for profile, *_ in corpus()})


@pytest.mark.parametrize("profile", PROFILES)
def test_what_devices_send_is_read(profile):
    for _, topic, payload, node, readings in (line for line in corpus() if line[0] == profile):
        found, values = read(profile, topic, payload)
        shown = {name: [None if isnan(value) else value, *rest] for name, (value, *rest) in values.items()}
        assert (found, shown) == (node, orjson.loads(readings)), payload


@pytest.mark.parametrize("profile", sorted({profile for profile, *_ in corpus("refused")}))
def test_what_is_no_reading_is_refused_by_name(profile):
    for _, topic, payload, error in (line for line in corpus("refused") if line[0] == profile):
        with pytest.raises(PayloadError, match=re.escape(error)):
            read(profile, topic, payload)


@pytest.mark.parametrize(
    ("profile", "topic", "payload", "error"),
    [
        (Z, f"{Z}/kitchen", "", "payload is b''"),
        (Z, f"{Z}/kitchen", "offline", "payload is b'offline'"),
        (Z, f"{Z}/kitchen", "21.3", "expected an object"),
        (Z, f"{Z}/kitchen", '{"temperature":"warm"}', "temperature is 'warm'"),
        (Z, f"{Z}/kitchen", '{"temperature":21,"last_seen":"yesterday"}', "last_seen is 'yesterday'"),
        ("tasmota", "tele/t/SENSOR", '{"Time":"T","DHT11":{"Temperature":null}}', None),
        ("tasmota", "tele/t/SENSOR", '{"Time":"16:30","DHT11":{"Temperature":1}}', "Time is '16:30'"),
        ("esphome", "living/sensor/temperature/state", "21,3", "payload is b'21,3'"),
        ("esphome", "living/binary_sensor/door/state", "OPEN", "payload is b'OPEN'"),
        ("shelly", "s/status/temperature:0", '{"id":0,"tC":[1]}', "expected id"),
        ("chirpstack", "application/7/device/01/event/up", '{"fCnt":-1,"object":{"x":1}}', "fCnt is -1"),
        ("chirpstack", "application/7/device/01/event/up", "[]", "expected an uplink event"),
        (
            "thethings",
            "v3/a/devices/d/up",
            '{"uplink_message":{"f_cnt":"x","decoded_payload":{"y":1}}}',
            "f_cnt is 'x'",
        ),
        ("thethings", "v3/a/devices/d/up", '{"uplink_message":[]}', "leads through"),
        ("senml", "senml/n1", '{"bn":"x"}', "records in an array"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(profile, topic, payload, error):
    if error is None:
        assert read(profile, topic, payload)[1] == {}
        return
    if error == "expected id":
        error = "tC is \\[1\\], expected t0 and dt beside an array"
    with pytest.raises(PayloadError, match=error):
        read(profile, topic, payload)


@pytest.mark.parametrize(
    ("profile", "topic"),
    [
        (Z, f"{Z}/bridge/state"),
        (Z, f"{Z}/bridge/devices"),
        (Z, f"{Z}/kitchen/floor/availability"),
        (Z, f"{Z}/kitchen/set"),
        (Z, f"{Z}/kitchen/floor/set/state"),
        ("tasmota", "tele/plug/LWT"),
        ("tasmota", "tele/plug/STATE"),
        ("esphome", "living/status"),
        ("esphome", "living/switch/lamp/state"),
        ("shelly", "shellyht-1/online"),
        ("chirpstack", "application/7/device/0102aabb/event/join"),
        ("thethings", "v3/app/devices/field-3/down/sent"),
    ],
)
def test_other_topics_have_no_readings(profile, topic):
    assert read(profile, topic, "{}") is None


def asks(profile, wanted, period=60.0, silence=None):
    profile = load_profile(profile)
    policies = {quantity: [Policy.parse(text) for text in texts] for quantity, texts in wanted.items()}
    return [
        message(profile, "d/1", quantity, asked, 7, Address("v3/app@ttn/devices/d/up", {}, 0.0))
        for quantity, asked in asked_for(profile, policies, period, silence).items()
    ]


@pytest.mark.parametrize(
    ("profile", "wanted", "topic", "payload"),
    [
        (
            Z,
            {"temperature": ["delta:0.337"]},
            f"{Z}/bridge/request/device/reporting/configure",
            {
                "id": "d/1",
                "endpoint": 1,
                "cluster": "msTemperatureMeasurement",
                "attribute": "measuredValue",
                "minimum_report_interval": 60,
                "maximum_report_interval": 65534,
                "reportable_change": 33,
                "transaction": 7,
            },
        ),
        ("tasmota", {"temperature": ["every:5"], "humidity": ["mean:9"]}, "cmnd/d/1/TelePeriod", b"60"),
        ("tasmota", {"temperature": [], "humidity": []}, "cmnd/d/1/TelePeriod", b"3600"),
        ("esphome", {"temperature": ["every:5"]}, "d/1/number/report_interval/command", b"300"),
        (
            "shelly",
            {"humidity": ["delta:2"]},
            "d/1/rpc",
            {
                "id": 7,
                "src": "streamfs",
                "method": "Humidity.SetConfig",
                "params": {"id": 0, "config": {"report_thr": 2}},
            },
        ),
        (
            "chirpstack",
            {"soil": ["every:15"]},
            "application/app@ttn/device/d/1/command/down",
            {
                "id": "7b2bc40a-abb9-8ae2-805e-000000000007",
                "devEui": "d/1",
                "confirmed": False,
                "fPort": 2,
                "data": "AQADhA==",
            },
        ),
        (
            "thethings",
            {"soil": []},
            "v3/app@ttn/devices/d/1/down/replace",
            {
                "downlinks": [
                    {
                        "f_port": 2,
                        "frm_payload": "AQAcIA==",
                        "priority": "NORMAL",
                        "correlation_ids": ["streamfs:7"],
                    }
                ]
            },
        ),
        (
            "senml",
            {"light": ["every:2"]},
            "senml/d/1/actuate",
            [{"bn": "d/1/", "n": "light/interval", "u": "s", "v": 120}],
        ),
    ],
)
def test_what_a_device_is_asked(profile, wanted, topic, payload):
    (said,) = asks(profile, wanted)
    assert said.topic == topic
    assert said.payload == payload if isinstance(payload, bytes) else orjson.loads(said.payload) == payload


def test_a_device_is_never_asked_for_less_than_models_need():
    profile = load_profile(Z)
    wanted = {"temperature": [Policy.parse("delta:0.5"), Policy.parse("every:4")]}
    assert asked_for(profile, wanted, 30.0, 600.0)["temperature"] == Asked(30.0, 30.0, 0.0)
    assert asked_for(profile, {"co2": [Policy()]}, 30.0, None) == {}


def test_profiles_of_ones_own_stand_beside_the_settings(tmp_path):
    (tmp_path / "profiles").mkdir()
    own = (profile_files()["tasmota"]).read_text(encoding="utf-8").replace("tele", "t")
    (tmp_path / "profiles" / "mine.toml").write_text(own, encoding="utf-8")
    source = 'device = "mine"\nfields = { x = "y" }\nparameters = { full = "u" }'
    settings = f'model = "m"\n[broker]\nurl = "mqtt://b"\n[[source]]\n{source}'
    (tmp_path / "gateway.toml").write_text(settings, encoding="utf-8")
    *_, source = read_settings(tmp_path / "gateway.toml").sources
    assert (source.topic, source.fields, source.time_unit) == ("u/{node}/SENSOR", {"x": "y"}, "any")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('device = "zigbe2mqtt"', "line 5: source.device cannot be: device is 'zigbe2mqtt'"),
        ('device = "zigbee2mqtt"\nparameters = { bas = "z" }', "parameter 'bas' is unknown, expected one of base"),
        ('device = "zigbee2mqtt"\nrepeats = "never"', "line 6: source.repeats is 'never'"),
    ],
)
def test_sources_of_devices_that_are_wrong_are_refused(tmp_path, line, error):
    text = f'model = "m"\n[broker]\nurl = "mqtt://b"\n[[source]]\n{line}'
    (tmp_path / "gateway.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_settings(tmp_path / "gateway.toml")
    assert error in str(caught.value)


@pytest.mark.parametrize("name", profile_files())
def test_our_profiles_are_sound(name):
    profile = load_profile(name)
    assert isinstance(profile, DeviceProfile)
    assert profile.about
    assert [source.topic for source in sources_of(profile)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "format_version is missing"),
        ("format_version = 2", "format_version is 2"),
        ('format_version = 1\nabout = "x"\n[[reading]]\ntopic = "a/#"', "line 4: reading.topic"),
        ('format_version = 1\nabout = "x"\n[limits]\nhears = "never"', "line 4: limits.hears is 'never'"),
        ('format_version = 1\nabout = "x"\n[report]\ntopic = "a"', "report.payload and text are alternatives"),
        ('format_version = 1\nabout = "x"\n[limits]\nrest = 9e4', "limits.rest is 90000"),
        ("format_version = ", "cannot be read"),
    ],
)
def test_a_profile_that_is_wrong_is_refused_with_its_line(tmp_path, text, error):
    path = Path(tmp_path) / "odd.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_profile(path)
    assert error in str(caught.value)


def test_how_a_message_is_read_is_shown_as_far_as_the_model():
    routes = tuple(source.route() for source in sources_of(load_profile("tasmota")))
    bindings = Bindings.single(["temperature@delta:0.5"], routes=routes)
    payload = b'{"Time":"2026-11-22T16:30:00","SCD40":{"CarbonDioxide":650,"Temperature":21.1}}'
    shown = preview_message(bindings, "tele/plug/SENSOR", payload, NOON)
    assert (shown["node"], shown["refused"]) == ("plug", "")
    assert [(row["channel"], row["value"], row["feeds"]) for row in shown["values"]] == [
        ("temperature", 21.1, "temperature@delta:0.5 (thinned here)"),
        ("co2", 650.0, "nothing"),
    ]
    assert "no source has this topic" in preview_message(bindings, "tele/plug/STATE", payload, NOON)["refused"]
    assert 'device = "zigbee2mqtt" has' in preview_message(bindings, "zigbee2mqtt/a", payload, NOON)["refused"]
    assert "expected JSON" in preview_message(bindings, "tele/plug/SENSOR", b"?", NOON)["refused"]


def test_a_profile_is_tried_on_a_message():
    found = preview_by_profile(load_profile("shelly"), "s1/status/humidity:0", b'{"id":0,"rh":44}', NOON)
    assert (found["node"], found["values"]) == ("s1", [{"quantity": "humidity", "value": 44.0, "time": None}])
    with pytest.raises(StreamfsError, match="topic is 's1/online', expected one of"):
        preview_by_profile(load_profile("shelly"), "s1/online", b"true", NOON)


def test_of_a_message_of_several_devices_all_are_shown():
    said = b'{"ZbReceived":{"0x1A":{"Device":"0x1A","Temperature":21},"0x2B":{"Device":"0x2B","Temperature":22}}}'
    found = preview_by_profile(load_profile("tasmota"), "tele/bridge/SENSOR", said, NOON)
    assert found["node"] == "0x1A, 0x2B"
    assert [(row["node"], row["value"]) for row in found["values"]] == [("0x1A", 21.0), ("0x2B", 22.0)]


@pytest.mark.parametrize(
    ("profile", "topic", "payload", "paths"),
    [
        (Z, f"{Z}/radar", '{"presence":true,"target_distance":1.9,"self_test":"ok"}', ["target_distance"]),
        (Z, f"{Z}/two", '{"temperature_l1":20.1,"temperature_l2":"21"}', ["temperature_l1", "temperature_l2"]),
        ("tasmota", "tele/m/SENSOR", '{"ENERGY":{"Power":[12,0]}}', ["ENERGY.Power.0", "ENERGY.Power.1"]),
        (
            "tasmota",
            "tele/b/SENSOR",
            '{"DS18B20-1":{"Id":"01","Temperature":4},"DS18B20-2":{"Temperature":5}}',
            ["DS18B20-2.Temperature"],
        ),
        (
            "shelly",
            "s/events/rpc",
            '{"params":{"ts":1,"switch:2":{"id":2,"apower":3}}}',
            ["params.switch:2.apower"],
        ),
        (
            "chirpstack",
            "application/7/device/01/event/up",
            '{"fCnt":1,"object":{"door":"open","temperatureSensor":{"1":21.5}}}',
            ["door", "temperatureSensor.1"],
        ),
    ],
)
def test_what_a_profile_does_not_read_is_named(profile, topic, payload, paths):
    assert preview_by_profile(load_profile(profile), topic, payload.encode(), NOON)["unread"] == paths


def test_a_unit_behind_a_number_is_named_and_read():
    route = Route.of(
        "boiler/outdoor", "json", "temperature", node="boiler", values={"°C": "unit", "off": "missing"}
    )
    assert route.codec.decode("21.5 °C".encode(), NOON).value == 21.5
    with pytest.raises(PayloadError, match="payload is '40 %', expected a number, or one of off, a number and °C"):
        route.codec.decode(b'"40 %"', NOON)
    with pytest.raises(PayloadError, match='if % is a unit, name it in values of the source: "%" = "unit"'):
        route.codec.decode(b"40 %", NOON)


def test_an_uplink_that_nobody_has_decoded_says_so():
    uplink = b'{"fCnt":1,"data":"AQ==","objectJSON":"{}"}'
    found = preview_by_profile(load_profile("chirpstack"), "application/7/device/01/event/up", uplink, NOON)
    assert "payload has no values in object" in found["refused"]


TWICE = "the broker may send twice what both match, which counts as duplicate readings; make one of them narrower"


def test_what_rest_means_for_reopening_is_a_caution(tmp_path):
    lines = [
        'model = "m"',
        "[broker]",
        'url = "mqtt://localhost"',
        "[streams]",
        "reopen_after = 600.0",
        "[[source]]",
    ]
    for last, warned in [('device = "tasmota"', True), ('device = "tasmota"\ncontrol = false', False)]:
        (tmp_path / "gateway.toml").write_text("\n".join([*lines, last]), encoding="utf-8")
        settings = read_settings(tmp_path / "gateway.toml")
        said = cautions(settings, settings.broker.address(), mean_procedure())
        found = [each for each in said if "tasmota" in each]
        assert [each.partition(" ")[0] for each in found] == ["devices"] * 2 * warned
        assert bool(settings.bindings(["temperature@delta:0.5"]).devices) == warned
        assert any("reopen_after is 600 s" in each for each in found) == warned


def test_sources_that_overlap_are_a_caution(tmp_path):
    for topic, warned in [("{node}/light", True), ("+/{node}", False), ("office/{node}", False)]:
        sources = "".join(f'[[source]]\ntopic = "{each}"\nchannel = "light"\n' for each in ("home/{node}", topic))
        text = f'model = "m"\n[broker]\nurl = "mqtt://me@localhost"\n{sources}'
        (tmp_path / "gateway.toml").write_text(text, encoding="utf-8")
        settings = read_settings(tmp_path / "gateway.toml")
        said = cautions(settings, settings.broker.address(), mean_procedure())
        assert said == [f"topics of the sources home/{{node}} and {topic} overlap: {TWICE}"] * warned


def test_units_of_a_profile_are_those_of_the_channels_of_a_source(tmp_path):
    fields = 'fields = { "SHT.Temperature" = "warmth", "SHT.Pressure" = "pressure" }'
    (tmp_path / "gateway.toml").write_text(
        f'model = "m"\n[broker]\nurl = "mqtt://b"\n[[source]]\ndevice = "tasmota"\n{fields}\n'
    )
    *_, source = read_settings(tmp_path / "gateway.toml").sources
    assert source.units == {"pressure": "{PressureUnit} to hPa"}


def test_a_node_that_a_payload_names_is_no_level_of_the_topic_of_what_it_is_asked():
    known = load_profile("thethings")
    profile = replace(known, report=replace(known.report, topic="{level0}/{level2}/{device}"))
    asked = message(profile, "n1", "", Asked(60.0, 60.0, 0.0), 7, Address("gateways/up/hall#n1", {}, 0.0))
    assert asked.topic == "gateways/hall/n1"

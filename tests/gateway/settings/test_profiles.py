"""Device profiles: what devices send is read, or refused by name, and they are asked as they read it."""

import re
import tomllib
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
from streamfs.gateway.messages.message import Message
from streamfs.gateway.settings.cautions import cautions
from streamfs.gateway.settings.device_sources import sources_of
from streamfs.gateway.settings.message_preview import preview_by_profile, preview_message
from streamfs.gateway.settings.profiles import load_profile, profile_files, read_profile
from streamfs.gateway.settings.proposals import proposal, suggestion
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


def test_messages_on_a_broker_are_proposed_as_sources():
    local = b'{"Time":"2026-11-22T17:30:00","SCD40":{"CarbonDioxide":650,"Temperature":21.1}}'
    messages = [
        Message("zigbee2mqtt/kitchen/floor", b'{"temperature":21,"battery":9}', False, NOON),
        Message("zigbee2mqtt/attic", b'{"temperature":21,"humidity":40}', False, NOON),
        Message("zigbee2mqtt/bath/floor", b'{"temperature":21}', False, NOON),
        Message("zigbee2mqtt/bath/door", b'{"temperature":21}', False, NOON),
        Message("zigbee2mqtt/bridge/state", b"online", True, NOON),
        Message("tele/plug/SENSOR", local, False, NOON),
        Message("odd/topic", b"?", False, NOON),
    ]
    text = proposal(messages, ["temperature@delta:0.5", "sound"])
    assert [source["device"] for source in tomllib.loads(text)["source"]] == ["zigbee2mqtt", "tasmota"]
    for line in (
        "# 4 devices: attic, bath/door, bath/floor, kitchen/floor",
        "# which also send humidity, which the model does not read",
        '# alias = ["kitchen/floor"]  # choose a name: several end in floor',
        "# plug: stamps are 3600 s ahead: set time_zone",
        "# nobody was heard to send sound, which the model reads",
        "# no profile reads 1 further topic: odd/topic",
    ):
        assert line in text
    assert tomllib.loads(text)["node"] == {"door": {"alias": ["bath/door"]}}
    assert proposal([], []) == "# nothing was heard\n"


def test_nothing_is_proposed_for_topics_of_sources_that_there_are():
    fields = {"temperature": "temperature"}
    routes = [
        Route.of("zigbee2mqtt/{node}", "json", fields=fields, ignore=["zigbee2mqtt/bridge"]),
        Route.of("{node}/sensor/{channel}/state", "json", fields={"porch_temp": "temperature"}),
        Route.of("hub/up", "json", node="{*}", fields={"*.temperature": "temperature"}),
    ]
    heard = {
        "zigbee2mqtt/attic": b'{"temperature":21,"humidity":40}',
        "zigbee2mqtt/bath": b'{"temperature":"?"}',
        "zigbee2mqtt/bridge": b'{"temperature":21}',
        "porch/sensor/porch_temp/state": b"12",
        "porch/sensor/porch_humidity/state": b"60",
        "porch/sensor/wifi_signal/state": b"-60",
        "hub/up": b'{"cellar":{"temperature":9},"shed":{"temperature":4}}',
        "tele/plug/SENSOR": b'{"SCD40":{"Temperature":21.1}}',
    }
    messages = [Message(topic, payload, False, NOON) for topic, payload in heard.items()]
    text = proposal(messages, ["temperature@delta:0.5", "humidity", "sound"], routes=routes)
    assert [source["device"] for source in tomllib.loads(text)["source"]] == ["tasmota"]
    for line in (
        "# your sources read 4 devices: attic, cellar, porch, shed",
        "# your sources match, but do not read: humidity of attic, porch_humidity of porch\n",
        "# your sources match, but cannot read: zigbee2mqtt/bath (",
        "# nobody was heard to send sound, which the model reads",
    ):
        assert line in text
    text = proposal(messages[-2:-1], ["temperature"], routes=routes)
    assert text == "# your sources read 2 devices: cellar, shed\n"


@pytest.mark.parametrize(
    "payload",
    ['{"id":"a4","temp":21,"more":%s}', '{"probes":[{"id":"a4","temp":21,"more":%s},{"id":"a5","temp":20}]}'],
)
def test_what_is_nested_deeply_ends_no_proposal(payload):
    assert proposed(("hub/gw1/up", payload % ("[" * 300 + "]" * 300)))


def test_no_devices_are_proposed_in_arrays_that_no_path_leads_to():
    text = proposed(("hub/gw1/up", '{"all.probes":[{"id":"a4","temp":21},{"id":"a5","temp":20}]}'))
    assert "*" not in text
    assert "# 1 device: gw1" in text


def test_no_profile_is_suggested_for_what_home_assistant_says():
    assert suggestion("homeassistant/sensor/attic_temperature/state") == ""


def proposed(*messages):
    return proposal([Message(topic, payload.encode(), False, NOON) for topic, payload in messages], QUANTITIES)


QUANTITIES = ["temperature@delta:0.5", "humidity"]


@pytest.mark.parametrize(
    ("messages", "source"),
    [
        (
            [("shellies/ht-1/sensor/temperature", "21.4"), ("shellies/ht-2/sensor/humidity", "44")],
            {
                "topic": "shellies/{node}/sensor/{channel}",
                "fields": {"temperature": "temperature", "humidity": "humidity"},
            },
        ),
        (
            [("homeassistant/sensor/attic_temperature/state", "unknown")],
            {
                "topic": "homeassistant/sensor/{node}_temperature/state",
                "channel": "temperature",
                "values": {"unknown": "missing"},
            },
        ),
        (
            [("home/gw/BT/A4", '{"id":"A4","tempc":21.3,"hum":44,"time":"2026-11-22T16:30:00Z"}')],
            {
                "topic": "home/gw/BT/{node}",
                "fields": {"tempc": "temperature", "hum": "humidity"},
                "time": "time",
                "time_unit": "any",
            },
        ),
        (
            [("rtl/a/b/1/temperature_C", "3"), ("rtl/c/d/2/temperature_C", "4")],
            {"topic": "rtl/{node...}/{channel}", "fields": {"temperature_C": "temperature"}},
        ),
        (
            [(f"N/c06/temperature/24/{name}", '{"value":40}') for name in ("Temperature", "Humidity")],
            {"topic": "N/{node}/temperature/24/{channel}"},
        ),
        (
            [(f"{Z}/trv", '{"temperature_l1":20}'), (f"{Z}/a", '{"temperature":20,"temperature_offset":1}')],
            {"device": Z, "fields": {"temperature_l1|temperature|local_temperature": "temperature"}},
        ),
        (
            [
                ("application/7/device/01/event/up", '{"object":{"temperatureSensor":{"1":21.5}}}'),
                ("application/7/device/02/event/up", '{"object":{"TempC_SHT":21.5}}'),
            ],
            {"device": "chirpstack", "fields": {"temperatureSensor.1|TempC_SHT": "temperature"}},
        ),
    ],
)
def test_sources_are_guessed_where_no_profile_reads(messages, source):
    (found,) = tomllib.loads(proposed(*messages))["source"]
    assert {key: found[key] for key in source} == source


def each_of(number, *payloads):
    return [(f"hub/gw{number}/up", payload) for payload in payloads]


UPLINK = '{"devEUI":"N","fPort":2,"object":{"hum":40}}'
SENSORS = '{"ts":1795365000,"sensors":[{"mac":"a4c1","temp":21},{"mac":"a4c2","temp":20}]}'
ONE_SENSOR = '{"ts":1795365000,"sensors":[{"mac":"a4c1","temp":21}]}'
ATTIC = "homeassistant/sensor/attic_temperature"


@pytest.mark.parametrize(
    ("messages", "source"),
    [
        (
            each_of(1, '{"model":"A","id":1,"temperature_C":3}', '{"model":"B","id":1,"temperature_C":4}'),
            {"topic": "hub/gw1/up", "node": "{model}-{id}", "fields": {"temperature_C": "temperature"}},
        ),
        (
            [*each_of(1, UPLINK.replace("N", "a"), UPLINK), *each_of(2, UPLINK.replace("N", "c"), UPLINK)],
            {"topic": "hub/+/up", "node": "{devEUI}", "fields": {"object.hum": "humidity"}},
        ),
        (
            [*each_of(1, SENSORS, SENSORS.replace("a4c1", "a4c9")), *each_of(2, SENSORS), *each_of(2, ONE_SENSOR)],
            {
                "topic": "hub/+/up",
                "node": "{sensors.*.mac}",
                "fields": {"sensors.*.temp": "temperature"},
                "time": "ts",
            },
        ),
        (
            each_of(
                1, SENSORS.replace('"temp":21', '"temp":21,"time":"2026-11-22T16:30:00Z"').replace('"ts"', '"n"')
            ),
            {"node": "{sensors.*.mac}", "time": "sensors.*.time", "time_unit": "any"},
        ),
        (
            each_of(1, '[{"ts":1795365000,"id":"a4","temp":3},{"ts":1795365000,"id":"a5","temp":3}]'),
            {"topic": "hub/gw1/up", "node": "{*.id}", "fields": {"temp": "temperature"}, "time": "ts"},
        ),
        (
            each_of(1, '{"probes":[{"id":0,"temp":3},{"id":1,"temp":3}]}'),
            {"topic": "hub/{node}/up", "fields": {"probes.0.temp": "temperature"}},
        ),
        (
            each_of(1, '{"batch":[{"ts":"1795365000","temp":3},{"ts":"1795365030","temp":4}]}'),
            {"records": "batch", "fields": {"temp": "temperature"}, "time": "ts", "time_unit": "any"},
        ),
        (
            each_of(1, '[{"ts":1795365000000,"values":{"temp":3}}]'),
            {"topic": "hub/{node}/up", "fields": {"values.temp": "temperature"}, "time": "ts"},
        ),
        (
            each_of(1, '{"t0":1795365000,"dt":30,"temperature":[20,21]}'),
            {"fields": {"temperature": "temperature"}},
        ),
        (
            [("plug/tele/SENSOR", '{"SHT3X":{"Temperature":21}}')],
            {"topic": "{node}/tele/SENSOR", "fields": {"SHT3X.Temperature": "temperature"}},
        ),
        ([("hub/1/up", UPLINK)], {"topic": "hub/1/up", "node": "{devEUI}"}),
        ([("hub/attic/up", UPLINK)], {"topic": "hub/attic/up", "node": "{devEUI}"}),
        ([("hub/N/up", UPLINK)], {"topic": "hub/{node}/up", "node": None}),
        ([("hub/a4c1", '{"id":"A4:C1","model":"TH","hum":4}')], {"topic": "hub/{node}", "node": None}),
        (
            each_of(1, *(f'{{"id":{number},"temperature":3}}' for number in (7, 8, 9))),
            {"topic": "hub/{node}/up", "node": None},
        ),
        (
            [("a/temperature", "21.5 °C"), ("b/temperature", "20 C")],
            {"topic": "{node}/{channel}", "values": {"°C": "unit", "C": "unit"}},
        ),
        (
            each_of(1, '{"temperature":21,"timestamp":1795365000000000000}'),
            {"time": "timestamp", "time_unit": "any"},
        ),
        (
            [(f"{ATTIC}/state", "21"), (f"{ATTIC}/unit_of_measurement", '"°C"')],
            {"topic": "homeassistant/sensor/{node}_temperature/state"},
        ),
    ],
)
def test_a_source_of_many_devices_or_times_reads_all_of_them(messages, source):
    (found,) = tomllib.loads(proposed(*messages))["source"]
    assert {key: found.get(key) for key in source} == source


def test_several_devices_within_one_payload_are_not_taken_for_one():
    inner = '[{"ts":1795365000,"temperature":3}]'
    assert "source" not in tomllib.loads(proposed(("v1/gateway/up", f'{{"A":{inner},"B":{inner}}}')))


def test_a_proposal_says_whose_clocks_are_off_where_it_guesses_too():
    events = [f'{{"model":"A","id":{number},"temperature":3,"time":"2026-11-22 17:30:00"}}' for number in (1, 5)]
    assert "# A-5: stamps are 3600 s ahead: set time_zone, of the source or" in proposed(*each_of(1, *events))


def test_a_proposal_says_what_of_a_message_is_doubtful():
    text = proposed(*each_of(1, '{"temperature_F":70,"time":"28.11.2026 03:30"}'))
    assert "# temperature_F may be in degrees Fahrenheit: if the model knows Celsius, add units = {" in text
    assert "# time is '28.11.2026 03:30', which is not read as a time" in text


def test_a_proposal_says_which_devices_several_sources_would_take_for_one():
    zwave = ("zwave/kitchen/sensor_multilevel/endpoint_0/Air_temperature", '{"value":21.5}')
    others = ("hub/kitchen_temperature/state", "21.4"), ("tele/attic/SENSOR", '{"DS18B20":{"Temperature":20.6}}')
    assert "# several of these sources read kitchen: leave out all but one" in proposed(zwave, *others)
    assert "several of these" not in proposed(zwave, others[1])


def test_devices_in_one_payload_are_named():
    two = '{"Time":"2026-11-22T16:30:00","A1":{"Temperature":4},"A2":{"Temperature":5}}'
    text = proposed(("tele/ble/SENSOR", two), ("garden/soil", '{"t":1795365000,"moisture":3}'))
    assert "# not read, since a device has one value of a quantity: A2.Temperature of ble" in text
    assert "1 further topic: garden/soil" in text


def test_a_quantity_of_another_name_is_proposed_and_not_said_to_be_missing():
    messages = [Message("living/sensor/living_temperature/state", b"21", False, NOON)]
    text = proposal([*messages, Message("living/status", b"online", True, NOON)], ["temperature"])
    (source,) = tomllib.loads(text)["source"]
    assert source == {"device": "esphome", "fields": {"living_temperature": "temperature"}}
    assert "nobody" not in text
    assert "no profile" not in text  # reads a topic that says who is online


def test_units_of_a_profile_are_those_of_the_channels_of_a_source(tmp_path):
    fields = 'fields = { "SHT.Temperature" = "warmth", "SHT.Pressure" = "pressure" }'
    (tmp_path / "gateway.toml").write_text(
        f'model = "m"\n[broker]\nurl = "mqtt://b"\n[[source]]\ndevice = "tasmota"\n{fields}\n'
    )
    *_, source = read_settings(tmp_path / "gateway.toml").sources
    assert source.units == {"pressure": "{PressureUnit} to hPa"}


def test_silent_devices_that_a_bridge_knows_are_named():
    known = [
        {"type": "Coordinator", "friendly_name": "Coordinator"},
        {"type": "Router", "friendly_name": "plug", "power_source": "Mains (single phase)"},
        {"type": "EndDevice", "friendly_name": "kitchen/floor", "power_source": "Battery"},
        {"type": "EndDevice", "friendly_name": "attic", "power_source": "Battery", "disabled": True},
        {"type": "EndDevice", "friendly_name": "cellar", "power_source": "Battery"},
        "odd",
    ]
    messages = [
        Message("zigbee2mqtt/bridge/devices", orjson.dumps(known), True, NOON),
        Message("zigbee2mqtt/plug", b'{"temperature":21}', False, NOON),
        Message("other/bridge/devices", b"?", True, NOON),
    ]
    text = proposal(messages, ["temperature"])
    assert "# its bridge knows 2 others, not heard: kitchen/floor (battery), cellar (battery)\n" in text
    assert tomllib.loads(text)["node"] == {"floor": {"alias": ["kitchen/floor"]}}
    assert proposal(messages[:1], ["temperature"]).count("[[source]]") == 1


def test_a_node_that_a_payload_names_is_no_level_of_the_topic_of_what_it_is_asked():
    known = load_profile("thethings")
    profile = replace(known, report=replace(known.report, topic="{level0}/{level2}/{device}"))
    asked = message(profile, "n1", "", Asked(60.0, 60.0, 0.0), 7, Address("gateways/up/hall#n1", {}, 0.0))
    assert asked.topic == "gateways/hall/n1"

"""Sources are proposed for what devices send: by the profile that reads it, or guessed."""

import tomllib

import orjson
import pytest

from streamfs.gateway.core.routes import Route
from streamfs.gateway.messages.message import Message
from streamfs.gateway.settings.proposals import proposal, suggestion

NOON = 1_795_365_000.0  # seconds: 2026-11-22T16:30:00Z
Z = "zigbee2mqtt"


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

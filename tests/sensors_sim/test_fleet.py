"""A fleet on a real broker: publications, control messages, and the end of a run."""

import re
from collections import defaultdict
from threading import Condition, Event

import numpy as np
import orjson
import pytest
from helpers.broker import HOST, Broker, free_port
from numpy.testing import assert_array_equal
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

import sensors_sim._connection
from feature_extractors.report import Policy
from sensors_sim._control import read_control
from sensors_sim.fleet import Fleet
from sensors_sim.links import Link
from sensors_sim.same_source import SameSource, nodes_of
from streamfs.costs.radio_profiles import profile
from streamfs.errors import TransportError

pytestmark = pytest.mark.mqtt

PATIENCE = 10.0
LIGHT = np.array([280.0, 310.0, 320.0, np.nan, 290.0, 295.0, 305.0, 305.0])


class Gateway:
    """A gateway that receives readings of nodes with a name prefix, and sends control messages."""

    def __init__(self, broker, prefix):
        self.received = defaultdict(list)  # topic -> readings
        self._prefix = prefix
        self._address = (broker.host, broker.port)
        self._changed = Condition()
        self._subscribed = Event()
        self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        self._client.on_connect = lambda client, *_: client.subscribe("sensors/+/+", qos=2)
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = self._receive

    def __enter__(self):
        self._client.connect(*self._address)
        self._client.loop_start()
        assert self._subscribed.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self._client.disconnect()
        self._client.loop_stop()

    def control(self, node, payload, *, retain=False):
        body = payload if isinstance(payload, bytes) else orjson.dumps(payload)
        published = self._client.publish(f"{self._prefix}/control/{node}", body, qos=1, retain=retain)
        published.wait_for_publish(PATIENCE)

    def await_all(self, fleet):
        """Wait until all publications of the fleet have arrived, and return them."""
        n_published = fleet.counters["published"]
        with self._changed:
            assert self._changed.wait_for(lambda: self.n_received >= n_published, PATIENCE)
        assert self.n_received == n_published
        return self.received

    @property
    def n_received(self):
        return sum(len(readings) for readings in self.received.values())

    def _receive(self, _client, _data, message):
        if message.topic.startswith(f"sensors/{self._prefix}"):
            with self._changed:
                self.received[message.topic].append(orjson.loads(message.payload))
                self._changed.notify_all()


def run(fleet, broker, **options):
    """Run the fleet as fast as possible and return its ticks."""
    ticks = []
    fleet.run(broker.host, broker.port, **{"tick_seconds": 0.0, "on_tick": ticks.append, **options})
    return ticks


def test_the_messages_of_a_policy_arrive(broker):
    fleet = Fleet(
        {"policy-1": {"light": LIGHT}}, period=2.0, channels=["light@flag:300", "light", '"light"@mean:3']
    )
    with Gateway(broker, "policy") as gateway:
        assert run(fleet, broker, start_time=100.0) == list(range(8))
        received = gateway.await_all(fleet)
    assert set(received) == {
        f"sensors/policy-1/{channel}" for channel in ("light@flag:300", "light", '"light"@mean:3')
    }
    for topic, policy in (("light@flag:300", "flag:300"), ("light", ""), ('"light"@mean:3', "mean:3")):
        readings = received[f"sensors/policy-1/{topic}"]
        sent = Policy.parse(policy).sent(LIGHT)
        ticks = np.flatnonzero(np.isfinite(sent))
        assert [reading["v"] for reading in readings] == sent[ticks].tolist()
        assert [reading["t"] for reading in readings] == (100.0 + 2.0 * ticks).tolist()
        assert [reading["seq"] for reading in readings] == list(range(len(ticks)))
    assert fleet.meter.joules == fleet.counters["published"] == 7 + 4 + 2


def test_messages_of_all_nodes_of_recorded_pairs_arrive(broker):
    pairs = SameSource().sample(n_pairs=20, n_ticks=15, seed=1)
    nodes = {f"pairs-{node}": columns for node, columns in nodes_of(pairs).items()}
    fleet = Fleet(nodes, period=1.0, profile="cc2420", channels=["temperature", "light@delta:20"])
    with Gateway(broker, "pairs") as gateway:
        run(fleet, broker)
        received = gateway.await_all(fleet)
    for node, columns in nodes.items():
        assert [reading["v"] for reading in received[f"sensors/{node}/temperature"]] == columns[
            "temperature"
        ].tolist()
    assert fleet.meter.messages == fleet.counters["published"]
    assert set(fleet.meter.nodes) == set(nodes)
    assert fleet.meter.bytes == sum(
        len(orjson.dumps(reading)) for readings in received.values() for reading in readings
    )


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_every_quality_of_service_delivers(broker, qos):
    fleet = Fleet({f"qos{qos}-1": {"light": LIGHT}}, period=1.0, channels=["light"])
    with Gateway(broker, f"qos{qos}") as gateway:
        run(fleet, broker, qos=qos)
        assert len(gateway.await_all(fleet)[f"sensors/qos{qos}-1/light"]) == 7


def test_a_retained_control_message_takes_effect_at_the_first_tick(broker):
    fleet = Fleet({"retained-1": {"light": LIGHT}, "retained-2": {"light": LIGHT}}, period=1.0, prefix="retained")
    with Gateway(broker, "retained") as gateway:
        gateway.control("retained-1", {"channels": ["light@every:2"]}, retain=True)
        gateway.control("retained-9", {"channels": ["light"]}, retain=True)
        run(fleet, broker)
        received = gateway.await_all(fleet)
    assert list(received) == ["sensors/retained-1/light@every:2"]
    assert [reading["t"] for reading in received["sensors/retained-1/light@every:2"]] == [0.0, 2.0, 4.0, 6.0]
    assert fleet.counters["controls"] == 1
    assert fleet.counters["foreign_controls"] == 1


def test_many_retained_control_messages_take_effect_at_the_first_tick(broker):
    fleet = Fleet({f"many-{number}": {"light": LIGHT} for number in range(100)}, period=1.0, prefix="many")
    with Gateway(broker, "many") as gateway:
        for number in range(100):
            gateway.control(f"many-{number}", {"channels": ["light"]}, retain=True)
        run(fleet, broker)
        received = gateway.await_all(fleet)
    assert len(received) == 100
    assert {readings[0]["t"] for readings in received.values()} == {0.0}


def test_a_fleet_ends_once_all_its_nodes_are_silenced(broker):
    readings = {f"silence-{number}": {"light": np.arange(3000.0)} for number in (1, 2)}
    fleet = Fleet(readings, period=1.0, prefix="silence", channels=["light"])
    with Gateway(broker, "silence") as gateway:

        def decide(tick):
            if tick == 5:
                gateway.control("silence-1", {"channels": []})
            if tick == 30:
                gateway.control("silence-2", {"channels": []})

        run(fleet, broker, tick_seconds=0.005, on_tick=decide)
        received = gateway.await_all(fleet)
    first, second = (len(received[f"sensors/silence-{number}/light"]) for number in (1, 2))
    assert 6 <= first < second < 3000


def test_channels_change_during_a_run(broker):
    fleet = Fleet({"change-1": {"light": np.arange(3000.0)}}, period=1.0, prefix="change", channels=["light"])
    with Gateway(broker, "change") as gateway:

        def widen(tick):
            if tick == 3:
                gateway.control("change-1", {"channels": ["light", "light@every:1000"]})
            if fleet.counters["controls"]:
                stop.set()

        stop = Event()
        run(fleet, broker, tick_seconds=0.005, on_tick=widen, stop=stop)
        received = gateway.await_all(fleet)
    asked = received["sensors/change-1/light@every:1000"]
    assert len(asked) == 1
    assert asked[0]["v"] == asked[0]["t"] > 3
    everything = received["sensors/change-1/light"]
    assert [reading["seq"] for reading in everything] == list(range(len(everything)))


@pytest.mark.parametrize(
    "payload",
    [
        b"\xff",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"channels": "light"}',
        b'{"channels": [1]}',
        b'{"channels": ["sound"]}',
        b'{"channels": ["light@sometimes:1"]}',
        b'{"channels": ["light@every:1e+2"]}',
        b'{"channels": [""]}',
        b"[" * 100_000,
    ],
)
def test_a_malformed_control_message_is_counted_and_ignored(broker, payload):
    fleet = Fleet({"bad-1": {"light": np.arange(3000.0)}}, period=1.0, prefix="bad", channels=["light"])
    stop, ticks = Event(), []
    with Gateway(broker, "bad") as gateway:

        def mislead(tick):
            ticks.append(tick)
            if tick == 2:
                gateway.control("bad-1", payload)
            if fleet.counters["malformed_controls"]:
                stop.set()

        run(fleet, broker, tick_seconds=0.005, on_tick=mislead, stop=stop)
        received = gateway.await_all(fleet)
    assert fleet.counters["malformed_controls"] == 1
    assert fleet.counters["controls"] == 0
    assert len(received["sensors/bad-1/light"]) == len(ticks) < 3000


def test_a_node_that_is_forgotten_sends_what_it_began_with(broker):
    fleet = Fleet({"free-1": {"light": np.arange(400.0)}}, period=1.0, prefix="free", channels=["light"])
    with Gateway(broker, "free") as gateway:
        gateway.control("free-1", b'{"channels":[]}', retain=True)

        def free(tick):
            if tick == 5:
                gateway.control("free-1", b"", retain=True)

        run(fleet, broker, tick_seconds=0.005, on_tick=free)
        assert len(gateway.await_all(fleet)["sensors/free-1/light"]) > 100
    assert fleet.counters["controls"] == 2


def test_a_node_stops_after_stop_after_seconds(broker):
    fleet = Fleet({"stop-1": {"light": np.arange(200.0)}}, period=0.5, prefix="stop")
    with Gateway(broker, "stop") as gateway:
        gateway.control("stop-1", b'{"channels":["light"],"stop_after":1.5}', retain=True)
        run(fleet, broker)
        assert len(gateway.await_all(fleet)["sensors/stop-1/light"]) == 3
    assert fleet.counters["controls"] == 1


def test_a_node_ignores_a_message_that_is_older_than_its_last_until_it_is_forgotten(broker):
    fleet = Fleet({"late-1": {"light": np.arange(400.0)}}, period=1.0, prefix="late", channels=["light"])
    said = {
        5: b'{"channels":["light@every:2"],"number":8}',
        10: b'{"channels":[],"number":7}',
        15: b'{"channels":["light@every:2"],"number":8}',
        20: b"",
        25: b'{"channels":[],"number":7}',
    }
    with Gateway(broker, "late") as gateway:
        gateway.control("late-1", b'{"channels":["light"],"number":8}', retain=True)

        def say(tick):
            if tick in said:
                gateway.control("late-1", said[tick])

        run(fleet, broker, tick_seconds=0.01, on_tick=say)
        arrived = gateway.await_all(fleet)
    assert (fleet.counters["controls"], fleet.counters["outdated_controls"]) == (5, 1)
    assert 8 <= len(arrived["sensors/late-1/light"]) < 50  # at first, and once it is forgotten
    assert len(arrived["sensors/late-1/light@every:2"]) >= 5


@pytest.mark.parametrize("number", [b"1.5", b'"1"', b"true", b"[]"])
def test_an_invalid_number_is_malformed(number):
    with pytest.raises(ValueError, match=r"control has number .*, expected a whole number"):
        read_control(b'{"channels":[],"number":' + number + b"}")


@pytest.mark.parametrize("stop_after", [b"0", b"-1", b'"1"', b"NaN", b"[]", b"true", b"1e308"])
def test_an_invalid_stop_after_is_malformed(broker, stop_after):
    fleet = Fleet({"never-1": {"light": np.arange(200.0)}}, period=0.01, prefix="never")
    with Gateway(broker, "never") as gateway:
        gateway.control("never-1", b'{"channels":["light"],"stop_after":' + stop_after + b"}", retain=True)
        run(fleet, broker, max_ticks=2)
    assert (fleet.counters["malformed_controls"], fleet.meter.messages) == (1, 0)


def test_an_empty_battery_ends_the_node_and_dead_nodes_end_the_run(broker):
    readings = {"battery-1": {"light": np.arange(50.0)}, "battery-2": {"light": LIGHT}}
    fleet = Fleet(readings, period=1.0, battery_joules=5.5, channels=["light"])
    with Gateway(broker, "battery") as gateway:
        ticks = run(fleet, broker)
        received = gateway.await_all(fleet)
    assert [len(readings) for readings in received.values()] == [5, 5]
    assert ticks == list(range(7))
    assert fleet.meter.joules == 10.0


def test_a_battery_in_joules_pays_for_bytes(broker):
    radio = profile("cc2420")
    fleet = Fleet(
        {"joules-1": {"light": np.ones(50)}},
        period=1.0,
        profile=radio,
        battery_joules=3.5 * radio.message_joules(len(b'{"t":0.0,"v":1.0,"seq":0}')),
        channels=["light"],
    )
    with Gateway(broker, "joules") as gateway:
        run(fleet, broker)
        assert len(gateway.await_all(fleet)["sensors/joules-1/light"]) == 3


def test_lost_messages_cost_energy_and_leave_gaps(broker):
    readings = {"lossy-1": {"light": np.arange(100.0)}}
    fleet = Fleet(readings, period=1.0, link=Link(loss=0.3), seed=4, channels=["light"])
    again = Fleet(readings, period=1.0, link=Link(loss=0.3), seed=4, channels=["light"])
    with Gateway(broker, "lossy") as gateway:
        run(fleet, broker)
        first = list(gateway.await_all(fleet)["sensors/lossy-1/light"])
        gateway.received.clear()
        run(again, broker)
        assert gateway.await_all(again)["sensors/lossy-1/light"] == first
    assert fleet.counters["published"] + fleet.counters["lost"] == fleet.meter.messages == 100
    assert 10 < fleet.counters["lost"] < 50
    assert_array_equal([reading["v"] for reading in first], [reading["seq"] for reading in first])


def test_max_silence_is_in_seconds(broker):
    fleet = Fleet({"quiet-1": {"light": np.ones(12)}}, period=2.0, channels=["light@delta:5"], max_silence=6.0)
    with Gateway(broker, "quiet") as gateway:
        run(fleet, broker)
        received = gateway.await_all(fleet)["sensors/quiet-1/light@delta:5"]
    assert [reading["t"] for reading in received] == [0.0, 6.0, 12.0, 18.0]


def test_each_node_may_have_its_own_channels(broker):
    readings = {"own-1": {"light": LIGHT}, "own-2": {"light": LIGHT}, "own-3": {"light": LIGHT}}
    fleet = Fleet(readings, period=1.0, channels={"own-1": ["light"], "own-2": ["light@every:8"]})
    with Gateway(broker, "own") as gateway:
        run(fleet, broker)
        received = gateway.await_all(fleet)
    assert {topic: len(readings) for topic, readings in received.items()} == {
        "sensors/own-1/light": 7,
        "sensors/own-2/light@every:8": 1,
    }


def test_a_run_ends_after_max_ticks_or_when_stopped(broker):
    def fleet():
        return Fleet({"end-1": {"light": LIGHT}}, period=1.0, channels=["light"])

    assert run(fleet(), broker, max_ticks=3) == [0, 1, 2]
    stop = Event()
    stop.set()
    assert run(fleet(), broker, stop=stop) == []


def test_an_unreachable_broker_is_named():
    port = free_port()
    with pytest.raises(TransportError, match=f"broker {re.escape(HOST)}:{port} cannot be reached"):
        Fleet({"n": {"light": LIGHT}}, period=1.0).run(HOST, port)


def test_a_broker_that_refuses_is_named():
    refused = pytest.raises(TransportError, match="refuses the connection: Not authorized")
    with Broker("allow_anonymous false") as strict, refused:
        run(Fleet({"n": {"light": LIGHT}}, period=1.0), strict)


def test_a_restarted_broker_receives_everything():
    fleet = Fleet({"back-1": {"light": np.arange(20.0)}}, period=1.0, prefix="back", channels=["light"])
    with Broker() as restarting:

        def restart(tick):
            if tick == 5:
                restarting.stop()
            if tick == 10:
                restarting.start()

        run(fleet, restarting, on_tick=restart)
    assert fleet.counters["published"] == 20


def test_a_broker_that_does_not_return_is_an_error(monkeypatch):
    monkeypatch.setattr(sensors_sim._connection, "_PATIENCE", 1.0)
    fleet = Fleet({"away-1": {"light": np.arange(20.0)}}, period=1.0, channels=["light"])
    with Broker() as leaving, pytest.raises(TransportError, match="did not acknowledge all messages"):
        run(fleet, leaving, on_tick=lambda tick: leaving.stop() if tick == 5 else None)


@pytest.mark.parametrize("word", ["a/b", "a+b", "a#b", "a\0b", ""])
def test_names_that_cannot_be_topic_levels_are_refused(word):
    with pytest.raises(ValueError, match=re.escape(repr(word))):
        Fleet({word: {"light": LIGHT}}, period=1.0)
    with pytest.raises(ValueError, match=re.escape(repr(word))):
        Fleet({"n": {word: LIGHT}}, period=1.0)
    with pytest.raises(ValueError, match=re.escape(repr(word))):
        Fleet({"n": {"light": LIGHT}}, period=1.0, channels=[word])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period": 0.0}, "period is 0.0"),
        ({"max_silence": 0.5}, "max_silence is 0.5"),
        ({"profile": "cc1000"}, "profile is 'cc1000'"),
        ({"battery_joules": -1.0}, "capacity_joules is -1.0"),
        ({"channels": ["sound"]}, "node n has no column 'sound'"),
        ({"channels": {"m": ["light"]}}, "channels names node 'm'"),
    ],
)
def test_slips_are_answered_with_the_offending_value(options, message):
    with pytest.raises(ValueError, match=message):
        Fleet({"n": {"light": LIGHT}}, **{"period": 1.0, **options})


def test_one_text_is_not_a_sequence_of_channels():
    with pytest.raises(TypeError, match="channels is 'light'"):
        Fleet({"n": {"light": LIGHT}}, period=1.0, channels="light")


@pytest.mark.parametrize(
    ("options", "message"), [({"qos": 3}, "qos is 3"), ({"tick_seconds": -1.0}, "tick_seconds is -1.0")]
)
def test_invalid_options_of_a_run_are_refused_before_connecting(options, message):
    with pytest.raises(ValueError, match=message):
        Fleet({"n": {"light": LIGHT}}, period=1.0).run(HOST, free_port(), **options)

"""The whole gateway over a real broker: the decisions of `evaluate`, every message accounted for."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import orjson
import pytest
from helpers.broker import Broker, find_mosquitto
from oracles import papers as naive
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5
from river.naive_bayes import GaussianNB

import feature_extractors as fx
from sensors_sim.fleet import Fleet
from sensors_sim.links import Link
from sensors_sim.same_source import SameSource, nodes_of
from streamfs import Pricing, StreamSet, evaluate, train
from streamfs.costs.radio_profiles import profile
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.energy_account import Spent
from streamfs.gateway.core.options import Options, Time
from streamfs.gateway.service import Gateway
from streamfs.gateway.transport.transport import Transport

pytestmark = pytest.mark.mqtt

N_TICKS = 30
FEATURES = [
    fx.get("mean_absolute_difference(a.temperature@delta:0.5, b.temperature@delta:0.5)"),
    fx.get("mean_absolute_difference(a.light, b.light)"),
    fx.get("correlation(a.light, b.light)"),
]


@pytest.fixture
def broker():
    if find_mosquitto() is None:
        pytest.skip("mosquitto not found: install it to run the MQTT tests")
    with Broker() as running:
        yield running


class WireTap:
    """Counts every reading on the wire, on its own connection."""

    def __init__(self, broker):
        self.messages, self.bytes, self.decisions, self.controls = Counter(), Counter(), {}, {}
        self._subscribed = threading.Event()
        self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
        self._client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = self._count
        self._client.connect(broker.host, broker.port)

    def _count(self, _client, _userdata, message):
        kind, _, name = message.topic.partition("/")
        if kind == "sensors":
            node = name.partition("/")[0]
            self.messages[node] += 1
            self.bytes[node] += len(message.payload)
        elif name.startswith("decision/"):
            self.decisions[name.partition("/")[2]] = orjson.loads(message.payload)
        else:
            self.controls[name.rpartition("/")[2]] = orjson.loads(message.payload)

    def settle(self):
        """Wait for messages in flight: a message of the test follows them."""
        self._client.publish("settled/now", b"{}", qos=1)
        deadline = time.monotonic() + 10
        while "now" not in self.controls and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "now" in self.controls

    def __enter__(self):
        self._client.loop_start()
        assert self._subscribed.wait(10)
        return self

    def __exit__(self, *_):
        self._client.disconnect()
        self._client.loop_stop()


class Followed(NamedTuple):
    decisions: list
    counters: Counter
    decided: Counter
    spent: Spent


def follow(broker, procedure, pairs, log=None, idle_timeout=None, tick_seconds=0.02, **fleet_options):
    """Run a gateway and a fleet against the broker; return the gateway's summary and what was on the wire."""
    radio, decisions = "cc2420", []
    sources = {name: {"a": f"{name}-a", "b": f"{name}-b"} for name in pairs.names}
    fleet = Fleet(nodes_of(pairs), pairs.period, radio, **fleet_options)
    gateway = Gateway(
        procedure,
        Bindings.pairs(procedure.channels, sources),
        Transport(broker.url),
        Options(profile=radio, time=Time(grace=0.5)),
        energy_log=log,
        on_decision=decisions.append,
    )
    with WireTap(broker) as wire, ThreadPoolExecutor(1) as pool:
        stop = threading.Event()
        running = pool.submit(gateway.run, stop, idle_timeout, until_decided=True)
        try:
            assert gateway.ready.wait(60)
            fleet.run(broker.host, broker.port, tick_seconds=tick_seconds, start_time=1000.0)
            summary = running.result(timeout=60)
        finally:
            stop.set()
        wire.settle()
    return Followed(decisions, *summary), wire, fleet


@pytest.fixture(scope="module")
def recorded():
    return StreamSet(*SameSource().sample(200, N_TICKS, seed=1))


@pytest.fixture(scope="module")
def live():
    return SameSource().sample(16, N_TICKS, seed=2)


def learn(recorded, model=None, confidence=0.95):
    return train(
        recorded,
        features=FEATURES,
        select=None,
        confidence=confidence,
        pricing="cc2420",
        classifier=model,
        seed=3,
    )


def ours(decisions):
    """Decisions without their time: the fleet began at another time than the record."""
    return sorted((d.stream, d.episode, d.label, d.confidence, d.tick, d.cost, d.reason) for d in decisions)


@pytest.mark.parametrize(("model", "confidence"), [(None, 0.95), (GaussianNB(), 0.99)], ids=["c45", "river"])
def test_decisions_over_mqtt_are_those_of_evaluate(broker, recorded, live, model, confidence):
    procedure = learn(recorded, model, confidence)
    summary, wire, _ = follow(broker, procedure, live)
    expected = evaluate(procedure, StreamSet(*live)).decisions
    assert ours(summary.decisions) == ours(expected)
    assert len({decision.reason for decision in expected}) == 2, "both confident and timed-out streams are wanted"
    assert summary.counters["late"] == 0
    for decision in summary.decisions:
        assert wire.decisions[decision.stream] == decision.to_json()
        each, once = procedure.costs.each, procedure.costs.once
        assert decision.cost == pytest.approx(
            naive.classification_cost(decision.tick, each, once, 1.0, 1.0), rel=1e-12
        )


def test_the_ledger_equals_the_messages_on_the_wire(broker, recorded, live, tmp_path):
    summary, wire, fleet = follow(broker, learn(recorded), live, tmp_path / "energy.jsonl")
    radio = profile("cc2420")
    assert {node: account.messages for node, account in summary.spent.nodes.items()} == wire.messages
    assert {node: account.bytes for node, account in summary.spent.nodes.items()} == wire.bytes
    assert fleet.meter.nodes.keys() == summary.spent.nodes.keys()
    for node, account in fleet.meter.nodes.items():
        assert summary.spent.nodes[node] == pytest.approx(account, rel=1e-12)
    lines = [orjson.loads(line) for line in (tmp_path / "energy.jsonl").read_bytes().splitlines()]
    by_hand = sum(
        wire.messages[node] * radio.message_joules(0)
        + wire.bytes[node] * (radio.message_joules(1) - radio.message_joules(0))
        for node in wire.messages
    )
    assert lines[-1]["kind"] == "total"
    assert lines[-1]["messages"] == wire.messages.total()
    assert lines[-1]["energy"] == pytest.approx(by_hand, rel=1e-9)
    assert {line["stream"] for line in lines if line["kind"] == "decision"} == set(live.names)


def test_a_silence_is_the_same_online_and_offline(broker, recorded, live):
    """A mote that repeats its value regularly, and a gateway that holds it no longer than that."""
    procedure = train(
        recorded, features=FEATURES[:1], select=None, confidence=0.9, pricing=Pricing(max_silence=4.0)
    )
    summary, _, _ = follow(broker, procedure, live, max_silence=4.0)
    assert ours(summary.decisions) == ours(evaluate(procedure, StreamSet(*live)).decisions)
    seldom = train(recorded, features=FEATURES[:1], select=None, confidence=0.9)
    assert procedure.costs.each[0] > seldom.costs.each[0]


def test_decided_nodes_fall_silent(broker, recorded, live):
    procedure = learn(recorded)
    summary, wire, fleet = follow(broker, procedure, live)
    assert all(wire.controls[node]["channels"] == [] for node in fleet.meter.nodes)
    early = [d.stream for d in summary.decisions if d.tick <= 5]
    assert early
    everything = 2 * N_TICKS  # a node that is never silenced sends at least its light at every tick
    assert any("light" in c and "@" not in c for c in procedure.channels)
    for stream in early:
        assert wire.messages[f"{stream}-a"] < everything / 2


def test_batteries_show_what_silence_saves(broker, recorded, live):
    procedure = learn(recorded)
    # A tick lasts long enough that a slow machine's gateway decides before the next.
    _, _, heeding = follow(broker, procedure, live, tick_seconds=0.1, battery_joules=1.0)
    wanted = [channel.removeprefix("a.") for channel in procedure.channels if channel.startswith("a.")]
    heedless = Fleet(nodes_of(live), live.period, "cc2420", 1.0, prefix="nobody", channels=wanted)
    heedless.run(broker.host, broker.port, tick_seconds=0.0, start_time=1000.0)
    left = {node: (heeding.batteries[node], heedless.batteries[node]) for node in heeding.batteries}
    assert all(mine >= other for mine, other in left.values())
    assert sum(1.0 - mine for mine, _ in left.values()) < 0.7 * sum(1.0 - other for _, other in left.values())


def test_lost_messages_lose_no_stream(broker, recorded, live):
    summary, _, fleet = follow(broker, learn(recorded), live, idle_timeout=3, link=Link(0.2), seed=5)
    assert fleet.counters["lost"] > 0
    assert sorted(d.stream for d in summary.decisions) == sorted(live.names)


def test_garbage_on_the_wire_is_counted_and_harms_nobody(broker, recorded, live):
    procedure = learn(recorded)
    channel = procedure.channels[0].removeprefix("a.")
    garbage = [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b'"20.5"',
        b"[1,2]",
        b'{"v":NaN}',
        b"1e400",
        b'{"t":1e18}',
        b"[" * 900,
    ]
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    client.connect(broker.host, broker.port)
    client.loop_start()
    done = threading.Event()

    def disturb():
        while not done.wait(0.05):
            for payload in garbage:
                client.publish(f"sensors/{live.names[0]}-a/{channel}", payload, qos=1)
                client.publish(f"sensors/stranger/{channel}", b"1.0", qos=1)

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        summary, _, _ = follow(broker, procedure, live)
    finally:
        done.set()
        disturbing.join()
        client.disconnect()
        client.loop_stop()
    assert summary.counters["malformed"] > 0
    assert summary.counters["unbound"] > 0
    assert ours(summary.decisions) == ours(evaluate(procedure, StreamSet(*live)).decisions)

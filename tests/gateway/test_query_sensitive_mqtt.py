"""The whole gateway over a real broker, with nodes that are released channel by channel."""

import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import orjson
import pytest
from helpers.broker import Broker, find_mosquitto
from helpers.lazy import lazy_procedure
from test_gateway import WireTap, ours

from sensors_sim.fleet import Fleet
from streamfs import Engine, StreamSet, evaluate
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.energy_account import Spent
from streamfs.gateway.core.options import Options, Time
from streamfs.gateway.service import Gateway
from streamfs.gateway.transport.transport import Transport

pytestmark = pytest.mark.mqtt

N_TICKS = 20
PATIENCE = 5.0
"""Seconds for control messages to reach the nodes."""


class ChannelTap(WireTap):
    """Counts by channel too, and keeps all control messages of each node."""

    def __init__(self, broker):
        self.by_channel, self.told = Counter(), defaultdict(list)
        super().__init__(broker)

    def _count(self, client, userdata, message):
        super()._count(client, userdata, message)
        first, *rest = message.topic.split("/")
        if first == "sensors":
            self.by_channel[tuple(rest)] += 1
        elif rest[0] == "control":
            self.told[rest[1]].append(set(orjson.loads(message.payload)["channels"]))

    def was_told(self, expected):
        return all(self.told[node][-1:] == [channels] for node, channels in expected.items())


class Run(NamedTuple):
    decisions: list
    spent: Spent
    wire: ChannelTap
    fleet: Fleet


@pytest.fixture(scope="module")
def procedure():
    return lazy_procedure("x", "y", "z@delta:0.5", far=1.0, time_limit=N_TICKS - 2)


@pytest.fixture(scope="module")
def live():
    """Streams that are unusual for a while, and again in the end, in one column or in two; some become clear."""
    rng = np.random.default_rng(4)
    ticks, n = np.arange(N_TICKS), 12
    x = np.where(ticks >= rng.integers(4, 30, (n, 1)), 20.0, 0.5)
    calm = rng.integers(0, 6, (2, n, 1))
    y, z = np.where((ticks < calm) | (ticks > 13), 2.5, 0.0)
    values = np.stack([x, y, z], axis=2) + rng.normal(0, 0.01, (n, N_TICKS, 3))
    return StreamSet(values, np.repeat(["off", "on"], n // 2), ["x", "y", "z"], 1.0, [f"n{i}" for i in range(n)])


@pytest.fixture(scope="module")
def expected(procedure, live):
    """Return what each node must send after each tick, by an engine that receives everything."""
    engine, seen = Engine(procedure), live.seen_through(procedure.channels)
    after = []
    for tick in range(N_TICKS):
        sends = {}
        for name, samples in zip(seen.names, seen.values, strict=True):
            if not engine.is_decided(name):
                engine.push(name, float(tick), samples[tick])
            asked = engine.asked(np.array([engine.row(name)]))[0] & (not engine.is_decided(name))
            sends[name] = {c for c, is_asked in zip(procedure.channels, asked, strict=True) if is_asked}
        after.append(sends)
    return after


@pytest.fixture(scope="module")
def run(procedure, live, expected):
    """One run of a gateway, and a fleet that at each tick waits to be told what has come of the one before."""
    if find_mosquitto() is None:
        pytest.skip("mosquitto not found: install it to run the MQTT tests")
    decisions, stop = [], threading.Event()
    readings = {
        name: dict(zip(live.columns, v.T, strict=True)) for name, v in zip(live.names, live.values, strict=True)
    }
    fleet = Fleet(readings, live.period, "cc2420")
    with Broker() as broker, ChannelTap(broker) as wire, ThreadPoolExecutor(1) as pool:

        def wait(tick):
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and tick > 0:
                n_controls = sum(map(len, wire.told.values()))
                n_heard = fleet.counters["controls"] + fleet._controls.qsize()
                if wire.was_told(expected[tick - 1]) and n_heard >= n_controls:
                    return
                time.sleep(0.005)

        gateway = Gateway(
            procedure,
            Bindings.single(procedure.channels, live.names),
            Transport(broker.url),
            Options(profile="cc2420", time=Time(lateness=0.0, grace=0.5)),
            on_decision=decisions.append,
        )
        running = pool.submit(gateway.run, stop, until_decided=True)
        try:
            assert gateway.ready.wait(60)
            fleet.run(broker.host, broker.port, tick_seconds=0.0, start_time=1000.0, on_tick=wait)
            _, _, spent = running.result(timeout=60)
        finally:
            stop.set()
        wire.settle()
    return Run(decisions, spent, wire, fleet)


def test_decisions_over_mqtt_are_those_of_evaluate_though_channels_fall_silent(run, procedure, live):
    expected = evaluate(procedure, live).decisions
    assert ours(run.decisions) == ours(expected)
    assert len({decision.reason for decision in expected}) == 2, "both confident and timed-out streams are wanted"


def test_the_ledger_equals_the_messages_on_the_wire_though_channels_fall_silent(run):
    assert {node: account.messages for node, account in run.spent.nodes.items()} == run.wire.messages
    assert {node: account.bytes for node, account in run.spent.nodes.items()} == run.wire.bytes
    for node, account in run.fleet.meter.nodes.items():
        assert run.spent.nodes[node] == pytest.approx(account, rel=1e-12)


def test_a_node_sends_a_channel_as_long_as_it_is_asked_for_and_no_longer(run, expected):
    ticks = []
    for node in expected[0]:
        n_asked = sum("y" in sends[node] for sends in expected[: N_TICKS - 2])
        assert run.wire.by_channel[node, "y"] == 2 + n_asked, "two are sent before anything is known"
        ticks.append(n_asked)
    assert len(set(ticks)) > 4


def test_a_node_receives_what_has_changed_and_only_that(run, procedure, expected):
    n_told = Counter()
    for node, lists in run.wire.told.items():
        due = [set(procedure.channels), *(sends[node] for sends in expected)]
        assert lists == [due[0], *(new for old, new in pairwise(due) if new != old)]
        n_told[len(lists)] += 1
    assert {3, 4} <= n_told.keys()

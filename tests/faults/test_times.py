"""Readings out of order, late, or from wrong clocks; sequence numbers that restart."""

import time

import numpy as np
import orjson
import pytest
from accounts import assert_nothing_lost, assert_published, await_readings, take_account
from gateway_process import GatewayProcess
from lone import lone, readings, see_that_it_works
from traffic import LATENESS, stamp, traffic
from witness import Publisher, Witness

pytestmark = pytest.mark.mqtt

YEAR = 365.25 * 86400  # seconds
FRESHNESS = 1.0  # seconds: metrics are no older
SETTLED = 1.5  # seconds in which the first publications are confirmed, and that is committed
QUIET = 4.0  # seconds


def test_messages_out_of_order(tmp_path, broker, undisturbed):
    rng = np.random.default_rng(0)
    messages = sorted(traffic(), key=lambda sent: stamp(sent) + rng.uniform(0, LATENESS - 1))
    assert messages != traffic()
    with (
        GatewayProcess(tmp_path, broker.url) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        gateway.start()
        gateway.await_ready()
        publisher.send(messages)
        await_readings(gateway, messages)
        gateway.stop()
        witness.await_decisions(undisturbed().decisions)
    assert gateway.counters["late"] == gateway.counters["lost"] == gateway.counters["duplicate"] == 0
    assert_nothing_lost(take_account(gateway, broker), undisturbed(), is_in_order=False)
    assert_published(witness, undisturbed())


def test_late_messages(tmp_path, broker):
    with lone(tmp_path, broker) as (gateway, publisher, witness):
        publisher.send(readings("slow", [1000.0, 1001.0, 1002.0], value=0.0))
        publisher.send(readings("slow", [1010.0], first=6))
        publisher.send(readings("slow", [1003.0, 1004.0, 1005.0], first=3))
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    assert gateway.counters["late"] == 3
    assert gateway.counters["duplicate"] == gateway.counters["lost"] == 0
    assert orjson.loads(witness.decisions["slow/1"][0])["reason"] == "timeout"


def test_stamps_of_the_future_of_1970_and_of_time_that_runs_back(tmp_path, broker):
    with lone(tmp_path, broker) as (gateway, publisher, witness):
        publisher.send(readings("good", [1000.0, 1001.0, 1002.0], value=0.0))
        publisher.send(readings("future", [130 * YEAR + tick for tick in range(7)]))
        publisher.send(readings("old", [0.0, 1.0, 2.0, 3.0]))
        publisher.send(readings("back", [1004.0 - tick for tick in range(20)], value=0.0))
        publisher.send(readings("good", [10 * YEAR], first=99))
        publisher.send(readings("good", [1003.0 + tick for tick in range(10)], first=3, value=0.0))
        witness.await_decisions(["good/1", "future/1", "old/1"])
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    decisions = {name: orjson.loads(payloads[0]) for name, payloads in witness.decisions.items()}
    assert {name: decisions[name]["label"] for name in ("future/1", "old/1")} == {"future/1": "on", "old/1": "on"}
    assert decisions["good/1"]["reason"] == "timeout", "whatever the others send"
    assert gateway.counters["future"] == 1, "that of the good node"
    assert gateway.counters["late"] == 16, "of the node whose time runs back"
    assert gateway.counters["duplicate"] == gateway.counters["lost"] == gateway.counters["restarted"] == 0


def test_a_node_that_begins_to_count_anew(tmp_path, broker):
    early, late = [1000.0, 1001.0], [1002.0 + tick for tick in range(6)]
    with lone(tmp_path, broker) as (gateway, publisher, witness):
        both = [*readings("steady", late, first=2), *readings("restarted", late, first=0)]
        publisher.send(readings("steady", early, value=0.0) + readings("restarted", early, value=0.0))
        publisher.send(sorted(both, key=stamp))
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    assert gateway.counters["restarted"] == 1
    assert gateway.counters["duplicate"] == gateway.counters["lost"] == gateway.counters["late"] == 0
    steady, restarted = (orjson.loads(witness.decisions[f"{node}/1"][0]) for node in ("steady", "restarted"))
    assert steady["tick"] == 5
    assert restarted | {"id": "steady/1", "stream": "steady"} == steady


@pytest.mark.parametrize("period", [1.0, 30.0])
def test_while_nothing_comes_there_is_at_most_a_commit_a_tick_and_a_second(tmp_path, broker, period):
    """Also at the first start, while no tick is due."""
    with lone(tmp_path, broker, period=period, time={"grace": None}) as (gateway, publisher, _):
        publisher.send(readings("new", [time.time()], value=0.0))
        gateway.await_metric("messages", 1)
        time.sleep(SETTLED)
        n_before, begun = gateway.metrics()["commits"], time.monotonic()
        time.sleep(QUIET)
        n_commits, seconds = gateway.metrics()["commits"] - n_before, time.monotonic() - begun
        gateway.stop()
    assert n_commits <= (seconds + FRESHNESS) / max(period, 1.0) + 1

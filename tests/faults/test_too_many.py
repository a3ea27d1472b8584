"""More topics, streams or messages than the gateway accepts: bounded, counted, and harmless to others."""

import pytest
from accounts import await_readings, read_readings
from flood import flood
from gateway_process import linux
from lone import lone, readings, see_that_it_works
from traffic import Sent

pytestmark = pytest.mark.mqtt

MEBIBYTE = 2**20


@linux
def test_a_hundred_thousand_new_topics(tmp_path, broker):
    n_topics, most = 100_000, 1000
    ghosts = [Sent(f"sensors/ghost-{number}/light", b'{"t":1000.0,"v":0.0,"seq":0}') for number in range(n_topics)]
    with lone(tmp_path, broker, limits={"streams": most}) as (gateway, publisher, witness):
        publisher.send(readings("later", [999.0], value=0.0))
        publisher.await_taken()
        before = gateway.resident_bytes()
        flood(broker, ghosts, qos=1)
        gateway.await_metric("messages", n_topics + 1)
        assert gateway.resident_bytes() < before + 64 * MEBIBYTE
        assert gateway.metrics()["streams_known"] == most
        publisher.send(readings("later", [1000.0, 1001.0, 1002.0, 1003.0, 1004.0], first=1))
        witness.await_decisions(["later/1"])
        gateway.stop()
    assert gateway.counters["refused"] == n_topics + 1 - most
    assert gateway.counters["dropped"] == 0


@linux
def test_a_flood_of_quality_of_service_0_drops_the_oldest(tmp_path, broker):
    n_messages, most = 60_000, 1000
    messages = readings("flood", [1000.0 + number / 1000 for number in range(n_messages)], value=0.0)
    with lone(tmp_path, broker, "sync", 0.3, limits={"queue": most}) as (gateway, publisher, witness):
        before = gateway.resident_bytes()
        flood(broker, messages, qos=0)
        await_readings(gateway, messages[-most:])
        assert gateway.resident_bytes() < before + 32 * MEBIBYTE
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    logged = read_readings(gateway)
    assert gateway.counters["dropped"] > 0
    assert gateway.counters["dropped"] + gateway.counters["messages"] == gateway.counters["received"]
    assert gateway.counters["received"] == n_messages + 5
    assert len(logged) == gateway.counters["messages"]


@linux
def test_a_flood_of_quality_of_service_1_waits_at_the_broker(tmp_path, broker):
    n_messages, most = 20_000, 500
    messages = readings("flood", [1000.0 + number / 1000 for number in range(n_messages)], value=0.0)
    sections = {"limits": {"queue": most}, "broker": {"receive_maximum": 100}}
    with lone(tmp_path, broker, "sync", 0.05, **sections) as (gateway, publisher, witness):
        before = gateway.resident_bytes()
        flood(broker, messages, qos=1)

        def is_done():
            metrics = gateway.metrics()
            assert metrics["queue"] <= most
            assert gateway.resident_bytes() < before + 32 * MEBIBYTE
            return metrics["messages"] == n_messages

        gateway.await_that(is_done, "not all messages are taken")
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    assert gateway.counters["dropped"] == gateway.counters["lost"] == gateway.counters["duplicate"] == 0
    assert read_readings(gateway)[:n_messages] == messages

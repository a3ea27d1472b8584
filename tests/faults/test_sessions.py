"""Brokers that forget or refuse, other clients, and the gateway's end: no busy loop, no uncounted loss."""

import signal
import subprocess
import time
from datetime import UTC, datetime

import pytest
import trustme
from accounts import assert_nothing_lost, assert_published, await_readings, read_readings, rows, take_account
from gateway_process import GatewayProcess
from helpers.broker import HOST, Broker, free_port
from helpers.proxy import Proxy
from lone import lone, lone_gateway, readings, see_that_it_works
from survival import begin_session, split, watched
from traffic import traffic
from wire import DISCONNECT, Wiretap
from witness import Publisher, Witness, retained

pytestmark = pytest.mark.mqtt

SHORTEST = 0.25  # seconds to the second attempt at a connection, at least; to each later one twice as many
MOST_SECONDS = 5.0  # for the gateway to end


def test_the_broker_is_killed_and_has_forgotten_what_it_took(tmp_path):
    folder = tmp_path / "broker"
    folder.mkdir()
    with (
        Broker(persistence=folder) as broker,
        Wiretap(broker.port) as network,
        lone_gateway(tmp_path / "gateway", network.url) as gateway,
        Publisher(broker) as publisher,
    ):
        gateway.start()
        gateway.await_ready()
        ticks = [1000.0 + tick for tick in range(12)]
        first, lost, last = split(readings("node", ticks, value=0.0), 3)
        publisher.send(first)
        await_readings(gateway, first)
        gateway.await_that(lambda: rows(gateway)["outbox"] == 0, "the node is not told what to send")
        network.refuse()
        network.cut()
        publisher.send(lost)
        publisher.await_taken()
        broker.kill()
        broker.start()
        network.accept()
        gateway.await_metric("reconnects", 1)
        gateway.await_ready()
        with Witness(broker) as witness:
            witness.await_heard(
                lambda heard: "streamfs/control/node" in dict(heard),
                "the broker is not told what it had forgotten",
            )
            publisher.send(last)
            see_that_it_works(gateway, publisher, witness)
        gateway.await_that(lambda: "session" in "".join(gateway.warnings()), "nothing is said of the session")
        gateway.stop()
    assert set(read_readings(gateway)).isdisjoint(lost)
    assert gateway.counters["lost"] == len(lost)
    assert gateway.counters["lost_sessions"] == 1
    assert gateway.counters["lost_connections"] == gateway.counters["reconnects"] == 1


def test_a_run_ends_before_the_broker_knows_again_what_it_had_forgotten(tmp_path):
    with Broker() as broker, lone_gateway(tmp_path, broker.url) as gateway:
        gateway.start()
        gateway.await_ready()
        with Publisher(broker) as publisher, Witness(broker) as witness:
            see_that_it_works(gateway, publisher, witness, node="node")
        gateway.await_that(lambda: rows(gateway)["outbox"] == 0, "not all is published")
        gateway.kill()
        broker.stop()
        broker.start()
        begin_session(gateway)
        gateway.start()
        gateway.await_ready()
        gateway.await_that(lambda: "streamfs/control/node" in retained(broker), "it is not published again")
        gateway.stop()


def test_a_stale_retained_message_at_the_subscription(tmp_path, broker):
    stale = readings("node", [900.0], first=5)
    with Publisher(broker) as publisher, Witness(broker) as witness, lone_gateway(tmp_path, broker.url) as gateway:
        publisher.send(stale, retain=True)
        publisher.await_taken()
        gateway.start()
        gateway.await_ready()
        see_that_it_works(gateway, publisher, witness, node="node")
        gateway.stop()
    assert gateway.counters["retained"] == 1
    assert gateway.counters["messages"] == 5
    assert gateway.counters["duplicate"] == gateway.counters["late"] == gateway.counters["restarted"] == 0
    assert set(stale).isdisjoint(read_readings(gateway))


def test_two_gateways_with_one_client_id(tmp_path, broker):
    """The broker may give the client a reason or only disconnect it: then both retry, ever more slowly."""
    with (
        Wiretap(broker.port) as network,
        lone_gateway(tmp_path / "first", network.url) as first,
        lone_gateway(tmp_path / "second", network.url) as second,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        began = time.monotonic()
        first.start()
        first.await_ready()
        second.start()
        first.await_that(
            lambda: network.n_connections == 6 or first.metrics()["taken_over"], "they do not notice each other"
        )
        assert network.n_connections < 6 or time.monotonic() - began > 6 * SHORTEST
        assert second.is_alive
        first.stop()
        second.await_ready()
        see_that_it_works(second, publisher, witness)
        second.stop()
    assert first.counters["taken_over"] + first.counters["lost_connections"] > 0


def test_two_gateways_with_one_state_folder(tmp_path, broker):
    with lone(tmp_path / "first", broker) as (first, publisher, witness):
        top = {"state": str(first.state)}
        with lone_gateway(tmp_path / "second", broker.url, top=top, broker={"client_id": "other"}) as second:
            second.start()
            second.await_end()
            assert second.returncode == 1
            assert f"in use by another gateway, process {first.pid}" in second.errors
        see_that_it_works(first, publisher, witness)
        first.stop()
    assert first.counters["lost_connections"] == 0


def test_a_wrong_password(tmp_path):
    passwords = tmp_path / "passwords"
    write_password(passwords, "right")
    with (
        Broker(f"password_file {passwords}") as broker,
        Wiretap(broker.port) as network,
        lone_gateway(tmp_path, network.url, broker={"user": "gateway", "password": "other"}) as gateway,
    ):
        began = time.monotonic()
        gateway.start()
        gateway.await_that(lambda: network.n_connections == 3, "the gateway does not try again")
        assert time.monotonic() - began > 3 * SHORTEST
        assert gateway.health() == ["not connected to the broker", "not subscribed"]
        broker.stop()
        write_password(passwords, "other")
        broker.start()
        gateway.await_ready()
        with Publisher(broker) as publisher, Witness(broker) as witness:
            see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    counters = gateway.counters
    assert counters["refused_connections"] >= 3
    assert counters["refused_connections"] + counters["failed_connections"] + 1 == network.n_connections
    assert gateway.errors.count("refuses the connection") == 1


def write_password(path, password):
    path.unlink(missing_ok=True)
    subprocess.run(["mosquitto_passwd", "-b", "-c", path, "gateway", password], check=True)  # noqa: S607


def test_a_certificate_that_has_expired(tmp_path):
    authority, port = trustme.CA(), free_port()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    issue(authority, tmp_path, not_after=datetime(2020, 1, 1, tzinfo=UTC))
    listener = f"listener {port} {HOST}\ncertfile {tmp_path}/broker.pem\nkeyfile {tmp_path}/broker.key"
    with (
        Broker(listener) as broker,
        Proxy(port) as network,
        lone_gateway(
            tmp_path, network.url.replace("mqtt", "mqtts"), broker={"ca": str(tmp_path / "ca.pem")}
        ) as gateway,
    ):
        began = time.monotonic()
        gateway.start()
        gateway.await_that(lambda: network.n_connections == 3, "the gateway does not try again")
        assert time.monotonic() - began > 3 * SHORTEST
        broker.stop()
        issue(authority, tmp_path)
        broker.start()
        gateway.await_ready()
        with Publisher(broker) as publisher, Witness(broker) as witness:
            see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    assert "certificate has expired" in gateway.errors
    assert gateway.counters["failed_connections"] + 1 == network.n_connections


def issue(authority, folder, **terms):
    certificate = authority.issue_cert(HOST, **terms)
    certificate.cert_chain_pems[0].write_to_path(folder / "broker.pem")
    certificate.private_key_pem.write_to_path(folder / "broker.key")


def test_packets_that_come_byte_by_byte(tmp_path, broker):
    messages = readings("node", [1000.0 + tick for tick in range(12)], value=0.0)
    with (
        Wiretap(broker.port) as network,
        lone_gateway(tmp_path, network.url) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        network.trickle(1)
        gateway.start()
        gateway.await_ready()
        publisher.send(messages)
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    assert network.n_pieces >= network.n_bytes_to_client > sum(len(sent.payload) for sent in messages)
    assert gateway.counters["messages"] == len(messages) + 5
    assert gateway.counters["malformed"] == gateway.counters["lost_connections"] == 0


def test_a_request_to_end_under_load_is_heeded_at_once_and_nothing_is_lost(tmp_path, broker, undisturbed):
    messages = traffic()
    with watched(tmp_path, broker, "sync", 0.05) as (network, gateway, publisher, witness):
        publisher.send(messages)
        await_readings(gateway, messages[:40])
        began = time.monotonic()
        gateway.stop()
        assert time.monotonic() - began < MOST_SECONDS
        assert network.n_from_gateway[DISCONNECT] == 1
        assert retained(broker)["streamfs/status/gateway"] == b'{"status":"offline","gateway":"gateway"}'
        logged = read_readings(gateway)
        assert set(logged) < set(messages), "the gateway was done already"
        gateway.start()
        await_readings(gateway, messages)
        gateway.stop()
        witness.await_end()
    assert gateway.counters["replayed"] == 0, "the state at the end was not kept"
    account = take_account(gateway, broker)
    assert account.counters["duplicate"] == 0, "what was kept was not acknowledged"
    assert_nothing_lost(account, undisturbed())
    assert_published(witness, undisturbed())


def test_a_request_to_end_is_heeded_when_the_broker_says_nothing_any_more(tmp_path, broker):
    with Wiretap(broker.port) as network, GatewayProcess(tmp_path, network.url) as gateway:
        gateway.start_command()
        gateway.await_ready()
        network.stall()
        gateway.signal(signal.SIGTERM)
        gateway.await_end()
        assert network.n_swallowed > 0
    assert gateway.returncode == 0

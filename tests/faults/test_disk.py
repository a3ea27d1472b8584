"""A disk that is full, slow or corrupt: nothing is lost, and the connection to the broker stays."""

import resource
import signal
import sqlite3

import pytest
from accounts import assert_nothing_lost, assert_published, await_readings, read_readings, take_account
from gateway_process import GatewayProcess, linux
from survival import split, watched
from test_models import NEW
from traffic import traffic
from wire import PINGREQ, PUBACK
from witness import Publisher, Witness

from streamfs.gateway.storage.state import journal_path, log_folder

pytestmark = pytest.mark.mqtt


@pytest.mark.parametrize("n_damaged", [1, 2], ids=["the newest", "all"])
def test_snapshots_are_damaged(tmp_path, broker, undisturbed, n_damaged):
    first, second = split(traffic(), 2)
    with (
        GatewayProcess(tmp_path, broker.url, commit={"snapshot_seconds": 0.01}) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        gateway.start()
        gateway.await_ready()
        publisher.send(first)
        await_readings(gateway, first)
        gateway.kill()
        assert damage_snapshots(gateway, n_damaged) == n_damaged
        publisher.send(second)
        gateway.start()
        await_readings(gateway, second)
        gateway.stop()
        witness.await_decisions(undisturbed().decisions)
    assert gateway.counters["torn_snapshots"] == n_damaged
    assert gateway.counters["replayed"] > 0
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def damage_snapshots(gateway, n):
    """Overwrite eight bytes of the newest snapshots; return how many were damaged."""
    damage = """
        UPDATE snapshots
        SET state = CAST(substr(state, 1, 1000) || x'5a5a5a5a5a5a5a5a' || substr(state, 1009) AS BLOB)
        WHERE number IN (SELECT number FROM snapshots ORDER BY number DESC LIMIT ?)
    """
    with sqlite3.connect(journal_path(gateway.state)) as journal:
        n_damaged = journal.execute(damage, (n,)).rowcount
    journal.close()
    return n_damaged


def test_the_end_of_the_journal_is_torn_off(tmp_path, broker, undisturbed):
    first, second = split(traffic(), 2)
    with (
        GatewayProcess(tmp_path, broker.url) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        gateway.start()
        gateway.await_ready()
        publisher.send(first)
        await_readings(gateway, first)
        gateway.kill()
        ahead = journal_path(gateway.state).with_name("journal.sqlite-wal")
        size = ahead.stat().st_size
        with ahead.open("r+b") as file:
            file.truncate(size - 10_000)
        publisher.send(second)
        gateway.start()
        await_readings(gateway, second)
        gateway.stop()
        witness.await_decisions(undisturbed().decisions)
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


@linux
def test_the_disk_is_full_for_a_while(tmp_path, broker, undisturbed):
    first, second = split(traffic(), 2)
    with watched(tmp_path, broker, broker={"keepalive": 4}) as (network, gateway, publisher, witness):
        publisher.send(first)
        await_readings(gateway, first)
        gateway.await_that(lambda: network.n_from_gateway[PUBACK] == len(first), "not all is acknowledged")
        fill_disk(gateway)
        publisher.send(second)
        gateway.await_that(lambda: "nothing can be stored" in gateway.health(), "the disk is not full")
        n_pings = network.n_from_gateway[PINGREQ]
        gateway.await_that(lambda: network.n_from_gateway[PINGREQ] > n_pings + 1, "the broker hears nothing")
        assert network.n_from_gateway[PUBACK] < len(first) + len(second) // 2
        assert gateway.health() == ["nothing can be stored"]
        limit_files(gateway, resource.RLIM_INFINITY)
        await_readings(gateway, second)
        witness.await_decisions(undisturbed().decisions)
        gateway.stop()
    assert gateway.counters["commit_failures"] > 0
    assert gateway.counters["lost_connections"] == gateway.counters["duplicate"] == 0
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


@linux
def test_the_broker_forgets_the_session_while_the_disk_is_full(tmp_path, broker):
    """What crossed the wire is logged, once: all that is missing is what the broker has lost, and this is said."""
    first, second, third = split(traffic(), 3)
    with watched(tmp_path, broker) as (network, gateway, publisher, _):
        send_until_full(gateway, publisher, first, second)
        publisher.await_taken()
        NEW.save(gateway.model)
        gateway.signal(signal.SIGHUP)
        broker.kill()
        broker.start()
        gateway.await_metric("lost_sessions", 1)
        limit_files(gateway, resource.RLIM_INFINITY)
        gateway.await_ready()
        publisher.send(third)
        await_readings(gateway, third)
        assert any("had forgotten the gateway's session" in warning for warning in gateway.warnings())
        gateway.stop()
    logged = read_readings(gateway)
    assert sorted(logged) == sorted(network.delivered)
    assert len(first) + len(third) <= len(set(logged)) < len(first) + len(second) + len(third)
    assert "had forgotten the gateway's session" in gateway.errors
    assert gateway.counters["reloads"] == 1


@linux
def test_the_gateway_is_stopped_while_the_disk_is_full(tmp_path, broker, undisturbed):
    first, second = split(traffic(), 2)
    with watched(tmp_path, broker) as (_, gateway, publisher, witness):
        send_until_full(gateway, publisher, first, second)
        gateway.stop()
        assert gateway.counters["commit_failures"] > 0
        assert set(first) <= set(read_readings(gateway)) < set(first + second)
        gateway.start()
        await_readings(gateway, second)
        gateway.stop()
        witness.await_end()
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def fill_disk(gateway):
    """Let log and journal grow very little further."""
    (segment,) = log_folder(gateway.state).glob("*.log")
    limit_files(gateway, segment.stat().st_size + 1000)


def send_until_full(gateway, publisher, first, second):
    """Send messages that are stored, and others that cannot be, since the disk is full."""
    publisher.send(first)
    await_readings(gateway, first)
    fill_disk(gateway)
    publisher.send(second)
    gateway.await_that(lambda: "nothing can be stored" in gateway.health(), "the disk is not full")


def limit_files(gateway, n_bytes):
    """Limit the size of all files of the gateway: a full disk, for one process."""
    resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))


def test_a_disk_that_takes_longer_than_the_broker_waits_does_not_cost_the_connection(
    tmp_path, broker, undisturbed
):
    messages, keepalive, seconds = traffic(), 2, 3.2
    sections = {"broker": {"keepalive": keepalive, "receive_maximum": 1000}, "limits": {"queue": 1000}}
    assert seconds > 1.5 * keepalive
    with watched(tmp_path, broker, "sync", seconds, **sections) as (_, gateway, publisher, witness):
        publisher.send(messages)
        await_readings(gateway, messages)
        witness.await_decisions(undisturbed().decisions)
        gateway.await_metric("fsync_seconds", 2 * seconds)
        gateway.stop()
    assert gateway.counters["lost_connections"] == gateway.counters["duplicate"] == 0
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def test_a_disk_that_takes_a_fifth_of_a_second(tmp_path, broker, undisturbed):
    messages, seconds = traffic(), 0.2
    sections = {"limits": {"queue": 100}, "commit": {"messages": 100}}
    with watched(tmp_path, broker, "sync", seconds, **sections) as (_, gateway, publisher, witness):
        publisher.send(messages)
        await_readings(gateway, messages)
        witness.await_decisions(undisturbed().decisions)
        gateway.await_metric("fsync_seconds", 4 * seconds)
        gateway.stop()
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())

"""A gateway serves only what no other live one serves: by the statuses at a real broker."""

import time
from contextlib import contextmanager

import pytest
from helpers.broker import Broker, find_mosquitto

from streamfs.errors import ServedError
from streamfs.gateway.lease import Lease
from streamfs.gateway.statuses import OFFLINE, Status, read_statuses
from streamfs.gateway.transport.transport import Transport

pytestmark = pytest.mark.mqtt

PATIENCE = 10.0


@pytest.fixture(scope="module")
def broker():
    if find_mosquitto() is None:
        pytest.skip("mosquitto not found: install it to run the MQTT tests")
    with Broker() as running:
        yield running


class Gateway:
    """What a gateway does about its lease, without streams."""

    def __init__(self, url, name, run, *, client=None, previous="", **values):
        self.own = Status(name, run=run, **values)
        self.lease = Lease(self.own, "streamfs", Transport(url, f"watch-{run}", qos=0), previous)
        self.transport = Transport(
            url, client or name, session_expiry=100, will=self.own.ended(is_orderly=False).publication("streamfs")
        )
        self.transport.permits = self.lease.permits

    def turn(self):
        self.transport.poll(0.01)
        self.lease.keep(self.transport)

    def serve(self):
        self.until(lambda: (s := self.lease.statuses.get(f"streamfs/status/{self.own.gateway}")) and s == self.own)
        assert self.transport.drain(PATIENCE)

    def until(self, is_so):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline
            self.turn()

    def die(self):
        """End as a process that is killed: its sockets are closed, and nothing is said."""
        for transport in (self.transport, self.lease._watch):
            transport._close_connection()
            transport.close()

    def end(self):
        self.transport.close(1.0, self.own.ended(is_orderly=True).publication("streamfs"))
        self.lease.close()


@contextmanager
def serving(*args, **values):
    gateway = Gateway(*args, **values)
    try:
        gateway.serve()
        yield gateway
    finally:
        gateway.die()


def await_status(broker, name, word):
    deadline = time.monotonic() + PATIENCE
    while word not in [status.status for status in statuses(broker) if status.gateway == name]:
        assert time.monotonic() < deadline


def statuses(broker):
    transport = Transport(broker.url, qos=0)
    try:
        return read_statuses(transport, "streamfs", PATIENCE)
    finally:
        transport.close(0.1)


def refused(gateway):
    with pytest.raises(ServedError) as error:
        gateway.until(lambda: False)
    n_connections = gateway.transport.counters["connections"]
    gateway.die()
    return str(error.value), n_connections


def test_a_shard_that_a_live_gateway_serves_is_refused_before_a_connection(broker):
    with serving(broker.url, "a1", "r1", shard="1/2"):
        found = refused(Gateway(broker.url, "a2", "r2", shard="1/2"))
        assert found == ("shard 1/2 is served by a1, which is online", 0)
        with serving(broker.url, "a3", "r3", shard="2/2"):
            pass
    await_status(broker, "a1", OFFLINE)
    with serving(broker.url, "a2", "r2", shard="1/2"):
        pass


def test_the_same_name_is_served_once_but_goes_on_after_its_own_death(broker):
    with serving(broker.url, "b1", "r1", shard="3/5") as first:
        text, n_connections = refused(Gateway(broker.url, "b1", "r2", client="other", shard="3/5"))
        assert text == "another gateway b1 is online, run r1"
        assert not n_connections
        with serving(broker.url, "b1", "r3", previous="r1", shard="3/5"):
            with pytest.raises(ServedError, match="another"):
                first.until(lambda: False)
            assert "b1" in [status.gateway for status in statuses(broker) if status.run == "r3"]


def test_of_two_that_begin_at_once_the_later_one_yields(broker):
    first = Gateway(broker.url, "c1", "r1", shard="1/3", since=1.0)
    later = Gateway(broker.url, "c2", "r2", shard="1/3", since=2.0)
    for gateway in (first, later):  # both know that nobody serves before either does
        gateway.lease._since = -1.0
        while not gateway.lease.permits():
            time.sleep(0.01)
    later.serve()
    first.serve()
    with pytest.raises(ServedError, match="is served by c1"):
        later.until(lambda: False)
    first.turn()
    first.die()
    later.end()


def test_a_gateway_that_was_taken_over_does_not_serve_again(broker):
    with serving(broker.url, "d1", "r2", shard="1/4", epoch=1):
        pass
    await_status(broker, "d1", OFFLINE)
    text, n_connections = refused(Gateway(broker.url, "d1", "r3", previous="r1", shard="1/4"))
    assert "a standby has taken over d1 since (epoch 1, and that of the state is 0)" in text
    assert not n_connections


def test_a_gateway_returns_after_a_lost_connection_and_says_so(broker):
    with serving(broker.url, "e1", "r1", shard="1/6") as gateway:
        gateway.transport._close_connection()
        await_status(broker, "e1", OFFLINE)
        gateway.until(lambda: gateway.lease._is_up and gateway.transport.counters["connections"] == 2)
        assert gateway.transport.drain(PATIENCE)
        assert [status.status for status in statuses(broker) if status.gateway == "e1"] == ["online"]


def test_whoever_came_meanwhile_keeps_the_shard(broker):
    with serving(broker.url, "f1", "r1", shard="1/7", since=1.0) as gateway:
        gateway.transport._close_connection()
        await_status(broker, "f1", OFFLINE)
        other = serving(broker.url, "f2", "r2", shard="1/7", since=2.0)
        with other, pytest.raises(ServedError, match="is served by f2"):
            gateway.until(lambda: False)

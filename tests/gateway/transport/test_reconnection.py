"""A broker that comes and goes, and a network that fails."""

import time

import pytest
from helpers.broker import Broker
from helpers.proxy import Proxy
from helpers.transports import (
    ACCEPTS,
    PATIENCE,
    QUICK,
    Actor,
    connected,
    ending,
    hear_out,
    numbers,
    receive,
    send,
    until,
)

from streamfs.errors import TransportError
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.connection import LostError
from streamfs.gateway.transport.transport import Transport

mqtt = pytest.mark.mqtt


@mqtt
def test_a_broker_that_comes_later_is_found(broker):
    broker.stop()
    with ending(Transport(broker.url, birth=Publication("status", b"1"), **QUICK)) as transport:
        transport.subscribe(["status"])
        until(transport, lambda _: transport.counters["failed_connections"] >= 2)
        broker.start()
        assert numbers(receive(transport, 1)) == [1]
        assert transport.is_subscribed
        assert (transport.counters["connections"], transport.counters["reconnects"]) == (1, 0)


@mqtt
@pytest.mark.usefixtures("broker")
def test_a_broker_that_takes_only_small_packets_is_named():
    """It cuts the connection, as one that expects TLS does."""
    with (
        Broker("max_packet_size 20") as small,
        ending(Transport(small.url, "gateway", **QUICK)) as transport,
        pytest.raises(TransportError, match=r"TLS at this port.*; or raise the broker's max_packet_size"),
    ):
        transport.connect(PATIENCE)


@mqtt
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_after_a_restart_of_the_broker_all_is_as_before(broker, caplog, how):
    with connected(broker.url, "gateway", ["sensors/#"], session_expiry=60, **QUICK) as transport:
        assert transport.session_lost
        getattr(broker, how)()
        until(transport, lambda _: transport.counters["failed_connections"] >= 2)
        assert not transport.is_connected
        assert not transport.is_subscribed
        assert not transport.publish(Publication("t", b""))
        broker.start()
        until(transport, lambda _: transport.is_subscribed)
        assert transport.session_lost  # this broker keeps nothing
        send(broker, [b"1"])
        assert numbers(receive(transport, 1)) == [1]
        assert (transport.counters["connections"], transport.counters["reconnects"]) == (2, 1)
        assert transport.counters["lost_connections"] == 1
    texts = [record.getMessage() for record in caplog.records if "cannot be reached" in record.getMessage()]
    assert len(texts) == 1


@mqtt
def test_after_a_cut_the_broker_sends_again_what_was_not_acknowledged(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url, "gateway", ["sensors/#"], session_expiry=60) as gateway:
        send(broker, [b"%d" % number for number in range(10)])
        receive(gateway, 10)
        gateway.acknowledge(2)
        hear_out(gateway)
        send(broker, [b"10"])
        receive(gateway, 1)
        assert gateway.session_lost
        proxy.cut()
        assert proxy.n_cut == 1
        until(gateway, lambda _: gateway.counters["reconnects"] == 1, room=0)
        gateway.acknowledge(9)  # in vain: that connection is gone
        assert numbers(receive(gateway, 9)) == list(range(2, 11))
        hear_out(gateway)
        proxy.cut()
        assert numbers(receive(gateway, 9)) == list(range(2, 11))
        assert not gateway.session_lost
        assert gateway.counters["lost_connections"] == 2


@mqtt
def test_what_is_not_confirmed_is_forgotten_with_the_connection(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as gateway:
        proxy.stall()
        gateway.publish(Publication("t", b"1"), "token")
        gateway.poll(0.0)
        proxy.cut()
        assert not gateway.drain(PATIENCE)
        assert gateway.n_in_flight == 0
        proxy.resume()
        until(gateway, lambda _: gateway.is_connected)
        assert gateway.confirmed() == []
        assert gateway.publish(Publication("t", b"1"), "token")
        assert gateway.drain(PATIENCE)
        assert gateway.confirmed() == ["token"]


@mqtt
@pytest.mark.usefixtures("broker")
def test_no_more_is_under_way_than_the_broker_allows():
    with Broker("max_inflight_messages 7") as slow, Proxy(slow.port) as proxy, connected(proxy.url) as gateway:
        proxy.stall()
        taken = [gateway.publish(Publication("t", b"%d" % number)) for number in range(10)]
        assert taken == [True] * 7 + [False] * 3
        assert gateway.n_in_flight == 7


@mqtt
def test_no_more_bytes_wait_than_fit(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as gateway:
        proxy.stall()
        taken = [gateway.publish(Publication("t", bytes(1 << 18)), qos=0) for _ in range(6)]
        assert taken == [True] * 4 + [False] * 2


@mqtt
def test_a_connection_that_is_half_open_is_given_up(broker, caplog):
    with Proxy(broker.port) as proxy, connected(proxy.url, topics=["sensors/#"], keepalive=1) as gateway:
        started = time.monotonic()
        proxy.stall()
        until(gateway, lambda _: gateway.counters["lost_connections"] == 1)
        assert time.monotonic() - started >= 1.0
        assert proxy.n_swallowed > 0
        proxy.resume()
        until(gateway, lambda _: gateway.is_subscribed)
        send(broker, [b"1"])
        assert numbers(receive(gateway, 1)) == [1]
    assert "is silent for 1.5 s" in caplog.text


@mqtt
def test_a_connection_that_missed_something_is_lost_as_the_network_is_back(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as gateway, connected(proxy.url) as quiet:
        proxy.stall()
        gateway.publish(Publication("t", b"1"))
        until(gateway, lambda _: proxy.n_swallowed > 0)
        proxy.resume()
        assert proxy.n_cut == 1
        until(gateway, lambda _: gateway.counters["lost_connections"] == 1)
        assert quiet.publish(Publication("t", b"1"))
        assert quiet.drain(PATIENCE)


@mqtt
def test_a_quiet_connection_is_kept(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url, keepalive=2) as gateway:
        n_bytes = proxy.n_bytes_to_client
        until(gateway, lambda _: proxy.n_bytes_to_client >= n_bytes + 4)  # two answers to probes
        assert gateway.counters["lost_connections"] == 0


@mqtt
def test_a_network_that_is_slow_is_no_obstacle(broker):
    with Proxy(broker.port) as proxy:
        proxy.delay(0.25)
        started = time.monotonic()
        with connected(proxy.url, topics=["sensors/#"], keepalive=4) as gateway:
            assert time.monotonic() - started >= 1.0  # there and back, twice
            send(broker, [b"%d" % number for number in range(100)])
            assert numbers(receive(gateway, 100)) == list(range(100))
            gateway.acknowledge(100)
            assert gateway.publish(Publication("t", b""))
            assert gateway.drain(PATIENCE)
            assert gateway.counters["lost_connections"] == 0


@mqtt
def test_packets_that_come_byte_by_byte_are_whole(broker):
    with Proxy(broker.port) as proxy:
        proxy.trickle(1)
        with connected(proxy.url, topics=["sensors/#"]) as gateway:
            send(broker, [b"%d" % number for number in range(20)])
            assert numbers(receive(gateway, 20)) == list(range(20))
            gateway.acknowledge(20)
            assert gateway.publish(Publication("t", bytes(100)), 1)
            assert gateway.drain(PATIENCE)
            assert gateway.counters["lost_connections"] == 0
        assert proxy.n_pieces == proxy.n_bytes_to_client + proxy.n_bytes_to_broker > 500


@mqtt
def test_a_network_that_refuses_is_tried_until_it_accepts(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as gateway:
        proxy.refuse()
        assert gateway.publish(Publication("t", b"1"))  # those that stand are left alone
        assert gateway.drain(PATIENCE)
        proxy.cut()
        until(gateway, lambda _: gateway.counters["failed_connections"] >= 3)
        proxy.accept()
        until(gateway, lambda _: gateway.is_connected)
        assert proxy.n_connections == 2


@mqtt
def test_the_will_is_published_when_the_connection_is_lost_and_the_birth_when_it_is_back(broker):
    status = {"will": Publication("status", b"0"), "birth": Publication("status", b"1")}
    with Proxy(broker.port) as proxy, connected(broker.url, topics=["status"]) as watcher:
        with connected(proxy.url, "gateway", session_expiry=60, **status) as gateway:
            assert numbers(receive(watcher, 1)) == [1]
            proxy.cut()
            until(gateway, lambda _: gateway.counters["reconnects"] == 1 and gateway.n_in_flight == 0)
            assert numbers(receive(watcher, 2)) == [0, 1]
        with connected(broker.url, topics=["status"]) as late:
            assert receive(late, 1)[0][1:3] == (b"1", True)


def test_a_connection_that_was_taken_over_is_not_taken_back_at_once(caplog):
    backoff = {"backoff": (0.01, 600.0), "seed": 1}
    answer = ACCEPTS + b"\xe0\x02\x8e\x00"
    with Actor(answer) as actor, ending(Transport(actor.url, "gateway", **backoff)) as transport:
        until(transport, lambda _: transport.counters["taken_over"] == 1)
        assert transport._retry_at - time.monotonic() > 200.0
        assert transport.counters["lost_connections"] == 0
    assert "hears another client with our id 'gateway'" in caplog.text


def test_the_brokers_last_words_are_read_though_nothing_can_be_sent_any_more():
    with Actor(ACCEPTS, b"\xe0\x02\x8e\x00", closes=True) as actor, ending(Transport(actor.url)) as transport:
        transport.connect(PATIENCE)
        with pytest.raises(LostError, match="another client with our id"):
            probe_without_listening(transport._connection)


def probe_without_listening(connection):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        connection.queue(b"\xc0\x00")
        connection.write()


@mqtt
def test_two_with_one_client_id_give_each_other_ever_more_time(broker, caplog):
    started = time.monotonic()
    backoff = {"backoff": (0.05, 0.4), "seed": 1}
    with (
        connected(broker.url, "gateway", **backoff) as first,
        connected(broker.url, "gateway", **backoff) as second,
    ):
        until(first, lambda _: second.poll(0.0) or first.counters["connections"] == 4)
    assert time.monotonic() - started >= (0.05 + 0.1 + 0.2) / 2
    assert "or another client has our id 'gateway'" in caplog.text

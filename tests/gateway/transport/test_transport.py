"""The connection to a broker: a real one, a network that fails, and a broker that refuses."""

import hashlib
import logging
import os
import signal
import threading
import time
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from helpers.broker import Broker, free_port
from helpers.proxy import Proxy
from helpers.transports import (
    ACCEPTS,
    PATIENCE,
    QUICK,
    Actor,
    connected,
    count_open_files,
    ending,
    hear_out,
    listen,
    nothing_left_open,
    numbers,
    receive,
    send,
    until,
)
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from streamfs.errors import TransportError
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.broker_address import resolve
from streamfs.gateway.transport.connection import LostError
from streamfs.gateway.transport.transport import Transport


@pytest.fixture
def broker(broker):  # noqa: ARG001 - the session's broker skips where there is no mosquitto
    """Run a broker of the test's own: nothing is retained there from other tests."""
    with Broker() as own:
        yield own


# With a real one


mqtt = pytest.mark.mqtt


@mqtt
def test_what_is_published_is_received_in_order(broker):
    with connected(broker.url, topics=["sensors/+/light", "sensors/+/door@flag:0.5"]) as receiver:
        before = time.time()
        send(broker, [b"%d" % number for number in range(300)])
        messages = receive(receiver, 300)
        assert numbers(messages) == list(range(300))
        assert {message.topic for message in messages} == {"sensors/n1/light"}
        assert not any(message.retained or message.content_type for message in messages)
        assert all(before <= message.arrival <= time.time() for message in messages)
        assert receiver.counters["received"] == 300


@mqtt
def test_nothing_comes_where_nothing_is_sent(broker):
    with connected(broker.url, topics=["sensors/+/light"]) as receiver:
        assert receiver.poll(0.01) == []


@mqtt
@pytest.mark.parametrize("n_bytes", [0, 1, 106, 107, 20_000, 30_000_000])
def test_a_payload_of_any_size_comes_whole(broker, n_bytes):
    payload = bytes(range(256)) * (n_bytes // 256) + bytes(n_bytes % 256)
    with Proxy(broker.port) as proxy, connected(proxy.url, topics=["sensors/#"]) as receiver:
        send(broker, [payload])
        assert receive(receiver, 1)[0].payload == payload


@mqtt
def test_a_retained_message_is_marked(broker):
    send(broker, [b"1"], retain=True)
    with connected(broker.url, topics=["sensors/#"]) as receiver:
        assert receive(receiver, 1)[0].retained


@mqtt
def test_a_publication_expires_at_the_broker(broker):
    with connected(broker.url) as sender:
        sender.publish(Publication("sensors/short", b"1", expiry=1))
        sender.publish(Publication("sensors/long", b"2", expiry=60))
        sender.publish(Publication("sensors/ever", b"3"))
        assert sender.drain(PATIENCE)
    time.sleep(2.1)
    with connected(broker.url, topics=["sensors/#"]) as receiver:
        assert {message.topic for message in receive(receiver, 2)} == {"sensors/long", "sensors/ever"}
        assert receiver.poll(0.1) == []


@mqtt
def test_a_content_type_comes_along(broker):
    properties = Properties(PacketTypes.PUBLISH)
    properties.ContentType = "application/cbor"
    properties.UserProperty = [("a", "\u00b0C"), ("b", "")]
    sender = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    with connected(broker.url, topics=["sensors/#"]) as receiver:
        sender.connect(broker.host, broker.port)
        sender.loop_start()
        sender.publish("sensors/n1", b"x", 1, properties=properties).wait_for_publish(PATIENCE)
        sender.disconnect()
        sender.loop_stop()
        assert receive(receiver, 1)[0].content_type == "application/cbor"


@mqtt
def test_the_room_is_heeded(broker):
    with connected(broker.url, topics=["sensors/#"]) as receiver:
        send(broker, [b"%d" % number for number in range(10)])
        until(receiver, lambda _: receiver.counters["received"] == 10, room=0)
        assert numbers(receiver.poll(0.0, 3)) == [0, 1, 2]
        assert numbers(receiver.poll(PATIENCE, 4)) == [3, 4, 5, 6]
        assert numbers(receiver.poll(PATIENCE)) == [7, 8, 9]


@mqtt
def test_what_is_not_acknowledged_comes_again_and_what_is_does_not(broker):
    with connected(broker.url, "gateway", ["sensors/#"], session_expiry=60) as receiver:
        assert receiver.session_lost
        assert not receiver.session_lost
        send(broker, [b"%d" % number for number in range(10)])
        receive(receiver, 10)
        receiver.acknowledge(3)
        receiver.acknowledge(1)
    with connected(broker.url, "gateway", session_expiry=60) as receiver:
        assert numbers(receive(receiver, 6)) == [4, 5, 6, 7, 8, 9]
        assert not receiver.session_lost
        receiver.acknowledge(6)
    with connected(broker.url, "gateway", session_expiry=60) as receiver:
        send(broker, [b"10"])
        assert numbers(receive(receiver, 1)) == [10]


@mqtt
def test_no_more_arrive_unacknowledged_than_receive_maximum(broker):
    with connected(broker.url, topics=["sensors/#"], receive_maximum=30) as receiver:
        send(broker, [b"%d" % number for number in range(100)])
        send(broker, [b"-1"], qos=0)  # these are not held back
        messages = until(receiver, lambda messages: b"-1" in {message.payload for message in messages})
        assert numbers(messages) == [*range(30), -1]
        receiver.acknowledge(31)
        assert numbers(receive(receiver, 30))[:30] == list(range(30, 60))  # more at once from some old brokers


@mqtt
def test_messages_beyond_the_queue_are_dropped_oldest_first(broker):
    with connected(broker.url, topics=["sensors/#"], max_queue=10) as receiver:
        send(broker, [b"%d" % number for number in range(25)], qos=0)
        until(receiver, lambda _: receiver.counters["received"] == 25, room=0)
        assert numbers(receiver.poll(0.0)) == list(range(15, 25))
        assert receiver.counters["dropped"] == 15


@mqtt
def test_messages_that_must_not_be_dropped_are_left_in_the_network(broker):
    few = {"max_queue": 10, "receive_maximum": 10, "keepalive": 1}
    with Proxy(broker.port) as proxy, connected(proxy.url, topics=["sensors/#"], **few) as gateway:
        send(broker, [bytes(20_000)] * 100)
        n_received = len(receive(gateway, 10))
        gateway.acknowledge(10)  # some old brokers send all that they have now, whatever they were told
        until(gateway, lambda _: gateway._inbox.is_full, room=0)
        n_bytes = proxy.n_bytes_to_broker
        until(gateway, lambda _: proxy.n_bytes_to_broker >= n_bytes + 6, room=0)  # three probes
        assert len(gateway._inbox) < 20
        while n_received < 100:
            n_new = len(receive(gateway, 1))
            gateway.acknowledge(n_new)
            n_received += n_new
        assert gateway.counters["lost_connections"] == gateway.counters["dropped"] == 0


@mqtt
def test_the_broker_keeps_messages_that_are_too_large_to_itself(broker):
    with connected(broker.url, topics=["sensors/#"], max_packet_bytes=200) as receiver:
        send(broker, [b"1", bytes(300), b"2"])
        assert numbers(receive(receiver, 2)) == [1, 2]
        assert receiver.counters["lost_connections"] == 0


@mqtt
@pytest.mark.parametrize("qos", [0, 1])
def test_tokens_are_confirmed_once(broker, qos):
    with connected(broker.url) as sender, connected(broker.url, topics=["t"]) as receiver:
        for token in range(5):
            assert sender.publish(Publication("t", b"%d" % token, retain=False), token, qos)
        assert sender.publish(Publication("t", b"5"))
        assert sender.n_in_flight == (6 if qos else 1)
        assert sender.drain(PATIENCE)
        assert sender.confirmed() == [0, 1, 2, 3, 4]
        assert sender.confirmed() == []
        assert numbers(receive(receiver, 6)) == [0, 1, 2, 3, 4, 5]


@mqtt
def test_nothing_is_published_without_a_connection(broker):
    with ending(Transport(broker.url)) as sender:
        assert not sender.publish(Publication("t", b"1"), "token")
        assert sender.drain(0.0)
        assert sender.confirmed() == []


@mqtt
@pytest.mark.usefixtures("broker")
def test_what_the_broker_could_never_take_is_refused_and_confirmed(caplog):
    with Broker("max_packet_size 1000") as strict, connected(strict.url) as sender:
        assert sender.publish(Publication("t", bytes(2000)), "large")
        assert sender.publish(Publication("t/+", b""), "no topic")
        assert sender.publish(Publication("", b""), "empty")
        assert sender.publish(Publication("t", bytes(900)), "small")
        assert sender.drain(PATIENCE)
        assert sender.confirmed() == ["large", "no topic", "empty", "small"]
        assert sender.counters["refused_publications"] == 3
        assert sender.counters["lost_connections"] == 0
    assert "refuses a publication to t: 2022 bytes, it takes 1000" in caplog.text


@mqtt
@pytest.mark.usefixtures("broker")
def test_what_the_broker_forbids_to_publish_is_counted_and_not_confirmed(tmp_path, caplog):
    (tmp_path / "acl").write_text("topic write allowed\n")
    with Broker(f"acl_file {tmp_path / 'acl'}") as strict, connected(strict.url) as sender:
        sender.publish(Publication("allowed", b"1"), 1)
        sender.publish(Publication("forbidden", b"2"), 2)
        until(sender, lambda _: sender.counters["refused_publications"] == 1)
        assert sender.confirmed() == [1]
        assert sender.refused() == [(2, "Not authorized")]
        assert sender.refused() == []
    assert "refuses a publication to forbidden: Not authorized" in caplog.text


@mqtt
def test_a_goodbye_takes_the_place_of_the_will(broker):
    with connected(broker.url, topics=["status"]) as watcher:
        gateway = listen(broker.url, will=Publication("status", b"0"), birth=Publication("status", b"1"))
        assert numbers(receive(watcher, 1)) == [1]
        gateway.close(goodbye=Publication("status", b"2"))
        assert numbers(receive(watcher, 1)) == [2]
        send(broker, [b"3"], "status")
        assert numbers(receive(watcher, 1)) == [3]  # and no will


@mqtt
def test_a_close_in_the_middle_of_a_flood_is_clean(broker):
    with Proxy(broker.port) as proxy, connected(broker.url, topics=["status"]) as watcher:
        gateway = listen(proxy.url, will=Publication("status", b"0", retain=False))
        proxy.delay(0.1)
        send(broker, [bytes(1000)] * 3000, qos=0)
        gateway.close(PATIENCE)
        send(broker, [b"1"], "status")
        assert numbers(receive(watcher, 1)) == [1]


@mqtt
def test_a_close_with_a_full_inbox_is_clean(broker):
    full = {"max_queue": 10, "receive_maximum": 10, "will": Publication("status", b"0")}
    with connected(broker.url, topics=["status"]) as watcher:
        gateway = listen(broker.url, **full)
        send(broker, [bytes(1000)] * 100)
        until(gateway, lambda _: gateway._inbox.is_full, room=0)
        send(broker, [b"late"], qos=0)
        started = time.monotonic()
        gateway.close(PATIENCE, Publication("status", b"1"))
        assert time.monotonic() - started < PATIENCE
        assert gateway.counters["received"] == 10
        assert numbers(receive(watcher, 1)) == [1]


@mqtt
def test_a_closed_connection_leaves_nothing_open(broker):
    with nothing_left_open() as n_open, connected(broker.url, topics=["sensors/#"]):
        assert count_open_files() > n_open


@mqtt
def test_another_thread_can_wake_it(broker):
    with connected(broker.url, keepalive=600) as transport:
        started = time.monotonic()
        thread = threading.Timer(0.05, transport.wake)
        thread.start()
        assert transport.poll(PATIENCE) == []
        thread.join()
        assert time.monotonic() - started < PATIENCE


@mqtt
def test_a_signal_handler_can_wake_it(broker):
    with connected(broker.url, keepalive=600) as transport:
        previous = signal.signal(signal.SIGUSR1, lambda *_: transport.wake())
        try:
            started = time.monotonic()
            thread = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
            thread.start()
            assert transport.poll(PATIENCE) == []
            thread.join()
            assert time.monotonic() - started < PATIENCE
        finally:
            signal.signal(signal.SIGUSR1, previous)


def test_any_number_of_wakes_is_no_more_than_one():
    with ending(Transport(f"mqtt://127.0.0.1:{free_port()}", backoff=(600.0, 600.0))) as transport:
        transport.poll(0.0)
        for _ in range(10_000):
            transport.wake()
        started = time.monotonic()
        transport.poll(PATIENCE)
        assert time.monotonic() - started < PATIENCE
        transport.poll(0.1)
        assert time.monotonic() - started >= 0.1


def test_an_exception_within_is_not_lost(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(Transport, "_on_connack", fail)
    with (
        Actor(ACCEPTS) as actor,
        ending(Transport(actor.url)) as transport,
        pytest.raises(RuntimeError, match="a bug"),
    ):
        until(transport, lambda _: False)


# With a broker that comes and goes, and a network that fails


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


# With one that refuses


@pytest.fixture
def locked(broker, tmp_path):  # noqa: ARG001
    """Run a broker that knows one user."""
    path = tmp_path / "passwords"
    hashed = hashlib.pbkdf2_hmac("sha512", b"s3cret", b"grainsofsalt", 101)
    path.write_text(f"me:$7$101${b64encode(b'grainsofsalt').decode()}${b64encode(hashed).decode()}\n")
    with Broker(f"allow_anonymous false\npassword_file {path}") as own:
        yield own


@mqtt
def test_the_right_password_opens(locked):
    address = resolve(locked.url, "me", "s3cret")
    with ending(Transport(address)) as transport:
        transport.connect(PATIENCE)
        assert transport.is_connected


@mqtt
def test_a_wrong_password_is_an_error_at_first(locked):
    with ending(Transport(resolve(locked.url, "me", "wr0ng"))) as transport:
        with pytest.raises(TransportError, match="refuses the connection: Not authorized"):
            transport.connect(PATIENCE)
        assert transport.counters["refused_connections"] == 1


def test_the_version_to_try_at_a_broker_that_refuses_ours_is_named():
    for refusal in (b"\x20\x03\x00\x84\x00", b"\x20\x02\x00\x01"):  # of MQTT 5, and of a broker that knows 3 alone
        with (
            Actor(refusal) as actor,
            ending(Transport(resolve(actor.url))) as transport,
            pytest.raises(TransportError, match=r'Unsupported protocol version; try protocol = "3\.1\.1"'),
        ):
            transport.connect(PATIENCE)


@mqtt
def test_a_wrong_password_is_logged_once_and_tried_ever_more_rarely(locked, caplog):
    started = time.monotonic()
    with ending(Transport(resolve(locked.url, "me", "wr0ng"), **QUICK)) as transport:
        until(transport, lambda _: transport.counters["refused_connections"] == 5)
    assert time.monotonic() - started >= (0.02 + 0.04 + 0.08 + 0.1) / 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "refuses the connection: Not authorized" in caplog.text
    assert "wr0ng" not in caplog.text


@mqtt
@pytest.mark.usefixtures("broker")
def test_tls_with_certificates_on_both_sides(authority):
    theirs, ours = authority.issue("127.0.0.1"), authority.issue("gateway.example")
    with Broker(f"{authority.settings(*theirs)}\nrequire_certificate true") as secret:
        url = f"mqtts://127.0.0.1:{secret.port}"
        with connected(resolve(url, ca=authority.ca, certificate=ours[0], key=ours[1]), topics=["t"]) as transport:
            payload = os.urandom(200_000)
            for _ in range(20):
                while not transport.publish(Publication("t", payload, retain=False)):
                    transport.poll(0.05, room=0)
            messages = receive(transport, 20)
            assert {message.payload for message in messages} == {payload}
            transport.acknowledge(20)
        with ending(Transport(resolve(url, ca=authority.ca), **QUICK)) as stranger:
            with pytest.raises(TransportError, match=f"127.0.0.1:{secret.port} has closed the connection.*alert"):
                stranger.connect(PATIENCE)
            until(stranger, lambda _: stranger.counters["failed_connections"] == 3)


@mqtt
@pytest.mark.usefixtures("broker")
def test_tls_byte_by_byte(authority):
    with Broker(authority.settings(*authority.issue("127.0.0.1"))) as secret, Proxy(secret.port) as proxy:
        proxy.trickle(1)
        address = resolve(f"mqtts://127.0.0.1:{proxy.port}", ca=authority.ca)
        with connected(address, topics=["t"], connect_timeout=PATIENCE) as transport:
            transport.publish(Publication("t", b"1"))
            assert numbers(receive(transport, 1)) == [1]


EXPIRED = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2020, 1, 2, tzinfo=UTC)}


@mqtt
@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize(
    ("name", "times", "reason"),
    [("127.0.0.1", EXPIRED, "certificate has expired"), ("127.0.0.2", {}, "IP address mismatch")],
)
def test_a_certificate_that_is_wrong_is_logged_once(authority, caplog, name, times, reason):
    with Broker(authority.settings(*authority.issue(name, **times))) as wrong:
        address = resolve(f"mqtts://127.0.0.1:{wrong.port}", ca=authority.ca)
        with ending(Transport(address, **QUICK)) as transport:
            until(transport, lambda _: transport.counters["failed_connections"] == 3)
    assert len(caplog.records) == 1
    assert reason in caplog.text


@mqtt
@pytest.mark.usefixtures("broker")
def test_a_certificate_can_be_renewed_under_a_running_gateway(authority, tmp_path):
    """Nothing is asserted: `until` raises if the transport does not come back, and pytest on every warning."""
    certificate, key = authority.issue("127.0.0.1")
    with Broker(authority.settings(certificate, key)) as secret, Proxy(secret.port) as proxy:
        address = resolve(f"mqtts://127.0.0.1:{proxy.port}", ca=authority.ca)
        with connected(address) as transport:
            held = authority.ca.rename(tmp_path / "away.pem")
            proxy.cut()
            until(transport, lambda _: transport.counters["failed_connections"] == 2)
            held.rename(authority.ca)
            until(transport, lambda _: transport.is_connected)

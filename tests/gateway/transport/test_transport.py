"""The connection to a broker: messages, limits, closing and waking."""

import os
import signal
import threading
import time

import pytest
from helpers.broker import Broker, free_port
from helpers.proxy import Proxy
from helpers.transports import (
    ACCEPTS,
    PATIENCE,
    Actor,
    connected,
    count_open_files,
    ending,
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

from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.transport import Transport

mqtt = pytest.mark.mqtt


@mqtt
def test_what_is_published_is_received_in_order(broker):
    overlapping = [
        "sensors/n1/+",
        "sensors/+/light",
        "sensors/n1/#",
        "sensors/#",
    ]  # and sent for each
    with connected(broker.url, topics=overlapping) as receiver:
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
def test_an_answer_to_a_connection_that_is_lost_is_known(broker):
    with (
        Proxy(broker.port) as proxy,
        connected(proxy.url, "doubtful", session_expiry=60, connect_timeout=0.3) as transport,
    ):
        proxy.refuse()
        proxy.cut()
        until(transport, lambda _: transport.counters["failed_connections"])
        proxy.accept()
        until(transport, lambda _: transport.is_connected)
        assert not transport.answer_lost  # nobody was there to answer
        proxy.stall()
        proxy.cut()
        n_failed = transport.counters["failed_connections"]
        until(transport, lambda _: transport.counters["failed_connections"] > n_failed)
        assert not transport.answer_lost
        proxy.resume()
        until(transport, lambda _: transport.is_connected)
        assert transport.answer_lost
        assert not transport.answer_lost


@mqtt
def test_the_session_forgets_topics_that_others_replace(broker):
    with connected(broker.url, "gateway", ["sensors/+/light", "other/#"], session_expiry=60) as receiver:
        receiver.subscribe(["sensors/#"], ["sensors/+/light", "other/#"])
        receiver.check_subscribed(PATIENCE)
        send(broker, [b"0"], "other/n1")
        send(broker, [b"1", b"2"])
        assert numbers(receive(receiver, 2)) == [1, 2]
        receiver.acknowledge(2)
    with ending(Transport(broker.url, "gateway", session_expiry=60)) as receiver:
        receiver.subscribe(["sensors/n1/light"], ["sensors/#"])
        receiver.connect(PATIENCE)
        receiver.check_subscribed(PATIENCE)
        send(broker, [b"0"], "sensors/n2/light")
        send(broker, [b"3", b"4"])
        assert numbers(receive(receiver, 2)) == [3, 4]


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
def test_what_is_too_large_is_refused_and_what_no_broker_could_take_confirmed(caplog):
    with Broker("max_packet_size 1000") as strict, connected(strict.url) as sender:
        assert sender.publish(Publication("t", bytes(2000)), "large")
        assert sender.publish(Publication("t/+", b""), "no topic")
        assert sender.publish(Publication("", b""), "empty")
        assert sender.publish(Publication("t", bytes(900)), "small")
        assert sender.drain(PATIENCE)
        assert sender.confirmed() == ["no topic", "empty", "small"]
        assert sender.refused() == [("large", "2022 bytes, it takes 1000", False)]
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
        assert sender.refused() == [(2, "Not authorized", True)]
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

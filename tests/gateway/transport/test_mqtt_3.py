"""MQTT 3.1.1 at a real broker: order, sessions, retained messages, the will, and what falls away."""

import time
from dataclasses import replace

import pytest
from helpers.broker import Broker
from helpers.proxy import Proxy
from helpers.transports import PATIENCE, connected, listen, numbers, receive, send, until

from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.broker_address import BrokerAddress, parse_url

pytestmark = pytest.mark.mqtt

SESSION = {"client_id": "gateway", "session_expiry": 60}


def at(running):
    return replace(parse_url(running.url), protocol="3.1.1")


def test_an_unknown_protocol_is_refused():
    with pytest.raises(ValueError, match=r"protocol is '4', expected one of 5, 3\.1\.1"):
        BrokerAddress("localhost", protocol="4")


@pytest.mark.parametrize("qos", [0, 1])
def test_what_is_published_is_received_in_order(broker, qos):
    with connected(at(broker), topics=["sensors/+/light"], qos=qos) as receiver:
        send(broker, [b"%d" % number for number in range(300)], qos=qos)
        messages = []
        while len(messages) < 300:  # of quality 1 the broker sends as many unacknowledged as it likes
            some = receive(receiver, 1)
            receiver.acknowledge(len(some))
            messages += some
        assert numbers(messages) == list(range(300))
        assert not any(message.retained or message.content_type for message in messages)
        assert {message.topic for message in messages} == {"sensors/n1/light"}


@pytest.mark.parametrize("n_bytes", [0, 1, 200, 20_000])
def test_payloads_come_whole_and_retained_ones_are_marked(broker, n_bytes):
    payload = bytes(range(200)) * (n_bytes // 200) + bytes(n_bytes % 200)
    with connected(at(broker)) as sender:
        sender.publish(Publication("sensors/n1/light", payload or b"-"))
        assert sender.drain(PATIENCE)
        assert len(sender.confirmed()) == 0  # without a token
    with connected(at(broker), topics=["sensors/#"]) as receiver:
        (message,) = receive(receiver, 1)
    assert (message.payload, message.retained) == (payload or b"-", True)


def test_of_what_the_broker_should_not_have_sent_the_beginning_is_kept(broker):
    send(broker, [b"x" * 2000, b"y" * 200], retain=True)
    with connected(at(broker), topics=["sensors/#"], max_packet_bytes=1000) as receiver:
        (message,) = receive(receiver, 1)
        send(broker, [b"z" * 2000])
        (after,) = receive(receiver, 1)
    assert message.payload == b"y" * 200
    assert after.payload == b"z" * 1000


def test_what_is_cut_off_is_beyond_the_limit_however_long_its_topic_is(broker):
    with connected(at(broker), topics=["sensors/#"], max_packet_bytes=1000) as receiver:
        with connected(at(broker)) as sender:
            sender.publish(Publication("sensors/" + "n" * 990, b"1" * 2000))
            assert sender.drain(PATIENCE)
        (message,) = receive(receiver, 1)
    assert message.payload == b"1" * 1000


def test_what_was_not_acknowledged_comes_again_in_the_session(broker):
    with connected(at(broker), topics=["sensors/#"], **SESSION) as first:
        assert first.session_lost
        send(broker, [b"%d" % number for number in range(10)])
        assert numbers(receive(first, 10)) == list(range(10))
        first.acknowledge(4)
        first.poll(0.1)
    send(broker, [b"%d" % number for number in range(10, 15)])
    with connected(at(broker), topics=["sensors/#"], **SESSION) as second:
        assert not second.session_lost
        messages = receive(second, 11)
        assert numbers(messages) == list(range(4, 15))
        second.acknowledge(11)
        second.poll(0.1)
    with connected(at(broker), topics=["sensors/#"], **SESSION) as third:
        assert third.poll(0.2) == []
    with connected(at(broker), "gateway") as clean:
        assert clean.session_lost


def test_a_lost_connection_is_made_again_and_the_will_published(broker):
    will = Publication("status", b"offline")
    with (
        Proxy(broker.port) as proxy,
        connected(at(broker), topics=["status"]) as watcher,
        connected(at(proxy), topics=["sensors/#"], will=will, **SESSION) as gateway,
    ):
        proxy.cut()
        (message,) = receive(watcher, 1)
        assert message.payload == b"offline"
        until(gateway, lambda _: gateway.counters["reconnects"] == 1)
        send(broker, [b"7"])
        assert numbers(receive(gateway, 1)) == [7]


def test_silence_is_proved(broker):
    with connected(at(broker), topics=["sensors/#"]) as receiver:
        send(broker, [b"1"])
        receive(receiver, 1)
        receiver.acknowledge(1)
        before = time.time()
        receiver.prove_silence()
        until(receiver, lambda _: receiver.silence >= before - 1)


def test_nothing_is_said_of_what_is_refused_and_nothing_expires(tmp_path, broker):  # noqa: ARG001 - as above
    acl = tmp_path / "acl"
    acl.write_text("topic read #\ntopic write allowed\n", encoding="utf-8")
    acl.chmod(0o644)
    tmp_path.chmod(0o755)
    with Broker(f"acl_file {acl}") as strict:
        with connected(at(strict)) as sender:
            sender.publish(Publication("forbidden", b"1"), "first")
            until(sender, lambda _: not sender.n_in_flight)
            assert (sender.confirmed(), sender.refused()) == (["first"], [])
        with connected(at(strict)) as sender:
            sender.publish(Publication("allowed", b"2", expiry=1))
            assert sender.drain(PATIENCE)
        time.sleep(2.1)
        receiver = listen(at(strict), topics=["#"])
        assert [message.topic for message in receive(receiver, 1)] == ["allowed"]
        receiver.close()

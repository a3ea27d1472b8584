"""The connection without a broker: what is refused, and what a mad one can do."""

import re
import time

import pytest
from helpers.broker import free_port
from helpers.transports import (
    ACCEPTS,
    PATIENCE,
    QUICK,
    Actor,
    ending,
    nothing_left_open,
    numbers,
    receive,
    until,
)
from hypothesis import given
from hypothesis import strategies as st

from streamfs.errors import TransportError
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.backoff import Backoff
from streamfs.gateway.transport.broker_address import BrokerAddress, Tls
from streamfs.gateway.transport.transport import COUNTERS, Transport


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"qos": 2}, "qos is 2, expected 0 to 1"),
        ({"keepalive": 0}, "keepalive is 0"),
        ({"session_expiry": -1, "client_id": "me"}, "session_expiry is -1"),
        ({"session_expiry": 60}, "session_expiry needs a client_id"),
        ({"receive_maximum": 0}, "receive_maximum is 0"),
        ({"receive_maximum": 70_000}, "receive_maximum is 70000, expected 1 to 65535"),
        ({"max_queue": 0}, "max_queue is 0, expected 1 to inf"),
        ({"max_packet_bytes": 0}, "max_packet_bytes is 0"),
        ({"backoff": (2.0, 1.0)}, r"backoff\[0\] is 2.0"),
        ({"backoff": (1.0, float("nan"))}, r"backoff\[1\] is nan"),
        ({"connect_timeout": 0.0}, "connect_timeout is 0"),
        ({"will": Publication("status/#", b"0")}, "will is .*status/#.*expected a topic"),
        ({"will": Publication("status", bytes(65536))}, "will is .*at most 65535 bytes"),
    ],
)
def test_settings_out_of_bounds_are_refused(settings, named):
    with pytest.raises(ValueError, match=named):
        Transport("mqtt://broker", **settings)


def test_a_topic_filter_that_cannot_be_is_refused():
    with ending(Transport("mqtt://broker")) as transport:
        for topic in ("", "a/#/b", "a+", "a/b#", "a\0b"):
            with pytest.raises(ValueError, match="topic filter is"):
                transport.subscribe([topic])


def test_a_broker_that_is_not_there_is_named():
    with ending(Transport(f"mqtt://127.0.0.1:{free_port()}")) as transport:
        with pytest.raises(TransportError, match=r"cannot be reached: Connection refused; look at host and port"):
            transport.connect(timeout=2.0)
        assert transport.counters["failed_connections"] == 1


def test_a_broker_that_is_dumb_is_named():
    with Actor() as dumb, ending(Transport(dumb.url)) as transport, pytest.raises(TransportError) as caught:
        transport.connect(timeout=0.2)
    assert str(caught.value) == f"broker at 127.0.0.1:{dumb.port} does not answer within 0.2 s"


def test_a_name_that_nobody_knows_is_a_failed_connection(caplog):
    with ending(Transport("mqtt://no-such-host.invalid", **QUICK)) as transport:
        until(transport, lambda _: transport.counters["failed_connections"] == 3)
    assert len(caplog.records) == 1
    assert "no-such-host.invalid:1883 cannot be reached" in caplog.text
    assert "; look at the host in the URL, and at this machine's DNS" in caplog.text


def test_attempts_to_connect_are_never_closer_than_the_back_off_allows():
    started = time.monotonic()
    with ending(Transport(f"mqtt://127.0.0.1:{free_port()}", backoff=(0.02, 0.08), seed=3)) as transport:
        until(transport, lambda _: transport.counters["failed_connections"] == 6)
    assert time.monotonic() - started >= (0.02 + 0.04 + 0.08 + 0.08 + 0.08) / 2


@given(st.floats(0.1, 10.0), st.floats(1.0, 100.0), st.integers(0, 2**32))
def test_the_back_off_doubles_up_to_its_bound_and_is_the_same_for_the_same_seed(least, factor, seed):
    most = least * factor
    first, second = Backoff(least, most, seed), Backoff(least, most, seed)
    seconds = [first.next(0.0, is_taken_over=False) for _ in range(12)]
    assert seconds == [second.next(0.0, is_taken_over=False) for _ in range(12)]
    for index, value in enumerate(seconds):
        bound = min(least * 2**index, most)
        assert bound / 2 <= value <= bound
    assert most / 2 <= first.next(most, is_taken_over=False) <= most
    assert first.next(2 * most, is_taken_over=False) <= least
    assert first.next(3 * least, is_taken_over=False) <= least
    assert first.next(1.5 * least, is_taken_over=False) <= 2 * least
    assert first.next(1.5 * least, is_taken_over=False) <= 4 * least
    assert first.next(0.0, is_taken_over=False) > min(2 * least, most / 2) - 1e-9
    assert most / 2 <= first.next(2 * most, is_taken_over=True) <= most


def test_a_transport_that_was_never_connected_leaves_nothing_open():
    """Nothing is asserted: whatever is left open raises a ResourceWarning, which pytest turns into an error."""
    with nothing_left_open():
        transport = Transport("mqtt://broker")
        transport.close()
        transport.close()
        transport.wake()


@pytest.mark.parametrize("answer", [b"no TLS at all", b""])
def test_failed_connections_leave_nothing_open(authority, answer):
    """Nothing is asserted: whatever is left open raises a ResourceWarning, which pytest turns into an error."""
    with nothing_left_open(), Actor(answer, closes=True) as actor:
        for address in (BrokerAddress("127.0.0.1", actor.port, tls=Tls(authority.ca)), actor.url):
            with ending(Transport(address, **QUICK)) as transport:
                until(transport, lambda _: transport.counters["failed_connections"] == 3)
        with ending(Transport(f"mqtt://127.0.0.1:{free_port()}", **QUICK)) as transport:
            until(transport, lambda _: transport.counters["failed_connections"] == 3)


@pytest.mark.parametrize(
    "garbage",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        b"\x20\xff\xff\xff\xff\x00",
        b"\xf0\x00",
        b"\x20\x02\x00\x63",
        bytes(1000),
        b"\xff" * 1000,
    ],
)
def test_garbage_instead_of_an_answer_is_a_failed_connection(garbage):
    with Actor(garbage) as actor, ending(Transport(actor.url, connect_timeout=0.3, **QUICK)) as transport:
        until(transport, lambda _: transport.counters["failed_connections"] == 3)
        assert not transport.is_connected


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x30\x02\x00\x09",
        b"\x32\x04\x00\x01t\x00",
        b"\x30\x06\x00\x01t\x09\x03\x00",
        b"\x36\x06\x00\x01t\x00\x01\x00",
        b"\x90\x01\x00",
        b"\xd0\x01\x00",
        b"\x32\x08\x00\x00\x00\x01\x03\x23\x00\x01",
        b"\x30\xff\xff\xff\xff\x7f",
    ],
)
def test_garbage_after_the_answer_is_a_lost_connection(garbage, caplog):
    with Actor(ACCEPTS + garbage) as actor, ending(Transport(actor.url, **QUICK)) as transport:
        until(transport, lambda _: transport.counters["lost_connections"] == 3)
        assert transport.counters["connections"] == 3
    assert "sends something that is not MQTT" in caplog.text


def test_a_second_acceptance_is_a_lost_connection(caplog):
    with Actor(2 * ACCEPTS) as actor, ending(Transport(actor.url, **QUICK)) as transport:
        until(transport, lambda _: transport.counters["lost_connections"] == 1)
        assert transport.counters["connections"] == 1
    assert "accepts the connection a second time" in caplog.text


def test_what_came_before_a_connection_was_lost_is_not():
    packet = b"\x32\x07\x00\x01t\x00\x01\x001"
    with (
        Actor(ACCEPTS + packet, closes=True) as actor,
        ending(Transport(actor.url, backoff=(60.0, 60.0))) as transport,
    ):
        messages = until(transport, lambda _: transport.counters["lost_connections"] == 1)
        assert numbers(messages or transport.poll(0.0)) == [1]
        transport.acknowledge(1)


def test_a_topic_that_is_no_text_is_skipped_and_acknowledged():
    packet = b"\x32\x07\x00\x01\xff\x00\x05\x001" + b"\x32\x07\x00\x01t\x00\x06\x002"
    with Actor(ACCEPTS, packet, b"", b"") as actor, ending(Transport(actor.url)) as transport:
        transport.subscribe(["t"])
        assert numbers(receive(transport, 1)) == [2]
        assert transport.counters["malformed_topics"] == 1
        until(transport, lambda _: len(actor.heard) == 3)
        assert actor.heard[2] == b"\x40\x02\x00\x05"
        transport.acknowledge(1)
        until(transport, lambda _: len(actor.heard) == 4)
        assert actor.heard[3] == b"\x40\x02\x00\x06"


def test_a_message_of_a_quality_that_was_not_asked_for_is_taken_to_its_end():
    packet = b"\x34\x07\x00\x01t\x00\x05\x001"
    with Actor(ACCEPTS, packet, b"\x62\x02\x00\x05", b"") as actor, ending(Transport(actor.url)) as transport:
        transport.subscribe(["t"])
        assert numbers(receive(transport, 1)) == [1]
        transport.acknowledge(1)
        until(transport, lambda _: len(actor.heard) == 4)
        assert actor.heard[2:] == [b"\x50\x02\x00\x05", b"\x70\x02\x00\x05"]


def test_a_content_type_that_is_no_text_is_counted_and_empty():
    packet = b"\x30\x09\x00\x01t\x04\x03\x00\x01\xff1"
    with Actor(ACCEPTS + packet) as actor, ending(Transport(actor.url)) as transport:
        assert receive(transport, 1)[0][1:5:3] == (b"1", "")
        assert transport.counters["malformed_properties"] == 1


def test_a_subscription_that_is_refused_is_logged_once(caplog):
    answer = b"\x90\x05\x00\x01\x00\x01\x87"
    with Actor(ACCEPTS, answer, closes=True) as actor, ending(Transport(actor.url, **QUICK)) as transport:
        transport.subscribe(["mine", "theirs"])
        until(transport, lambda _: transport.counters["refused_subscriptions"] == 3)
        assert not transport.is_subscribed
        with pytest.raises(TransportError, match="refuses the subscription to theirs: Not authorized"):
            transport.check_subscribed(PATIENCE)
    texts = [record.getMessage() for record in caplog.records if "subscription" in record.getMessage()]
    assert len(texts) == 1


def test_a_subscription_that_is_not_answered_is_an_error():
    with Actor(ACCEPTS) as actor, ending(Transport(actor.url)) as transport:
        transport.connect(PATIENCE)
        transport.subscribe(["t"])
        with pytest.raises(TransportError, match=r"does not answer the subscription within 0.1 s"):
            transport.check_subscribed(0.1)


def test_an_answer_to_some_of_the_topics_is_a_lost_connection(caplog):
    with Actor(ACCEPTS, b"\x90\x04\x00\x01\x00\x01") as actor, ending(Transport(actor.url, **QUICK)) as transport:
        transport.subscribe(["mine", "theirs"])
        until(transport, lambda _: transport.counters["lost_connections"] == 1)
    assert "answers a subscription to 2 topics with 1 reasons" in caplog.text


def test_a_subscription_without_acknowledgements_is_logged(caplog):
    with Actor(ACCEPTS, b"\x90\x04\x00\x01\x00\x00") as actor, ending(Transport(actor.url)) as transport:
        transport.subscribe(["t"])
        until(transport, lambda _: transport.is_subscribed)
    assert "does not acknowledge messages of t: Granted QoS 0" in caplog.text


def test_all_counters_are_there_from_the_start():
    with ending(Transport("mqtt://broker")) as transport:
        assert transport.counters == dict.fromkeys(COUNTERS, 0)


SAYS = b"\x1f\x00\x07go away\x1c\x00\x05other"
"""Properties: a reason in words, and another server."""


def test_what_a_broker_says_as_it_refuses_or_ends_a_connection_is_named():
    says = r'\("go away"\), and names other in its place'
    for answers, why in (
        ([b"\x20\x15\x00\x9c\x12" + SAYS], "Use another server"),
        ([ACCEPTS + b"\xe0\x14\x9d\x12" + SAYS], "Server moved"),
    ):
        with Actor(*answers) as broker, ending(Transport(broker.url, **QUICK)) as transport:
            until(transport, lambda _, transport=transport: transport.trouble)
            assert re.search(f"{why} {says}", transport.trouble)


@pytest.mark.parametrize(("code", "lack"), [("9a", "that retains messages"), ("9b", "with quality of service 1")])
def test_what_a_broker_lacks_is_named(code, lack):
    with (
        Actor(bytes.fromhex(f"200300{code}00")) as broker,
        ending(Transport(broker.url, **QUICK)) as transport,
        pytest.raises(TransportError, match=f"a gateway needs a broker {lack}"),
    ):
        transport.connect(PATIENCE)

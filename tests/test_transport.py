"""The connection to the broker: what it does with a real one, through a network that fails, and with a mad one."""

import dis
import gc
import hashlib
import logging
import os
import signal
import socket
import threading
import time
from base64 import b64encode
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from broker import Broker, free_port
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from proxy import Proxy

from streamfs.errors import TransportError
from streamfs.gateway import broker_address
from streamfs.gateway.broker_address import BrokerAddress, Tls, parse_url, resolve
from streamfs.gateway.publication import Publication
from streamfs.gateway.transport import COUNTERS, Message, Transport
from streamfs.gateway.transport.backoff import Backoff
from streamfs.gateway.transport.connection import Connection, LostError
from streamfs.gateway.transport.inbox import Inbox
from streamfs.gateway.transport.packets import read_content_type, split_packets

PATIENCE = 20.0  # seconds for what is to happen
QUICK = {"backoff": (0.02, 0.1), "seed": 1}
ACCEPTS = bytes.fromhex("2003000000")  # a broker's answer to a connection
GRANTS = bytes.fromhex("9004000100") + b"\x01"  # and to its first subscription, for one topic


def until(transport, is_done, room=None):
    """Poll until something has happened; return what has come."""
    messages = []
    deadline = time.monotonic() + PATIENCE
    while not is_done(messages):
        assert time.monotonic() < deadline, transport.counters
        messages += transport.poll(0.05, room)
    return messages


def receive(transport, n):
    return until(transport, lambda messages: len(messages) >= n)


def hear_out(transport):
    """Wait until the broker has heard all that was said."""
    assert transport.publish(Publication("anything", b"", retain=False))
    assert transport.drain(PATIENCE)


def numbers(messages):
    return [int(message.payload) for message in messages]


def send(broker, payloads, topic="sensors/n1/light", qos=1, retain=False):
    """Publish from another client, and wait until the broker has all."""
    with connected(broker.url) as sender:
        for payload in payloads:
            while not sender.publish(Publication(topic, payload, retain), qos=qos):
                sender.poll(0.05)
        assert sender.drain(PATIENCE)


def listen(url, client_id=None, topics=("sensors/#",), **settings):
    """A transport that is connected and subscribed."""
    transport = Transport(url, client_id, **(QUICK | settings))
    transport.connect(PATIENCE)
    transport.subscribe(topics)
    transport.check_subscribed(PATIENCE)
    return transport


@contextmanager
def ending(transport):
    """Close it in the end, and do not wait long for a broker that is none."""
    try:
        yield transport
    finally:
        transport.close(timeout=0.1)


@contextmanager
def connected(url, client_id=None, topics=(), **settings):
    with ending(listen(url, client_id, topics, **settings)) as transport:
        yield transport


@pytest.fixture
def broker(broker):  # noqa: ARG001 - the session's broker skips where there is no mosquitto
    """Run a broker of the test's own: nothing is retained there from other tests."""
    with Broker() as own:
        yield own


class Actor:
    """Something on a port that answers each connection with bytes of the test's making; no broker at all."""

    def __init__(self, *answers, closes=False):
        self.heard = []
        self._answers = answers
        self._closes = closes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._listener.close()

    def _run(self):
        kept = []
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                break
            kept.append(client)
            for answer in self._answers:
                self.heard.append(client.recv(1 << 16))
                client.sendall(answer)
            if self._closes:
                client.close()
        for client in kept:
            client.close()


# Where the broker is


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mqtt://broker", BrokerAddress("broker", 1883)),
        ("mqtt://10.0.0.1:1884/", BrokerAddress("10.0.0.1", 1884)),
        ("mqtt://me@broker", BrokerAddress("broker", 1883, "me")),
        ("mqtt://me:p%40ss@[::1]:1", BrokerAddress("::1", 1, "me", "p@ss")),
        ("mqtts://broker", BrokerAddress("broker", 8883, tls=Tls())),
        ("mqtts://broker:1883", BrokerAddress("broker", 1883, tls=Tls())),
    ],
)
def test_a_url_names_a_broker(url, address):
    assert parse_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "broker",
        "http://broker",
        "mqtt://",
        "mqtt://a..b",
        "mqtt://broker:x",
        "mqtt://broker:0",
        "mqtt://broker:70000",
        "mqtt://broker/topic",
    ],
)
def test_a_url_that_names_no_broker_is_refused(url):
    with pytest.raises(ValueError, match=f"broker is '{url}', expected mqtt"):
        Transport(url)


@pytest.mark.parametrize("url", ["http://me:secret@broker", "mqtt://me:se/cret@broker", "mqtt://me:se@c:ret@b:x"])
def test_a_password_is_not_shown_in_an_error(url):
    with pytest.raises(ValueError, match=r"me:\*\*\*@b") as caught:
        parse_url(url)
    assert "cret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_password_is_not_shown_in_an_address():
    address = resolve("mqtt://broker", "me", "secret")
    assert "secret" not in f"{address!r} {address}"


def test_an_address_with_a_port_shows_both():
    assert str(BrokerAddress("::1", 7)) == "[::1]:7"


@pytest.mark.parametrize(
    ("text", "password"), [("s3\n", "s3"), ("s3\r\n", "s3"), ("s3\n\n", "s3\n"), (" s3", " s3")]
)
def test_a_password_file_holds_a_line(tmp_path, text, password):
    path = tmp_path / "password"
    path.write_text(text, encoding="utf-8", newline="")
    assert resolve("mqtt://me@broker", password_file=path).password == password


def test_a_password_can_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("STREAMFS_TEST_PASSWORD", "s3")
    assert resolve("mqtt://me@broker", password_env="STREAMFS_TEST_PASSWORD").password == "s3"  # noqa: S105, S106


@pytest.mark.parametrize(
    ("settings", "error", "named"),
    [
        ({"password_env": "STREAMFS_UNSET"}, TransportError, "STREAMFS_UNSET is not set"),
        (
            {"password_file": Path("/nowhere/password")},
            TransportError,
            "/nowhere/password cannot be read: No such",
        ),
        ({"user": "you"}, ValueError, "user is given by the URL and by user"),
        (
            {"password": "a", "password_env": "HOME"},
            ValueError,
            "password is given by password and by password_env",
        ),
        ({"ca": Path("ca.pem")}, ValueError, "'mqtt://me@broker', expected mqtts"),
    ],
)
def test_what_cannot_be_put_together_is_refused_by_name(settings, error, named):
    with pytest.raises(error, match=named):
        resolve("mqtt://me@broker", **settings)


def test_a_password_needs_a_user():
    with pytest.raises(ValueError, match="a password is given but no user"):
        resolve("mqtt://broker", password="s3")  # noqa: S106


def test_a_password_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "password").write_bytes(b"\xff")
    with pytest.raises(TransportError, match="password is not UTF-8"):
        resolve("mqtt://me@broker", password_file=tmp_path / "password")


class Authority:
    """An authority with the files that a broker and a client need."""

    def __init__(self, directory):
        self._ca = trustme.CA()
        self._directory = directory
        self.ca = directory / "ca.pem"
        self._ca.cert_pem.write_to_path(self.ca)

    def issue(self, name, **settings):
        """The files of a certificate and its key."""
        issued = self._ca.issue_cert(name, **settings)
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        issued.private_key_pem.write_to_path(key)
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        return certificate, key

    def settings(self, certificate, key):
        """What mosquitto must know to speak TLS."""
        return f"cafile {self.ca}\ncertfile {certificate}\nkeyfile {key}"


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def test_files_for_tls_are_read_when_they_are_named(authority, tmp_path):
    certificate, key = authority.issue("me.example")
    _, other = authority.issue("other.example")
    nothing = tmp_path / "nothing.pem"
    with pytest.raises(TransportError, match=r"nothing\.pem cannot be read: No such file"):
        Tls(ca=nothing)
    nothing.write_text("nothing")
    with pytest.raises(TransportError, match=r"nothing\.pem holds no certificates"):
        Tls(ca=nothing)
    with pytest.raises(
        TransportError, match=r"nothing\.pem and .*key: expected a certificate and its private key"
    ):
        Tls(certificate=nothing, key=key)
    with pytest.raises(TransportError, match=r"me\.example\.pem and .*other\.example\.key: expected a cert"):
        Tls(certificate=certificate, key=other)
    with pytest.raises(TransportError, match=r"me\.example\.pem: expected a certificate and its private key"):
        Tls(certificate=certificate)
    with pytest.raises(ValueError, match=r"me\.example\.key', expected a certificate"):
        Tls(key=key)


def test_a_key_with_a_password_is_refused_without_a_question(authority):
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - comes with trustme

    certificate, key = authority.issue("me.example")
    plain = serialization.load_pem_private_key(key.read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"s3")
    formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key.write_bytes(plain.private_bytes(*formats, locked))
    with pytest.raises(TransportError, match="without a password"):
        Tls(certificate=certificate, key=key)


def test_each_address_of_a_host_is_tried():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        places = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (name, listener.getsockname()[1])) for name in HOSTS]
        deadline = time.monotonic() + PATIENCE
        with broker_address._first_that_answers(places, deadline) as opened:
            assert opened.getpeername()[0] == "127.0.0.1"
        with pytest.raises(ConnectionRefusedError):
            broker_address._first_that_answers(places[:1], deadline)


HOSTS = "127.0.0.2", "127.0.0.1", "127.0.0.3"


# What comes in


PACKETS = st.lists(
    st.tuples(st.integers(0, 255), st.one_of(st.binary(max_size=5), st.binary(min_size=120, max_size=300)))
)


def encode(command, body):
    length, n_bytes = bytearray(), len(body)
    while n_bytes > 127:
        length.append(n_bytes & 127 | 128)
        n_bytes >>= 7
    return bytes([command, *length, n_bytes]) + body


@given(PACKETS, st.lists(st.integers(1, 400)))
def test_packets_are_the_same_however_they_are_cut(packets, cuts):
    waiting = b"".join(encode(*packet) for packet in packets)
    incoming, found = bytearray(), []
    for n_bytes in [*cuts, len(waiting)]:
        incoming += waiting[:n_bytes]
        waiting = waiting[n_bytes:]
        found += list(split_packets(incoming))
    assert found == packets
    assert incoming == b""


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=20)


@given(
    TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=3), st.binary(max_size=9), st.none() | st.integers(1, 2**20)
)
def test_a_content_type_is_found_among_other_properties(content_type, pairs, data, identifier):
    properties = Properties(PacketTypes.PUBLISH)
    properties.PayloadFormatIndicator = 1
    properties.MessageExpiryInterval = 7
    properties.TopicAlias = 9
    properties.CorrelationData = data
    properties.ResponseTopic = "there"
    if pairs:
        properties.UserProperty = pairs
    if identifier is not None:
        properties.SubscriptionIdentifier = identifier
    rest = properties.pack()
    properties.ContentType = content_type
    for packed, expected in ((rest, ""), (properties.pack(), content_type)):
        n_bytes = 1 if packed[0] < 128 else 2
        assert read_content_type(packed[n_bytes:]) == expected


class Model:
    """What an inbox is: a list of all messages, with their acknowledgements."""

    def __init__(self, most):
        self.most, self.waiting, self.taken, self.n_dropped = most, [], [], 0

    def put(self, number, packet):
        self.waiting.append((number, packet))
        droppable = [entry for entry in self.waiting if not entry[1]]
        if len(self.waiting) > self.most and droppable:
            self.waiting.remove(droppable[0])
            self.n_dropped += 1

    def take(self, room):
        n = len(self.waiting) if room is None else room
        now, self.waiting = self.waiting[:n], self.waiting[n:]
        self.taken += [packet for _, packet in now]
        return [number for number, _ in now]

    def acknowledge(self, n):
        now, self.taken = self.taken[:n], self.taken[n:]
        return b"".join(now)

    def forget_connection(self):
        self.waiting = [(number, b"") for number, _ in self.waiting]
        self.taken = [b""] * len(self.taken)


STEPS = st.one_of(
    st.tuples(st.just("put"), st.booleans()),
    st.tuples(st.just("take"), st.none() | st.integers(0, 5)),
    st.tuples(st.just("acknowledge"), st.integers(0, 5)),
    st.tuples(st.just("forget_connection"), st.none()),
)


@given(st.integers(1, 6), st.lists(STEPS, max_size=60))
def test_messages_stay_in_order_and_only_the_oldest_that_may_gives_way(most, steps):
    counters = Counter()
    inbox, model = Inbox(most, counters), Model(most)
    for number, (name, argument) in enumerate(steps):
        if name == "put":
            packet = b"%d " % number if argument else b""
            inbox.put(Message("t", b"%d" % number, False, 0.0), packet)
            model.put(number, packet)
        elif name == "take":
            assert numbers(inbox.take(argument)) == model.take(argument)
        elif name == "acknowledge":
            n = min(argument, len(model.taken))
            assert inbox.acknowledge(n) == model.acknowledge(n)
        else:
            inbox.forget_connection()
            model.forget_connection()
    assert len(inbox) == len(model.waiting)
    assert inbox.is_full == (sum(bool(packet) for _, packet in model.waiting) >= most)
    assert counters["dropped"] == model.n_dropped


def test_no_more_can_be_acknowledged_than_was_taken():
    with (
        ending(Transport("mqtt://broker")) as transport,
        pytest.raises(ValueError, match="n is 1, expected 0 to 0"),
    ):
        transport.acknowledge(1)


class Wire:
    """A socket that only has something to say."""

    def __init__(self, said):
        self._said = said

    def recv(self, n_bytes):
        chunk, self._said = self._said[:n_bytes], self._said[n_bytes:]
        return chunk

    def setsockopt(self, *option):
        pass

    def close(self):
        pass


@given(st.binary() | st.tuples(st.integers(0, 255), st.binary(max_size=40)).map(lambda packet: encode(*packet)))
def test_nothing_that_a_broker_can_say_is_more_than_a_lost_connection(said):
    with ending(Transport("mqtt://broker")) as transport:
        transport._connection = connection = transport._make_connection(1.0)
        connection._sock = connection.wire = Wire(said)
        with pytest.raises(LostError):
            connection.read()
        transport._connection = None


def test_nothing_of_paho_is_overwritten_by_chance():
    of_paho = set(dir(Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)))
    methods = {name for name in vars(Connection) if not name.startswith("__")}
    stored = dis.get_instructions(Connection.__init__)
    attributes = {instruction.argval for instruction in stored if instruction.opname == "STORE_ATTR"}
    meant = {"_create_socket", "_packet_queue", "username", "password", "max_inflight_messages"}
    assert (methods | attributes) & of_paho == meant


# Without a broker


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
        with pytest.raises(TransportError, match=r"broker at 127.0.0.1:\d+ cannot be reached: .*refused"):
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
    assert most / 2 <= first.next(2 * most, is_taken_over=True) <= most


def count_open_files():
    return len(list(Path("/dev/fd").iterdir()))


@contextmanager
def nothing_left_open():
    """Everything is closed within, not only collected."""
    gc.collect()
    gc.disable()
    try:
        n_open, threads = count_open_files(), threading.enumerate()
        yield n_open
        assert count_open_files() == n_open
        assert threading.enumerate() == threads
    finally:
        gc.enable()


def test_a_transport_that_was_never_connected_leaves_nothing_open():
    with nothing_left_open():
        transport = Transport("mqtt://broker")
        transport.close()
        transport.close()
        transport.wake()


@pytest.mark.parametrize("answer", [b"no TLS at all", b""])
def test_failed_connections_leave_nothing_open(authority, answer):
    with nothing_left_open(), Actor(answer, closes=True) as actor:
        for address in (BrokerAddress("127.0.0.1", actor.port, tls=Tls(authority.ca)), actor.url):
            with ending(Transport(address, **QUICK)) as transport:
                until(transport, lambda _: transport.counters["failed_connections"] == 3)
        with ending(Transport(f"mqtt://127.0.0.1:{free_port()}", **QUICK)) as transport:
            until(transport, lambda _: transport.counters["failed_connections"] == 3)


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
def test_as_many_come_unacknowledged_as_the_broker_was_told(broker):
    with connected(broker.url, topics=["sensors/#"], receive_maximum=30) as receiver:
        send(broker, [b"%d" % number for number in range(100)])
        send(broker, [b"-1"], qos=0)  # these are not held back
        messages = until(receiver, lambda messages: b"-1" in {message.payload for message in messages})
        assert numbers(messages) == [*range(30), -1]
        receiver.acknowledge(31)
        assert numbers(receive(receiver, 30))[:30] == list(range(30, 60))  # more at once from some old brokers


@mqtt
def test_messages_beyond_the_queue_give_way_oldest_first(broker):
    with connected(broker.url, topics=["sensors/#"], max_queue=10) as receiver:
        send(broker, [b"%d" % number for number in range(25)], qos=0)
        until(receiver, lambda _: receiver.counters["received"] == 25, room=0)
        assert numbers(receiver.poll(0.0)) == list(range(15, 25))
        assert receiver.counters["dropped"] == 15


@mqtt
def test_messages_that_must_not_give_way_are_left_in_the_network(broker):
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
    assert "refuses a publication to t: 2017 bytes, it takes 1000" in caplog.text


@mqtt
@pytest.mark.usefixtures("broker")
def test_what_the_broker_forbids_to_publish_is_counted_and_confirmed(tmp_path, caplog):
    (tmp_path / "acl").write_text("topic write allowed\n")
    with Broker(f"acl_file {tmp_path / 'acl'}") as strict, connected(strict.url) as sender:
        sender.publish(Publication("allowed", b"1"), 1)
        sender.publish(Publication("forbidden", b"2"), 2)
        until(sender, lambda _: sender.counters["refused_publications"] == 1)
        assert sender.confirmed() == [1, 2]
    assert "refuses a publication to forbidden: Not authorized" in caplog.text


@mqtt
def test_a_farewell_takes_the_place_of_the_will(broker):
    with connected(broker.url, topics=["status"]) as watcher:
        gateway = listen(broker.url, will=Publication("status", b"0"), greeting=Publication("status", b"1"))
        assert numbers(receive(watcher, 1)) == [1]
        gateway.close(farewell=Publication("status", b"2"))
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

    monkeypatch.setattr(Transport, "_heed_answer", fail)
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
    with ending(Transport(broker.url, greeting=Publication("status", b"1"), **QUICK)) as transport:
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
    with Proxy(broker.port) as proxy, connected(proxy.url, keepalive=1) as gateway:
        n_bytes = proxy.n_bytes_to_client
        until(gateway, lambda _: proxy.n_bytes_to_client >= n_bytes + 4)  # two answers to probes
        assert gateway.counters["lost_connections"] == 0


@mqtt
def test_a_network_that_is_slow_is_no_obstacle(broker):
    with Proxy(broker.port) as proxy:
        proxy.delay(0.25)
        started = time.monotonic()
        with connected(proxy.url, topics=["sensors/#"], keepalive=1) as gateway:
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
def test_the_will_is_published_when_the_connection_is_lost_and_the_greeting_when_it_is_back(broker):
    status = {"will": Publication("status", b"0"), "greeting": Publication("status", b"1")}
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


def test_what_the_broker_said_last_is_heard_though_nothing_can_be_sent_any_more():
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


@mqtt
def test_a_wrong_password_is_told_once_and_tried_ever_more_rarely(locked, caplog):
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
def test_a_certificate_that_is_wrong_is_told_once(authority, caplog, name, times, reason):
    with Broker(authority.settings(*authority.issue(name, **times))) as wrong:
        address = resolve(f"mqtts://127.0.0.1:{wrong.port}", ca=authority.ca)
        with ending(Transport(address, **QUICK)) as transport:
            until(transport, lambda _: transport.counters["failed_connections"] == 3)
    assert len(caplog.records) == 1
    assert reason in caplog.text


@mqtt
@pytest.mark.usefixtures("broker")
def test_a_certificate_can_be_renewed_under_a_running_gateway(authority, tmp_path):
    certificate, key = authority.issue("127.0.0.1")
    with Broker(authority.settings(certificate, key)) as secret, Proxy(secret.port) as proxy:
        address = resolve(f"mqtts://127.0.0.1:{proxy.port}", ca=authority.ca)
        with connected(address) as transport:
            held = authority.ca.rename(tmp_path / "away.pem")
            proxy.cut()
            until(transport, lambda _: transport.counters["failed_connections"] == 2)
            held.rename(authority.ca)
            until(transport, lambda _: transport.is_connected)


# With none at all


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
        b"\x30\xff\xff\xff\xff\x7f",
    ],
)
def test_garbage_after_the_answer_is_a_lost_connection(garbage, caplog):
    with Actor(ACCEPTS + garbage) as actor, ending(Transport(actor.url, **QUICK)) as transport:
        until(transport, lambda _: transport.counters["lost_connections"] == 3)
        assert transport.counters["connections"] == 3
    assert "sends what is not MQTT" in caplog.text


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


def test_a_subscription_that_is_refused_is_told_once(caplog):
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


def test_a_subscription_without_acknowledgements_is_told(caplog):
    with Actor(ACCEPTS, b"\x90\x04\x00\x01\x00\x00") as actor, ending(Transport(actor.url)) as transport:
        transport.subscribe(["t"])
        until(transport, lambda _: transport.is_subscribed)
    assert "does not acknowledge messages of t: Granted QoS 0" in caplog.text


def test_all_counters_are_there_from_the_start():
    with ending(Transport("mqtt://broker")) as transport:
        assert transport.counters == dict.fromkeys(COUNTERS, 0)

"""What comes in: packets, messages that wait, and whatever else a broker can say."""

import dis
from collections import Counter

import pytest
from helpers.transports import ending, numbers
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from streamfs.gateway.transport.connection import BrokerConnection, LostError
from streamfs.gateway.transport.inbox import Inbox
from streamfs.gateway.transport.packets import read_content_type, split_packets
from streamfs.gateway.transport.transport import Message, Transport

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
        return b"".join(now), sum(map(bool, now))

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
def test_messages_stay_in_order_and_only_the_oldest_that_may_is_dropped(most, steps):
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
    methods = {name for name in vars(BrokerConnection) if not name.startswith("__")}
    stored = dis.get_instructions(BrokerConnection.__init__)
    attributes = {instruction.argval for instruction in stored if instruction.opname == "STORE_ATTR"}
    meant = {"_create_socket", "_packet_queue", "username", "password", "max_inflight_messages"}
    assert (methods | attributes) & of_paho == meant

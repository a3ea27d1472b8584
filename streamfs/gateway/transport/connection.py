"""One connection to a broker, from opening to loss; the only module of the gateway that uses paho's client."""

import math
import socket
import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from select import POLLIN, POLLOUT
from typing import Any

from paho.mqtt.client import Client, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.exception import MQTTException
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from streamfs.errors import TransportError
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.broker_address import BrokerAddress
from streamfs.gateway.transport.inbox import Inbox
from streamfs.gateway.transport.packets import PacketError, read_content_type, split_packets, variable_integer
from streamfs.gateway.transport.remedies import failure
from streamfs.gateway.transport.silence import Silence
from streamfs.gateway.transport.steady_clock import SteadyClock

_QUICKACK = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
_CHUNK = 1 << 16  # bytes per read
_MAX_CHUNKS = 16  # per step, so that a flood cannot prolong it
_MAX_IN_FLIGHT = 1000  # publications, unless the broker wants fewer
_MAX_OUTGOING = 1 << 20  # queued bytes from which publications are declined
_MAX_OVERHEAD = 21  # bytes of a publication besides topic and payload
_EMPTY_TOPIC = 2  # bytes of the length of a topic, and none of the topic
_MAX_TEXT = 65535  # bytes of a topic, and of a will
_ACKNOWLEDGEMENTS = (b"", b"\x40\x02", b"\x50\x02")  # first bytes, by the message's quality of service


class LostError(Exception):
    """The connection failed or was lost: a predicate of the broker, and the counter, empty for the default one."""

    def __init__(self, what: str, counter: str = "") -> None:
        super().__init__(what)
        self.counter = counter  # empty: that of failed or lost connections, as the case may be


@dataclass(frozen=True)
class ConnectOptions:
    """Where and how to connect."""

    address: BrokerAddress
    client_id: str
    keepalive: int
    session_expiry: int
    receive_maximum: int
    max_packet_bytes: int | None
    will: Publication | None

    def __post_init__(self) -> None:
        check_range("keepalive", self.keepalive, 1, 65535)
        check_range("session_expiry", self.session_expiry, 0, 2**32 - 1)
        check_range("receive_maximum", self.receive_maximum, 1, 65535)
        if self.max_packet_bytes is not None:
            check_range("max_packet_bytes", self.max_packet_bytes, 1, 2**28 - 1)
        if self.will is not None and not (is_topic(self.will.topic) and len(self.will.payload) <= _MAX_TEXT):
            raise ValueError(
                f"will is {self.will!r}, expected a topic to publish to and at most {_MAX_TEXT} bytes"
            )
        if self.session_expiry and not self.client_id:
            raise ValueError("session_expiry needs a client_id, by which the broker knows whose session it is")

    @property
    def has_properties(self) -> bool:
        """Whether packets have properties: in MQTT 5."""
        return self.address.protocol == "5"

    def properties(self) -> Properties:
        """Return the properties of the CONNECT packet."""
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.ReceiveMaximum = self.receive_maximum
        properties.SessionExpiryInterval = self.session_expiry
        if self.max_packet_bytes is not None:
            properties.MaximumPacketSize = self.max_packet_bytes
        return properties


class BrokerConnection(Client):
    """One connection to a broker; its loss is raised as `LostError`.

    paho builds outgoing packets and decodes the broker's answers; messages, of which there are many, are decoded
    here.
    """

    def __init__(
        self,
        options: ConnectOptions,
        patience: float,
        inbox: Inbox,
        counters: Counter[str],
        clock: SteadyClock,
        silence: Silence,
    ) -> None:
        super().__init__(
            CallbackAPIVersion.VERSION2,
            options.client_id,
            clean_session=None if options.has_properties else not options.session_expiry,
            protocol=MQTTProtocolVersion.MQTTv5 if options.has_properties else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,  # nor would we have an older protocol tried
        )
        self._clock, self._silence = clock, silence
        silence.begin()
        self.username, self.password = options.address.user, options.address.password
        self.max_inflight_messages = 0  # paho holds nothing back: see `objection`
        if options.will is not None:
            self.will_set(options.will.topic, options.will.payload, 1, options.will.retain)
        self.accepted_at: float | None = None
        self.in_flight: dict[int, tuple[str, object]] = {}  # topics and tokens of publications, by packet id
        self.subscribing: dict[int, list[str]] = {}  # topics of subscriptions, by packet id
        self.granted: set[str] = set()
        self.wire: socket.socket
        self._options = options
        self._has_properties = options.has_properties
        self._patience = patience
        self._inbox = inbox
        self._counters = counters
        self._incoming, self._outgoing = bytearray(), bytearray()
        self._may_have_more = False
        self._opened = self._heard = self._said = time.monotonic()
        self._interval = float(options.keepalive)
        self._max_in_flight = _MAX_IN_FLIGHT
        self._max_bytes: float = math.inf

    def open(self) -> None:
        """Connect the socket and queue CONNECT; CONNACK is still to come."""
        address, keepalive = self._options.address, self._options.keepalive
        options: dict[str, Any] = {}
        if self._options.has_properties:
            clean, properties = not self._options.session_expiry, self._options.properties()
            options = {"clean_start": clean, "properties": properties}
        try:
            self.connect(address.host, address.port, keepalive, **options)
        except OSError as error:
            raise LostError(f"cannot be reached: {self._failure(error)}") from error
        except TransportError as error:
            raise LostError(f"cannot be reached: {error}") from error

    def accept(self, properties: Properties | None) -> None:
        """Apply the properties of CONNACK."""
        self.accepted_at = time.monotonic()
        self._interval = min(self._interval, getattr(properties, "ServerKeepAlive", 0) or self._interval)
        self._max_in_flight = min(_MAX_IN_FLIGHT, getattr(properties, "ReceiveMaximum", _MAX_IN_FLIGHT))
        self._max_bytes = getattr(properties, "MaximumPacketSize", math.inf)

    def close_socket(self) -> None:
        """Close the socket if it is open."""
        self._sock_close()

    @property
    def events(self) -> int:
        """Events of the socket to wait for."""
        return (POLLOUT if self._outgoing else 0) | (0 if self._inbox.is_full else POLLIN)

    @property
    def has_room(self) -> bool:
        """Whether another publication can be accepted."""
        return len(self.in_flight) < self._max_in_flight and len(self._outgoing) < _MAX_OUTGOING

    @property
    def due(self) -> float:
        """Time at which there is something to do even if nothing arrives."""
        if self._may_have_more and not self._inbox.is_full:
            return -math.inf
        if self.accepted_at is None:
            return self._opened + self._patience
        return min(self._said + self._interval, self._silence_ends)

    @property
    def _silence_ends(self) -> float:
        """Time to probe a silent broker, or else to give it up; never while nothing is read."""
        if self._inbox.is_full:
            return math.inf
        if not self._ping_t:
            return self._heard + self._interval
        return max(self._ping_t, self._heard) + self._interval / 2

    def keep_alive(self) -> None:
        """Send a PINGREQ if the broker or this side is silent; give up a broker that stays silent."""
        now = time.monotonic()
        if self.accepted_at is None:
            if now >= self._opened + self._patience:
                raise LostError(f"does not answer within {self._patience:g} s")
            return
        if self._ping_t and now >= self._silence_ends:
            raise LostError(f"is silent for {1.5 * self._interval:g} s")
        if now >= min(self._said + self._interval, self._silence_ends):
            self._ping()

    def ask(self) -> None:
        """Send a PINGREQ, to prove silence, unless one is unanswered."""
        if not (self._ping_t or self._silence.is_asked):
            self._ping()

    def _ping(self) -> None:
        self._silence.asked(self._clock.now())
        self._send_pingreq()

    @classmethod
    def is_filter(cls, topic: str) -> bool:
        """Return whether a text is a valid topic filter."""
        is_valid = cls._filter_wildcard_len_check(topic.encode()) == MQTTErrorCode.MQTT_ERR_SUCCESS
        return is_valid and "\0" not in topic

    def subscribe_to(self, topics: list[str], qos: int) -> None:
        """Subscribe."""
        if topics:
            _, packet_id = self.subscribe([(topic, qos) for topic in topics])
            self.subscribing[packet_id or 0] = topics

    def unsubscribe_from(self, topics: list[str]) -> None:
        """Unsubscribe from topics, whether they were subscribed to or not."""
        if topics:
            self.unsubscribe(topics)

    def objection(self, publication: Publication) -> str:
        """Return why a publication cannot be sent by this connection; empty if it can."""
        if not is_topic(publication.topic):
            return "not a topic to publish to"
        n_bytes = len(publication.topic.encode()) + len(publication.payload) + _MAX_OVERHEAD
        return f"{n_bytes} bytes, it takes {self._max_bytes}" if n_bytes > self._max_bytes else ""

    def send(self, publication: Publication, token: object, qos: int) -> bool:
        """Publish; return False if all packet ids are in use."""
        topic, payload, retain, expiry = publication
        expires = expiry and self._options.has_properties
        info = self.publish(topic, payload, qos, retain, _expiring(expiry) if expires else None)
        is_sent = info.rc == MQTTErrorCode.MQTT_ERR_SUCCESS
        if is_sent and qos:
            self.in_flight[info.mid] = topic, token
        return is_sent

    def queue(self, packets: bytes) -> None:
        """Queue packets for the next `write`."""
        self._outgoing += packets

    def write(self) -> None:
        """Send as much of the queue as the socket accepts."""
        while self._outgoing:
            try:
                n_sent = self._sock_send(self._outgoing)
            except BlockingIOError:
                return
            except OSError as error:
                self.read()  # a last packet may name the reason
                raise LostError(f"has closed the connection: {self._failure(error)}") from error
            del self._outgoing[:n_sent]
            self._said = time.monotonic()

    def read(self) -> None:
        """Read from the socket unless the inbox is full: then the network holds data back."""
        self._may_have_more = True
        for _ in range(_MAX_CHUNKS):
            if self._inbox.is_full:
                return
            if not self._receive():
                return
            arrival = self._clock.now()
            try:
                for command, body in split_packets(self._incoming):
                    if command >> 4 == PacketTypes.PUBLISH:
                        self._take_message(command, body, arrival)
                    else:
                        self._take_answer(command, body)
            except (PacketError, MQTTException) as error:
                raise LostError(f"sends something that is not MQTT: {error}") from error
            if not self._may_have_more:
                return

    def _receive(self) -> bool:
        """Receive a chunk; return False if there is none, and note whether there may be more."""
        try:
            chunk = self._sock_recv(_CHUNK)
            if _QUICKACK is not None:  # else broker and kernel wait for each other, as answers go in groups
                self.wire.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
        except BlockingIOError:
            self._may_have_more = False
            return False
        except OSError as error:
            raise LostError(f"has closed the connection: {self._failure(error)}") from error
        self._may_have_more = len(chunk) == _CHUNK or type(self.wire) is not socket.socket  # others have buffers
        if not chunk:
            name = "" if self.accepted_at is None else self._options.client_id
            why = f": it stops, or another client has our id {name!r}" if name else ""  # not every broker says so
            raise LostError(f"has closed the connection{why}")
        self._heard = time.monotonic()
        self._incoming += chunk
        return True

    def _failure(self, error: OSError) -> str:
        """Return an error, with what to do if no connection was ever accepted."""
        if self.accepted_at is None:
            return failure(error, has_tls=self._options.address.tls is not None)
        return error.strerror or str(error)

    def _take_message(self, command: int, body: bytes, arrival: float) -> None:
        """Decode a message (MQTT 5, 3.3): topic, packet id and properties if it has any, payload."""
        qos = command >> 1 & 3
        try:
            end_of_topic = 2 + (body[0] << 8 | body[1])
            end_of_id = end_of_topic + 2 if qos else end_of_topic
            n_bytes, properties = 0, end_of_id
            if self._has_properties:
                n_bytes, properties = body[end_of_id], end_of_id + 1
                if n_bytes:
                    n_bytes, properties = variable_integer(body, end_of_id)
            acknowledgement = _ACKNOWLEDGEMENTS[qos] + body[end_of_topic:end_of_id] if qos else b""
        except IndexError as error:
            raise PacketError(f"a message of {len(body)} bytes that ends too early") from error
        end = properties + n_bytes
        if end > len(body):
            raise PacketError(f"a message of {len(body)} bytes with properties of {n_bytes}")
        if end_of_topic == _EMPTY_TOPIC:
            raise PacketError("a message without a topic; an alias was not agreed on")
        content_type = self._content_type(body[properties:end]) if n_bytes else ""
        try:
            topic = body[2:end_of_topic].decode()
        except UnicodeDecodeError:
            self._counters["malformed_topics"] += 1
            self._silence.received()
            self._silence.acknowledged(1)
            self.queue(acknowledgement)
            return
        # brokers that know no limit send more: what is beyond it would fill memory and log, to be rejected
        payload = body[end : end + (self._options.max_packet_bytes or len(body))]
        message = Message(topic, payload, bool(command & 1), arrival, content_type)
        self._inbox.put(message, acknowledgement)
        if acknowledgement:
            self._silence.received()

    def _content_type(self, properties: bytes) -> str:
        try:
            return read_content_type(properties)
        except (LookupError, ValueError, PacketError):  # the publisher's fault, not the broker's
            self._counters["malformed_properties"] += 1
            return ""

    def _take_answer(self, command: int, body: bytes) -> None:
        """Pass a packet other than a message to paho."""
        self._in_packet["command"] = command
        self._in_packet["remaining_length"] = len(body)
        self._in_packet["packet"] = bytearray(body)
        if self._packet_handle() != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise PacketError(f"a packet of {len(body)} bytes that begins with {command:#04x}")
        if command >> 4 == PacketTypes.PINGRESP:
            self._silence.answered(len(self._inbox))

    def _create_socket(self) -> socket.socket:
        self.wire = self._options.address.open(self._patience)
        return self.wire

    def _packet_queue(
        self, _command: int, packet: bytes | bytearray, _mid: int, _qos: int, _info: MQTTMessageInfo | None = None
    ) -> MQTTErrorCode:
        self._outgoing += packet
        return MQTTErrorCode.MQTT_ERR_SUCCESS


def check_range(name: str, value: float, least: float, most: float) -> None:
    """Raise a ValueError that names it if a number is out of bounds."""
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, expected {least:g} to {most:g}")


@lru_cache
def _expiring(seconds: int) -> Properties:
    """Return the properties of a publication that expires."""
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    properties.MessageExpiryInterval = seconds
    return properties


def is_topic(topic: str) -> bool:
    """Return whether a text is a valid topic to publish to."""
    return 0 < len(topic.encode()) <= _MAX_TEXT and not set("+#\0") & set(topic)

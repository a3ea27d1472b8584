"""The connection to the broker, restored whenever it is lost."""

import logging
import math
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from select import POLLIN, poll
from typing import TYPE_CHECKING

from streamfs.errors import TransportError
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.messages.topics import outermost
from streamfs.gateway.transport.backoff import Backoff
from streamfs.gateway.transport.broker_address import BrokerAddress, parse_url
from streamfs.gateway.transport.connection import (
    BrokerConnection,
    ConnectOptions,
    LostError,
    check_range,
    is_topic,
)
from streamfs.gateway.transport.inbox import Inbox
from streamfs.gateway.transport.refusal import Refusal
from streamfs.gateway.transport.remedies import broker_words, refusal
from streamfs.gateway.transport.silence import Silence
from streamfs.gateway.transport.steady_clock import SteadyClock

if TYPE_CHECKING:
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

__all__ = ["COUNTERS", "Message", "Transport"]

_log = logging.getLogger(__name__)

COUNTERS = (
    "connections",
    "reconnects",
    "refused_connections",
    "failed_connections",
    "lost_connections",
    "taken_over",
    "received",
    "dropped",
    "malformed_topics",
    "malformed_properties",
    "refused_subscriptions",
    "refused_publications",
)
_CHUNK = 1 << 16  # bytes per read
_ASKED_AGAIN = 0.02  # seconds after which it is asked again whether a connection is permitted
_MAX_WARNED = 100  # warnings of one connection
_TAKEN_OVER = 0x8E  # MQTT 5, 3.14.2.1


class Transport:
    """A connection to an MQTT broker that reconnects automatically; used and driven by one thread.

    All network traffic happens within `poll` (and `connect`, `check_subscribed`, `drain` and `close`, which wait):
    publications and acknowledgements between two polls are sent together by the next one.

    After `keepalive` seconds of silence the broker is probed; it is given up after half as many more. It keeps
    the session for `session_expiry` seconds while disconnected, sends at most `receive_maximum` unacknowledged
    messages of quality of service 1, and drops those of more than `max_packet_bytes`; with MQTT 3.1.1 it knows
    no such limit, and what is beyond is cut off. It publishes the will if the connection is lost; the birth is
    published at each connection. `backoff` is the minimum and maximum seconds before reconnecting, doubled each
    time until a connection lasts longer than that, and randomly up to half less. `connect_timeout` does not
    count the lookup of the broker's name. `permits` is asked before `poll` connects, and may be set.

    With MQTT 3.1.1, which the address may name, the broker says neither what it refuses nor that another client
    has taken over, decides itself for how long it keeps a session, how much it sends unacknowledged and how large
    messages are, and publications do not expire.

    Of the counters, ``taken_over`` is connections lost to another client with this id, ``malformed_topics``
    messages skipped since their topic is not text.

    Of more than `max_queue` waiting messages, those of quality of service 0 are dropped oldest first. The broker
    holds back those of 1; if it does not, reading stops. Messages of 1 whose connection was lost before they were
    taken can be dropped too: the broker sends them again, unless it has lost the session. Messages of 2, which a
    session made by another program may hold, are treated like those of 1.
    """

    def __init__(
        self,
        broker: str | BrokerAddress,
        client_id: str | None = None,
        *,
        qos: int = 1,
        keepalive: int = 30,
        session_expiry: int = 0,
        receive_maximum: int = 1000,
        max_packet_bytes: int | None = None,
        max_queue: int = 10_000,
        will: Publication | None = None,
        birth: Publication | None = None,
        backoff: tuple[float, float] = (0.5, 10.0),
        connect_timeout: float = 3.0,
        seed: int | None = None,
        clock: SteadyClock | None = None,
    ) -> None:
        self.permits: Callable[[], bool] = lambda: True
        check_range("qos", qos, 0, 1)
        check_range("max_queue", max_queue, 1, math.inf)
        check_range("backoff[1]", backoff[1], 1e-3, math.inf)
        check_range("backoff[0]", backoff[0], 1e-3, backoff[1])
        check_range("connect_timeout", connect_timeout, 1e-3, math.inf)
        address = parse_url(broker) if isinstance(broker, str) else broker
        self._options = ConnectOptions(
            address, client_id or "", keepalive, session_expiry, receive_maximum, max_packet_bytes, will
        )
        self.counters: Counter[str] = Counter(dict.fromkeys(COUNTERS, 0))
        self._qos = qos
        self._birth = birth
        self._connect_timeout = connect_timeout
        self._backoff = Backoff(*backoff, seed)
        self._inbox = Inbox(max_queue, self.counters)
        self._silence = Silence()
        self.clock = SteadyClock() if clock is None else clock
        self._connection: BrokerConnection | None = None
        self._retry_at = -math.inf
        self._session_lost = False
        self._is_unanswered = self._answer_lost = False
        self._topics: dict[str, None] = {}
        self._left: dict[str, None] = {}
        self._refused: dict[str, str] = {}
        self._confirmed: list[object] = []
        self._not_taken: list[Refusal] = []
        self._warned: set[str] = set()
        self._failure = ""
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)

    @property
    def is_connected(self) -> bool:
        """Whether the broker has accepted the current connection."""
        connection = self._connection  # another thread may replace it
        return connection is not None and connection.accepted_at is not None

    @property
    def trouble(self) -> str:
        """Why there is no connection; empty if there is one, or none was tried."""
        return "" if self.is_connected else self._failure

    @property
    def is_subscribed(self) -> bool:
        """Whether the broker has granted every subscription on this connection."""
        connection = self._connection
        return self.is_connected and connection is not None and connection.granted >= self._topics.keys()

    @property
    def session_lost(self) -> bool:
        """Whether the broker has accepted a connection without a session since this was last read."""
        lost, self._session_lost = self._session_lost, False
        return lost

    @property
    def answer_lost(self) -> bool:
        """Whether the broker has accepted a connection since this was last read, after one whose CONNACK was lost.

        With that one it may have begun a session, which it now says was present.
        """
        lost, self._answer_lost = self._answer_lost, False
        return lost

    @property
    def n_in_flight(self) -> int:
        """Number of publications that the broker has not confirmed."""
        connection = self._connection
        return 0 if connection is None else len(connection.in_flight)

    def connect(self, timeout: float = 10.0) -> None:
        """Connect if not connected, waiting at most `timeout` seconds; raise a TransportError if that fails."""
        try:
            if self._connection is None:
                self._open(timeout)
            while not self.is_connected:
                self._step(timeout)
        except LostError as error:
            raise TransportError(self._drop(error)) from error

    def subscribe(self, topics: Iterable[str], instead_of: Iterable[str] = ()) -> None:
        """Subscribe at each connection, now if connected; raise a ValueError for an invalid topic filter.

        What a wider one covers is left out: a broker may send a message once for each that matches. That, and what
        is not among the topics that they replace, the broker is asked to forget: it may be in the session.
        """
        wanted = list(topics)
        for topic in wanted:
            if not BrokerConnection.is_filter(topic):
                raise ValueError(f"topic filter is {topic!r}, expected levels between slashes, or + or at last #")
        former = dict.fromkeys(instead_of)
        self._topics = outermost((*(topic for topic in self._topics if topic not in former), *wanted))
        self._left = {topic: None for topic in (*self._left, *former, *wanted) if topic not in self._topics}
        if self._connection is not None and self.is_connected:
            self._connection.subscribe_to([topic for topic in wanted if topic in self._topics], self._qos)
            self._connection.unsubscribe_from([*self._left])

    def check_subscribed(self, timeout: float = 10.0) -> None:
        """Wait at most `timeout` seconds until every subscription is granted; keep messages for `poll`."""
        deadline = time.monotonic() + timeout
        broker = f"broker at {self._options.address}"
        while not self.is_subscribed:
            if self._refused:
                topic, reason = next(iter(self._refused.items()))
                raise TransportError(f"{broker} refuses the subscription to {topic}: {reason}")
            if time.monotonic() >= deadline:
                raise TransportError(f"{broker} does not answer the subscription within {timeout:g} s")
            self._turn(deadline - time.monotonic())

    def poll(self, timeout: float, room: int | None = None) -> list[Message]:
        """Exchange packets for up to `timeout` seconds, connecting if it is time; return up to `room` messages.

        Network errors are logged and counted, never raised.
        """
        has_some = bool(self._inbox) and room != 0
        self._turn(0.0 if has_some else timeout)
        messages = self._inbox.take(room)
        self._silence.taken(len(messages))
        return messages

    @property
    def silence(self) -> float:
        """Time, in seconds since 1970 by `clock`, up to which all that the broker had for us was taken."""
        return self._silence.proved

    def prove_silence(self) -> None:
        """Ask the broker for an answer that lets `silence` run on."""
        if self._connection is not None and self.is_subscribed:
            self._connection.ask()

    def acknowledge(self, n: int) -> None:
        """Acknowledge the `n` oldest messages that `poll` has returned, those that need none included."""
        packets, n_packets = self._inbox.acknowledge(n)
        self._silence.acknowledged(n_packets)
        if self._connection is not None:
            self._connection.queue(packets)

    def publish(self, publication: Publication, token: object = None, qos: int = 1) -> bool:
        """Publish if possible now; `confirmed` returns the token once the broker has it, at quality 0 at once.

        False means that nothing was done: disconnected, or too much is in flight. What is in flight is forgotten
        if the connection is lost. What the broker refuses, or is too large for it, is returned by `refused`; what
        no broker could take counts as refused, too, but its token is confirmed.
        """
        check_range("qos", qos, 0, 1)
        connection = self._connection
        if connection is None or not self.is_connected or not connection.has_room:
            return False
        objection = connection.objection(publication)
        if objection:
            self._note_refusal(publication.topic, objection)
            if not is_topic(publication.topic):
                self._conclude(token)
            elif token is not None:
                self._not_taken.append(Refusal(token, objection, is_of_topic=False))
            return True
        if not connection.send(publication, token, qos):
            return False
        if qos == 0:
            self._conclude(token)
        return True

    def confirmed(self) -> list[object]:
        """Return the tokens of the publications that were confirmed since the last call."""
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

    def refused(self) -> list[Refusal]:
        """Return the publications that the broker has refused since the last call."""
        refused, self._not_taken = self._not_taken, []
        return refused

    def wake(self) -> None:
        """Make a waiting `poll`, or else the next one, return; for other threads and signal handlers."""
        with suppress(OSError):  # full, so it wakes anyway, or closed
            self._waker.send(b"\0")

    def drain(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for all confirmations; return whether they came. Messages are kept."""
        connection = self._connection
        deadline = time.monotonic() + timeout
        while self.n_in_flight and self._connection is connection and time.monotonic() < deadline:
            self._turn(deadline - time.monotonic())
        return self.n_in_flight == 0 and self._connection is connection

    def close(self, timeout: float = 2.0, goodbye: Publication | None = None) -> None:
        """Publish a goodbye in place of the will, wait for confirmations, disconnect, within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        self._inbox.shut()
        if self.is_connected:
            self.drain(timeout)
            if goodbye is not None:
                self.publish(goodbye)
            if not self.drain(deadline - time.monotonic()):
                _log.warning("broker at %s has not confirmed all publications", self._options.address)
            self._disconnect(deadline)
        self._close_connection()
        self._woken.close()
        self._waker.close()

    def _disconnect(self, deadline: float) -> None:
        """Send DISCONNECT, and wait until the broker closes the connection, having read everything."""
        if self._connection is not None:
            self._connection.disconnect()
        with suppress(LostError):
            self._step(0.0)
            while time.monotonic() < deadline:
                self._step(deadline - time.monotonic())

    def _turn(self, timeout: float) -> None:
        """Take a step, and handle the loss of the connection."""
        try:
            if self._connection is None and time.monotonic() >= self._retry_at:
                self._open_if_permitted()
            self._step(timeout)
        except LostError as error:
            self._warn(self._drop(error))

    def _step(self, timeout: float) -> None:
        """Write, wait for something to happen, read, and write the answers."""
        connection = self._connection
        if connection is None:
            self._wait(min(timeout, self._retry_at - time.monotonic()))
            return
        connection.write()
        self._wait(min(timeout, connection.due - time.monotonic()), connection)
        connection.read()
        connection.keep_alive()
        connection.write()

    def _wait(self, timeout: float, connection: BrokerConnection | None = None) -> None:
        waiting = poll()
        waiting.register(self._woken, POLLIN)
        if connection is not None and connection.events:
            waiting.register(connection.wire, connection.events)
        if (self._woken.fileno(), POLLIN) in waiting.poll(1000 * max(timeout, 0.0)):
            self._woken.recv(_CHUNK)

    def _open(self, patience: float) -> None:
        connection = self._make_connection(patience)
        connection.open()
        self._connection = connection

    def _open_if_permitted(self) -> None:
        """Connect, or ask soon again whether it is permitted."""
        if self.permits():
            self._open(self._connect_timeout)
        else:
            self._retry_at = time.monotonic() + _ASKED_AGAIN

    def _make_connection(self, patience: float) -> BrokerConnection:
        connection = BrokerConnection(
            self._options, patience, self._inbox, self.counters, self.clock, self._silence
        )
        connection.on_connect = lambda _client, _data, flags, reason, properties: self._on_connack(
            reason, properties, has_session=flags.session_present
        )
        connection.on_disconnect = lambda _client, _data, _flags, *said: self._on_disconnect(*said)
        connection.on_subscribe = lambda _client, _data, *grants: self._on_suback(*grants[:2])
        connection.on_publish = lambda _client, _data, *receipt: self._on_puback(*receipt[:2])
        return connection

    def _drop(self, error: LostError) -> str:
        """Close the connection, schedule the next one, and return what has happened."""
        stood_for, counter = 0.0, "failed_connections"
        if self._connection is not None and self._connection.accepted_at is not None:
            stood_for, counter = time.monotonic() - self._connection.accepted_at, "lost_connections"
        elif self._connection is not None:
            self._is_unanswered |= not error.counter  # if it has not refused
        self._close_connection()
        self._inbox.forget_connection()
        counter = error.counter or counter
        self.counters[counter] += 1
        self._retry_at = time.monotonic() + self._backoff.next(stood_for, is_taken_over=counter == "taken_over")
        self._failure = f"broker at {self._options.address} {error}"
        return self._failure

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close_socket()
            self._connection = None

    def _warn(self, what: str) -> None:
        """Log a warning once per connection."""
        if what not in self._warned and len(self._warned) < _MAX_WARNED:
            self._warned.add(what)
            _log.warning("%s (until the next connection further ones are only counted)", what)

    def _conclude(self, token: object) -> None:
        """Finish a publication that the broker has confirmed, or that no broker could take."""
        if token is not None:
            self._confirmed.append(token)

    def _note_refusal(self, topic: str, reason: str) -> None:
        self.counters["refused_publications"] += 1
        self._warn(f"broker at {self._options.address} refuses a publication to {topic}: {reason}")

    def _on_connack(self, reason: "ReasonCode", properties: "Properties | None", *, has_session: bool) -> None:
        connection = self._connection
        if connection is None or reason.is_failure:
            why = refusal(reason.value, f"{reason}{broker_words(properties)}", self._options.address.protocol)
            raise LostError(f"refuses the connection: {why}", "refused_connections")
        if connection.accepted_at is not None:
            raise LostError("accepts the connection a second time")
        _log.info("broker at %s accepts the connection", self._options.address)
        connection.accept(properties)
        self.counters["reconnects"] = self.counters["connections"]
        self.counters["connections"] += 1
        self._session_lost |= not has_session
        self._answer_lost |= self._is_unanswered
        self._is_unanswered = False
        self._warned.clear()
        connection.subscribe_to(list(self._topics), self._qos)
        connection.unsubscribe_from([*self._left])
        if self._birth is not None:
            self.publish(self._birth)

    def _on_disconnect(self, reason: "ReasonCode", properties: "Properties | None") -> None:
        if reason == _TAKEN_OVER:
            client_id = self._options.client_id
            raise LostError(f"hears another client with our id {client_id!r}; each needs its own", "taken_over")
        raise LostError(f"ends the connection: {reason}{broker_words(properties)}")

    def _on_suback(self, packet_id: int, reasons: "list[ReasonCode]") -> None:
        if self._connection is None:
            return
        topics = self._connection.subscribing.pop(packet_id, None)
        if topics is None:
            return
        if len(reasons) != len(topics):
            raise LostError(f"answers a subscription to {len(topics)} topics with {len(reasons)} reasons")
        for topic, reason in zip(topics, reasons, strict=True):
            if reason.is_failure:
                self._refuse(topic, str(reason))
                continue
            if reason.value < self._qos:
                self._warn(f"broker at {self._options.address} does not acknowledge messages of {topic}: {reason}")
            self._connection.granted.add(topic)
            self._refused.pop(topic, None)

    def _refuse(self, topic: str, reason: str) -> None:
        self.counters["refused_subscriptions"] += 1
        if self._refused.get(topic) != reason:
            self._refused[topic] = reason
            _log.warning("broker at %s refuses the subscription to %s: %s", self._options.address, topic, reason)

    def _on_puback(self, packet_id: int, reason: "ReasonCode") -> None:
        if self._connection is not None and packet_id in self._connection.in_flight:
            topic, token = self._connection.in_flight.pop(packet_id)
            if not reason.is_failure:
                self._conclude(token)
                return
            self._note_refusal(topic, str(reason))
            if token is not None:
                self._not_taken.append(Refusal(token, str(reason)))

"""The connection to the broker; nothing else knows of paho."""

import logging
import re
import time
from collections import Counter
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from threading import Condition
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from paho.mqtt.client import (
    Client,
    ConnectFlags,
    DisconnectFlags,
    MQTTMessage,
)
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from streamfs.errors import TransportError

_log = logging.getLogger(__name__)


class Message(NamedTuple):
    """A message as it came from the broker.

    Parameters
    ----------
    topic : str
        Where it was published.
    payload : bytes
        What was published.
    retained : bool
        Whether the broker had kept it from before the subscription.
    arrival : float
        Seconds since 1970 at which it arrived here.
    """

    topic: str
    payload: bytes
    retained: bool
    arrival: float


class Address(NamedTuple):
    """Where a broker is, and who we are to it."""

    host: str
    port: int
    user: str | None
    password: str | None


def parse_url(url: str) -> Address:
    """Read a broker's address.

    Raises
    ------
    ValueError
        If it is not ``mqtt://[user[:password]@]host[:port]``.

    Examples
    --------
    >>> parse_url("mqtt://localhost")
    Address(host='localhost', port=1883, user=None, password=None)
    """
    expected = "expected mqtt://[user[:password]@]host[:port]"
    shown = re.sub(r":[^:@/]*@", ":***@", url)
    try:
        parts = urlsplit(url)
        port = 1883 if parts.port is None else parts.port
    except ValueError as error:
        raise ValueError(f"broker is {shown!r}, {expected} ({error})") from error
    if (
        parts.scheme != "mqtt"
        or not parts.hostname
        or port == 0
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        raise ValueError(f"broker is {shown!r}, {expected}")
    user, password = (None if text is None else unquote(text) for text in (parts.username, parts.password))
    return Address(parts.hostname, port, user, password)


class Transport:
    """A connection to an MQTT 5 broker that comes back, and subscribes again, by itself.

    Messages wait in a queue until they are received; the network's thread does nothing else with them.

    Parameters
    ----------
    url : str
        ``mqtt://[user[:password]@]host[:port]``.
    client_id : str, optional
        Name towards the broker; None lets the broker choose one.
    qos : int
        Quality of service of subscriptions: 0, 1 or 2. Publications have 1.
    keepalive : int
        Seconds of silence after which the connection is probed.

    Attributes
    ----------
    counters : Counter of str
        ``reconnects`` after the first connection.

    Raises
    ------
    ValueError
        If the URL or the quality of service is not one.
    """

    def __init__(self, url: str, client_id: str | None = None, qos: int = 1, keepalive: int = 60) -> None:
        if qos not in (0, 1, 2):
            raise ValueError(f"qos is {qos}, expected 0, 1 or 2")
        self.counters = Counter(reconnects=0)
        self._address = parse_url(url)
        self._client_id = client_id or ""
        self._qos = qos
        self._keepalive = keepalive
        self._topics: dict[str, None] = {}
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._changed = Condition()  # guards all below
        self._reason: ReasonCode | None = None  # of the latest answer to a connection
        self._granted: dict[int, list[ReasonCode]] = {}  # by message id
        self._n_outstanding = 0
        self._client = self._make_client()

    @property
    def is_connected(self) -> bool:
        """Whether the broker has accepted the connection and it stands."""
        return self._client.is_connected()

    def connect(self, timeout: float = 10.0) -> None:
        """Connect, unless connected already.

        Raises
        ------
        TransportError
            If the broker cannot be reached within the timeout, in seconds, or refuses.
        """
        if self.is_connected:
            return
        host, port, *_ = self._address
        self._client.connect_timeout = timeout
        self._reason = None
        try:
            self._client.connect(host, port, self._keepalive)
        except OSError as error:
            raise TransportError(f"no broker at {host}:{port}: {error}") from error
        self._client.loop_start()
        with self._changed:
            self._changed.wait_for(lambda: self._reason is not None, timeout)
            reason = self._reason
        if reason is None:
            self._stop()
            raise TransportError(f"broker at {host}:{port} does not answer within {timeout:g} s")
        if reason.is_failure:
            self._stop()
            raise TransportError(f"broker at {host}:{port} refuses the connection: {reason}")

    def subscribe(self, topics: Iterable[str], timeout: float = 10.0) -> None:
        """Subscribe, now and after every reconnection, and wait until the broker has granted it.

        Raises
        ------
        TransportError
            If the broker refuses a topic or does not answer within the timeout, in seconds.
        """
        wanted = list(topics)
        if not wanted:
            return
        self._topics.update(dict.fromkeys(wanted))
        code, message_id = self._client.subscribe([(topic, self._qos) for topic in wanted])
        if code is not MQTTErrorCode.MQTT_ERR_SUCCESS or message_id is None:
            raise TransportError(f"cannot subscribe to {wanted[0]}: {code.name}")
        with self._changed:
            if not self._changed.wait_for(lambda: message_id in self._granted, timeout):
                raise TransportError(
                    f"broker does not answer the subscription to {wanted[0]} within {timeout:g} s"
                )
            reasons = self._granted.pop(message_id)
        for topic, reason in zip(wanted, reasons, strict=True):
            if reason.is_failure:
                raise TransportError(f"broker refuses the subscription to {topic}: {reason}")

    def receive(self, timeout: float) -> Message | None:
        """Return the next message, or None if there is none within the timeout, in seconds."""
        try:
            return self._messages.get(timeout=timeout)
        except Empty:
            return None

    def receive_all(self) -> list[Message]:
        """Return the messages that are there, without waiting."""
        return [self._messages.get() for _ in range(self._messages.qsize())]

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Publish a message; while there is no connection it is kept in memory.

        Raises
        ------
        TransportError
            If no more messages can be kept.
        """
        with self._changed:
            self._n_outstanding += 1
        outcome = self._client.publish(topic, payload, qos=1, retain=retain)
        if outcome.rc is MQTTErrorCode.MQTT_ERR_QUEUE_SIZE:
            with self._changed:
                self._n_outstanding -= 1
            raise TransportError(f"cannot publish to {topic}: too many messages wait for the broker")

    def drain(self, timeout: float) -> bool:
        """Wait until the broker has taken all that was published, and say whether it has.

        The timeout is in seconds.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._n_outstanding == 0, timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Wait for outstanding publications, at most for the timeout in seconds, and disconnect."""
        if not self.drain(timeout if self.is_connected else 0.0):
            _log.warning("%d messages were not acknowledged by the broker", self._n_outstanding)
        self._stop()

    def _stop(self) -> None:
        self._client.disable_logger()  # paho's thread calls it an error that the socket goes away at this moment
        self._client.disconnect()
        self._client.loop_stop()
        self._client = self._make_client()  # the old one closes its last sockets only when it is let go
        self._n_outstanding = 0

    def _make_client(self) -> Client:
        client = Client(CallbackAPIVersion.VERSION2, self._client_id, protocol=MQTTProtocolVersion.MQTTv5)
        client.suppress_exceptions = True  # else one in a callback ends the network's thread without a word
        client.enable_logger(_log)
        client.username = self._address.user
        client.password = self._address.password
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        return client

    def _on_connect(
        self, client: Client, _data: Any, _flags: ConnectFlags, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        with self._changed:
            again = self._reason is not None
            self._reason = reason
            self._changed.notify_all()
        if again and not reason.is_failure:
            self.counters["reconnects"] += 1
            if self._topics:
                client.subscribe([(topic, self._qos) for topic in self._topics])

    def _on_disconnect(
        self,
        _client: Client,
        _data: Any,
        _flags: DisconnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        if reason.is_failure:
            _log.warning("connection to the broker is lost: %s", reason)

    def _on_subscribe(
        self,
        _client: Client,
        _data: Any,
        message_id: int,
        reasons: list[ReasonCode],
        _properties: Properties | None,
    ) -> None:
        with self._changed:
            self._granted[message_id] = reasons
            self._changed.notify_all()
        if any(reason.is_failure for reason in reasons):
            _log.warning("the broker refuses a subscription: %s", ", ".join(map(str, reasons)))

    def _on_message(self, _client: Client, _data: Any, message: MQTTMessage) -> None:
        self._messages.put(Message(message.topic, bytes(message.payload), message.retain, time.time()))

    def _on_publish(
        self, _client: Client, _data: Any, _message_id: int, _reason: ReasonCode, _properties: Properties
    ) -> None:
        with self._changed:
            self._n_outstanding -= 1
            self._changed.notify_all()

"""The fleet's connection to its broker; no other module of the simulator uses paho."""

from collections.abc import Callable
from functools import partial
from threading import Condition
from types import TracebackType
from typing import Any, Self

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from streamfs.errors import TransportError

_PATIENCE = 10.0  # seconds for the broker to answer
_NOT_RETAINED = 2  # MQTT 5, 3.8.3.1: do not send retained messages at the time of the subscribe


class Connection:
    """A client that subscribes to one topic filter and counts acknowledgements of publications.

    Entering its context waits for retained messages; leaving it without an error waits until all publications are
    acknowledged. `receive` is called with (topic, payload) on the network's thread. The subscription has quality
    of service 0: with a higher one, the broker would delay retained messages until earlier ones are acknowledged.
    """

    def __init__(
        self, host: str, port: int, topic: str, receive: Callable[[tuple[str, bytes]], None], qos: int = 1
    ) -> None:
        if qos not in (0, 1, 2):
            raise ValueError(f"qos is {qos}, expected 0, 1 or 2")
        self._host, self._port, self._topic, self._qos = host, port, topic, qos
        self._receive = receive
        self._changed = Condition()  # guards the next three
        self._n_subscribed = 0
        self.n_connects = 0  # connections that the broker has accepted
        self._refusal: str | None = None
        self._n_acknowledged = 0
        self._n_published = 0
        self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_publish = self._on_publish
        self._client.on_message = self._on_message

    def __enter__(self) -> Self:
        try:
            self._client.connect(self._host, self._port)
        except OSError as error:
            raise self._error(f"cannot be reached: {error}") from error
        self._client.loop_start()
        try:
            # Retained messages arrive after the answer to the subscription, but before the answer to a second one.
            self._wait(lambda: self._n_subscribed >= 2, "did not answer the subscription")
        except TransportError:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._await_acknowledgements()
        finally:
            self._close()

    def publish(self, topic: str, payload: bytes) -> None:
        """Pass a message to the network's thread; raise a TransportError if the broker has refused one."""
        self._check_refusal()
        published = self._client.publish(topic, payload, self._qos)
        if self._qos > 0 or published.rc == MQTTErrorCode.MQTT_ERR_SUCCESS:
            self._n_published += 1

    def _await_acknowledgements(self) -> None:
        """Wait until all have arrived, as long as more keep arriving."""
        while self._n_acknowledged < self._n_published:
            self._wait(partial(self._has_more_than, self._n_acknowledged), "did not acknowledge all messages")
        self._check_refusal()

    def _has_more_than(self, n_acknowledged: int) -> bool:
        return self._n_acknowledged > n_acknowledged

    def _wait(self, is_met: Callable[[], bool], otherwise: str) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._refusal is not None or is_met(), _PATIENCE):
                raise self._error(otherwise)
        self._check_refusal()

    def _check_refusal(self) -> None:
        if self._refusal is not None:
            raise self._error(self._refusal)

    def _close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _error(self, what: str) -> TransportError:
        return TransportError(f"broker {self._host}:{self._port} {what}")

    def _on_connect(
        self, client: Client, _data: Any, _flags: ConnectFlags, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refuse(f"refuses the connection: {reason}")
        else:
            client.subscribe(self._topic)
            self.n_connects += 1

    def _on_subscribe(
        self, client: Client, _data: Any, _mid: int, reasons: list[ReasonCode], _properties: Properties | None
    ) -> None:
        if reasons[0].is_failure:
            self._refuse(f"refuses to subscribe {self._topic}: {reasons[0]}")
        with self._changed:
            self._n_subscribed += 1
            self._changed.notify_all()
        if self._n_subscribed == 1:
            client.subscribe(self._topic, options=SubscribeOptions(retainHandling=_NOT_RETAINED))

    def _on_publish(
        self, _client: Client, _data: Any, _mid: int, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refuse(f"refuses a message: {reason}")
        with self._changed:
            self._n_acknowledged += 1
            self._changed.notify_all()

    def _on_message(self, _client: Client, _data: Any, message: MQTTMessage) -> None:
        self._receive((message.topic, bytes(message.payload)))

    def _refuse(self, why: str) -> None:
        with self._changed:
            self._refusal = why
            self._changed.notify_all()

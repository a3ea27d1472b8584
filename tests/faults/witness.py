"""Clients of the broker: a publisher that knows what was acknowledged, and a subscriber to the gateway."""

from collections import defaultdict
from threading import Condition, Event

import orjson
from gateway_process import PATIENCE
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

FOR_EVER = 2**32 - 1  # seconds for which the broker keeps a session
END = "streamfs/end"


class Connected:
    """A client with its own thread, which reconnects."""

    def __init__(self, broker, client_id, expiry=FOR_EVER):
        self._changed = Condition()
        self._connected = Event()
        self._client = Client(CallbackAPIVersion.VERSION2, client_id, protocol=MQTTv5)
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = self._on_connect
        self._broker = broker
        self._expiry = expiry

    def __enter__(self):
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = self._expiry
        self._client.connect(self._broker.host, self._broker.port, clean_start=False, properties=properties)
        self._client.loop_start()
        assert self._connected.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self._client.disconnect()
        self._client.loop_stop()

    def _on_connect(self, *_):
        self._connected.set()

    def _wait(self, is_so, otherwise):
        with self._changed:
            assert self._changed.wait_for(is_so, PATIENCE), otherwise


class Publisher(Connected):
    """Publishes messages, at QoS 1 by default, and counts those that the broker has acknowledged."""

    def __init__(self, broker):
        super().__init__(broker, "publisher")
        self.n_sent = self.n_taken = 0
        self._client.max_inflight_messages_set(500)
        self._client.on_publish = self._on_publish

    def send(self, messages, qos=1, *, retain=False, content_type=None):
        """Queue messages; return at once."""
        properties = None
        if content_type is not None:
            properties = Properties(PacketTypes.PUBLISH)
            properties.ContentType = content_type
        for topic, payload in messages:
            self.n_sent += 1
            self._client.publish(topic, payload, qos, retain, properties)

    def await_taken(self, n=None):
        """Wait until the broker has acknowledged a number of messages, or all."""
        least = self.n_sent if n is None else n
        self._wait(lambda: self.n_taken >= least, f"the broker has taken fewer than {least} messages")

    def _on_publish(self, *_):
        with self._changed:
            self.n_taken += 1
            self._changed.notify_all()


class Witness(Connected):
    """Subscribes to all topics under a prefix, and loses nothing in a restart of the broker."""

    def __init__(self, broker, client_id="witness", expiry=FOR_EVER):
        super().__init__(broker, client_id, expiry)
        self.heard = []  # topics and payloads, in order
        self._client.on_subscribe = lambda *_: self._connected.set()
        self._client.on_message = self._on_message

    @property
    def decisions(self):
        """Payloads by the ids of decisions, as often as they were received."""
        payloads = defaultdict(list)
        for payload in filter(None, self.heard_on("streamfs/decision/")):  # an empty one clears what is retained
            payloads[orjson.loads(payload)["id"]].append(payload)
        return payloads

    def heard_on(self, prefix):
        with self._changed:
            return [payload for topic, payload in self.heard if topic.startswith(prefix)]

    def await_decisions(self, ids):
        """Wait until all of these are received, each at least once."""
        self._wait(lambda: set(ids) <= self.decisions.keys(), f"not all of {sorted(ids)} are published")

    def await_end(self):
        """Wait for a message of the test, which follows all that was retained or published before."""
        self._client.publish(END, b"", qos=1)
        self.await_heard(lambda heard: (END, b"") in heard, "the broker does not echo")

    def await_heard(self, is_so, otherwise):
        self._wait(lambda: is_so(self.heard), otherwise)

    def _on_connect(self, client, *_):
        client.subscribe("streamfs/#", qos=1)

    def _on_message(self, _client, _data, message):
        with self._changed:
            self.heard.append((message.topic, message.payload))
            self._changed.notify_all()


class Latecomer(Witness):
    """Subscribes to what the broker retains."""

    def __init__(self, broker):
        super().__init__(broker, "latecomer", expiry=0)
        self.retained = {}

    def _on_message(self, client, data, message):
        if message.retain:
            self.retained[message.topic] = message.payload
        super()._on_message(client, data, message)


def retained(broker):
    """Return what the broker retains under the gateway's prefix, by topic."""
    with Latecomer(broker) as client:
        client.await_end()
    return client.retained

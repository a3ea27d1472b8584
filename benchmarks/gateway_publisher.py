"""Publish readings as fast as the broker takes them, or at a steady rate, over one connection; used by `gateway.py`.

python benchmarks/gateway_publisher.py '{"port": 1883, "qos": 1, "form": "single", "n_nodes": 1000, "rounds": [0, 9]}'

Packets are written straight to a socket (MQTT 5), which takes a tenth of the work that reading them takes, so that the
publisher holds nobody up. In each round every node publishes once, to ``sensors/{node}/light``. Forms:

- ``single``: 105 bytes of JSON with ``t``, ``v`` and ``seq``; ``t`` is the round, or the wall clock's at a ``rate``
- ``array`` and ``json``: fifty samples, as a binary array or an array in JSON

With ``spikes`` every round one node, in turn, publishes a value of 1 instead of one below 0.5.
"""

import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from struct import pack
from typing import Any

from streamfs.gateway.messages.codecs import encode_array

BEGINNING = 1.7e9  # seconds since 1970, of round 0
N_BYTES = 105
N_SAMPLES = 50
_CHUNK = 1 << 15  # bytes that are sent together
_CONNECT = b"\x10\x16\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x09publisher"
_PING, _PONG = b"\xc0\x00", b"\xd0\x00"
_ARRAY = b"\x03\x00\x18application/octet-stream"  # the content type property


def single(time_: float, value: float, number: int) -> bytes:
    """Return a reading as a node sends it, with unused fields."""
    known = b'{"t": %.6f, "v": %.4f, "seq": %d, "unit": "lx", "battery": 2.93, "rssi": -67, "pad": "' % (
        time_,
        value,
        number,
    )
    return known + b"x" * (N_BYTES - len(known) - 2) + b'"}'


def binary(time_: float, value: float, _: int) -> bytes:
    return encode_array(time_, 1.0, [value] * N_SAMPLES)


def listed(time_: float, value: float, number: int) -> bytes:
    values = b", ".join([b"%.4f" % value] * N_SAMPLES)
    return b'{"t0": %.6f, "dt": 1.0, "seq": %d, "v": [%s]}' % (time_, number, values)


Form = Callable[[float, float, int], bytes]
FORMS: dict[str, tuple[Form, bytes, float]] = {
    "single": (single, b"", 1.0),
    "array": (binary, _ARRAY, float(N_SAMPLES)),
    "json": (listed, b"", float(N_SAMPLES)),
}
"""The function that makes a payload, its properties, and the seconds between rounds."""


def packet(topic: bytes, payload: bytes, properties: bytes, packet_id: int | None) -> bytes:
    """A message (MQTT 5, 3.3), of quality of service 1 if it has a packet id."""
    number = b"" if packet_id is None else pack("!H", packet_id)
    body = b"".join((pack("!H", len(topic)), topic, number, bytes([len(properties)]), properties, payload))
    n = len(body)
    length = bytes([n]) if n < 128 else bytes([n & 127 | 128, n >> 7])
    return (b"\x30" if packet_id is None else b"\x32") + length + body


def packets(arguments: dict[str, Any], clock: Callable[[], float] | None) -> Iterator[bytes]:
    """Yield the packets to publish, in order; with a clock, stamped when requested."""
    form, properties, step = FORMS[arguments["form"]]
    topics = [b"sensors/n%04d/light" % node for node in range(arguments["n_nodes"])]
    packet_id = 0
    for number in range(*arguments["rounds"]):
        for node, topic in enumerate(topics):
            packet_id = packet_id % 65535 + 1
            is_spike = arguments.get("spikes") and node == number % len(topics)
            value = 1.0 if is_spike else (node * 7919 + number * 104729) % 4096 / 10000
            stamp = BEGINNING + number * step if clock is None else clock()
            yield packet(topic, form(stamp, value, number), properties, packet_id if arguments["qos"] else None)


class Connection:
    """A connection that sends without waiting for answers, until it is settled."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(_CONNECT)
        self._socket.recv(64)
        self._socket.settimeout(0.0)
        self._end = b""

    def send(self, data: bytes) -> None:
        """Send, and read what has arrived in the meantime."""
        self._socket.settimeout(60.0)
        self._socket.sendall(data)
        self._socket.settimeout(0.0)
        try:
            while received := self._socket.recv(_CHUNK):
                self._end = (self._end + received)[-2:]
        except BlockingIOError:
            return
        raise ConnectionError("the broker has closed the publisher's connection")

    def settle(self) -> None:
        """Wait until the broker has taken all messages: it answers in order."""
        self.send(_PING)
        self._socket.settimeout(60.0)
        while self._end != _PONG:
            self._end = (self._end + self._socket.recv(_CHUNK))[-2:]
        self._socket.close()


def flood(connection: Connection, arguments: dict[str, Any]) -> None:
    """Publish as fast as the broker takes it."""
    waiting, size = [], 0
    for data in packets(arguments, None):
        waiting.append(data)
        size += len(data)
        if size > _CHUNK:
            connection.send(b"".join(waiting))
            waiting, size = [], 0
    connection.send(b"".join(waiting))


def pace(connection: Connection, arguments: dict[str, Any], rate: float) -> list[float]:
    """Publish `rate` messages a second, each stamped when sent; return the stamps."""
    stamps: list[float] = []

    def stamp() -> float:
        """Wait until the next message is due."""
        due = start + len(stamps) / rate
        time.sleep(max(0.0, due - time.time()))
        stamps.append(time.time())
        return stamps[-1]

    start = float(int(time.time()) + 1)  # at the beginning of a second
    for data in packets(arguments, stamp):
        connection.send(data)
    return stamps


def main(arguments: dict[str, Any]) -> None:
    connection = Connection(arguments["port"])
    begin = time.time()
    stamps = (
        pace(connection, arguments, arguments["rate"]) if "rate" in arguments else flood(connection, arguments)
    )
    connection.settle()
    print(json.dumps({"seconds": time.time() - begin, "stamps": stamps}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""Many messages in a short time: packets of MQTT 3.1.1, made at once and sent in large pieces."""

import socket

CHUNK = 1000  # messages
CONNECT = b"\x10\x11\x00\x04MQTT\x04\x02\x00\x3c\x00\x05flood"
PINGREQ = b"\xc0\x00"
CONNACK_BYTES, PUBACK_BYTES, PINGRESP_BYTES = 4, 4, 2


def flood(broker, messages, qos):
    """Publish messages as fast as the broker accepts them, until it has all of them."""
    packets = [packet(sent, number % 65535 + 1 if qos else None) for number, sent in enumerate(messages)]
    with socket.create_connection((broker.host, broker.port)) as wire:
        wire.sendall(CONNECT)
        receive(wire, CONNACK_BYTES)
        for start in range(0, len(packets), CHUNK):
            chunk = packets[start : start + CHUNK]
            wire.sendall(b"".join(chunk))
            receive(wire, PUBACK_BYTES * len(chunk) * qos)
        wire.sendall(PINGREQ)
        receive(wire, PINGRESP_BYTES)


def packet(sent, number=None):
    """Return a PUBLISH packet; with a number its QoS is 1."""
    topic = sent.topic.encode()
    body = len(topic).to_bytes(2, "big") + topic
    if number is not None:
        body += number.to_bytes(2, "big")
    body += sent.payload
    return bytes([0x30 if number is None else 0x32]) + length(len(body)) + body


def length(n):
    """Encode a number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while n > 127:
        groups.append(n & 127 | 128)
        n >>= 7
    return bytes([*groups, n])


def receive(wire, n_bytes):
    """Read exactly ``n_bytes`` bytes."""
    while n_bytes:
        n_bytes -= len(wire.recv(n_bytes))

"""Boundaries of MQTT packets, and the properties of messages."""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

_CONTENT_TYPE, _SUBSCRIPTION_IDENTIFIER = 3, 11  # properties of a message (MQTT 5, 3.3.2.3)
_NUMBERS = {1: 1, 2: 4, 35: 2}  # numeric properties, and their bytes
_TEXTS = {_CONTENT_TYPE: 1, 8: 1, 9: 1, 38: 2}  # text properties, and how many texts
_LAST = 127  # numbers of one byte
_KNOWN = 256  # cached sets of properties: publishers repeat themselves


class PacketError(Exception):
    """Incoming bytes are not MQTT."""


def split_packets(incoming: bytearray) -> Iterator[tuple[int, bytes]]:
    r"""Remove whole packets from the front of incoming bytes, yielding the first byte and the body of each."""
    start = 0
    with suppress(IndexError):  # the length itself is cut off
        length, body = variable_integer(incoming, 1)
        data = bytes(incoming) if body + length <= len(incoming) else b""  # a copy of a part would be in vain
        while True:
            length, body = data[start + 1], start + 2
            if length > _LAST:
                length, body = variable_integer(data, start + 1)
            end = body + length
            if end > len(data):
                break
            yield data[start], data[body:end]
            start = end
    del incoming[:start]


@lru_cache(_KNOWN)
def read_content_type(properties: bytes) -> str:
    r"""Return the content type among the properties of a message; empty if it has none.

    Properties that are not those of a message raise a LookupError, ValueError or PacketError.
    """
    start = 0
    while start < len(properties):
        end = _end_of_property(properties, start)
        if properties[start] == _CONTENT_TYPE:
            return properties[start + 3 : end].decode()
        start = end
    return ""


def _end_of_property(properties: bytes, start: int) -> int:
    identifier, end = properties[start], start + 1
    if identifier in _NUMBERS:
        end += _NUMBERS[identifier]
    elif identifier == _SUBSCRIPTION_IDENTIFIER:
        _, end = variable_integer(properties, end)
    else:
        for _ in range(_TEXTS[identifier]):
            end += 2 + (properties[end] << 8 | properties[end + 1])
    if end > len(properties):
        raise IndexError(f"property {identifier} is cut off")
    return end


def variable_integer(data: bytes | bytearray, start: int) -> tuple[int, int]:
    """Return a number of one to four bytes (MQTT 5, 1.5.5), and the index after it."""
    value = 0
    for index in range(4):
        byte = data[start + index]
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value, start + index + 1
    raise PacketError(f"a length of more than four bytes: {bytes(data[start : start + 4]).hex()}")

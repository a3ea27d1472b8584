"""Sparkplug B on the wire, byte by byte: what simulated edge nodes write, and what they understand."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

DOUBLE, WHOLE, BOOLEAN = 10, 8, 11
"""Types of metrics: a number, a whole number of 64 bits, true or false."""

_VALUES = {DOUBLE: 13, WHOLE: 11, BOOLEAN: 14}  # fields
_VARINT, _FIXED_64, _TEXT, _FIXED_32 = 0, 1, 2, 5


class WireMetric(NamedTuple):
    """A metric; one with an alias may lack the name."""

    name: str
    alias: int
    kind: int
    value: float


def written(seconds: float, metrics: list[WireMetric], sequence: int) -> bytes:
    """Return a payload at a time, in seconds since 1970.

    Examples
    --------
    >>> dict(understood(written(0.0, [WireMetric("x", 1, DOUBLE, 2.5)], 0)))
    {'x': 2.5}
    """
    stamp = int(1000 * seconds)
    body = b"".join(_field(2, _metric(metric, stamp)) for metric in metrics)
    return _field(1, stamp) + body + _field(3, sequence)


def understood(payload: bytes) -> Iterator[tuple[str | int, float]]:
    """Yield name, or alias if there is none, and value of each metric that a payload writes."""
    for place, value in _fields(payload):
        if place == 2 and isinstance(value, bytes):
            parts = dict(_fields(value))
            name, alias = parts.get(1), parts.get(2)
            found = next((parts[each] for each in (10, 11, 12, 13, 14) if each in parts), 0)
            if not isinstance(found, bytes):
                yield name.decode() if isinstance(name, bytes) else int(str(alias)), float(found)


def _metric(metric: WireMetric, stamp: int) -> bytes:
    named = _field(1, metric.name.encode()) if metric.name else b""
    value: int | float = metric.value if metric.kind == DOUBLE else int(metric.value)
    head = named + _field(2, metric.alias) + _field(3, stamp) + _field(4, metric.kind)
    return head + _field(_VALUES[metric.kind], value)


def _field(place: int, value: bytes | float) -> bytes:
    if isinstance(value, int):
        return _varint(place << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(place << 3 | _FIXED_64) + struct.pack("<d", value)
    return _varint(place << 3 | _TEXT) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _fields(payload: bytes) -> Iterator[tuple[int, bytes | float]]:
    """Yield place and value of each field."""
    at = 0
    while at < len(payload):
        head, at = _read_varint(payload, at)
        place, kind = head >> 3, head & 7
        if kind == _VARINT:
            value, at = _read_varint(payload, at)
            yield place, value
        elif kind == _TEXT:
            size, at = _read_varint(payload, at)
            yield place, payload[at : at + size]
            at += size
        else:
            form, size = {_FIXED_64: ("<d", 8), _FIXED_32: ("<f", 4)}[kind]
            yield place, struct.unpack(form, payload[at : at + size])[0]
            at += size


def _read_varint(payload: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = payload[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at

"""What mosquitto_sub has printed of messages, each with its time, topic and payload."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from streamfs.base.scalars import scalars
from streamfs.cli.histories.past_reading import PastReading, value_of

_PLAIN = re.compile(
    r"(?P<time>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}[+-]\d{4}|\d{9,10}\.\d{9}) "
    r"(?P<topic>[^\s$][^\s]*) (?P<payload>.*)"
)
"""A line of the format ``%I %t %p``, or ``%U %t %p``."""

_STAMP = re.compile(r"(?P<local>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?)Z?(?P<offset>[+-]\d{4})")


class _Heard(NamedTuple):
    """Seconds since 1970, topic, and payload, which may be decoded JSON."""

    time: float
    topic: str
    payload: Any


def is_printed(line: str) -> bool:
    """Return whether a line is one of mosquitto_sub, with a time."""
    return _heard(line) is not None


def printed(path: Path) -> Iterator[PastReading]:
    """Yield the numbers in payloads, as they arrived.

    Formats are ``%j`` and ``%J``, or ``%t %p`` behind a time, ``%I`` or ``%U``. A payload that is a value is of
    the quantity that the last level of the topic names, and of the device that the others do; of an object each
    number is one, of the device that the whole topic names. What the broker had kept is of another time, and left
    out, where the format says so.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            heard = _heard(line.rstrip("\r\n"))
            if heard is None:
                continue
            device, _, last = heard.topic.rpartition("/")
            if isinstance(heard.payload, dict):
                named = [(heard.topic, path, value) for path, value in scalars(heard.payload)]
            else:
                named = [(device or heard.topic, last if device else "value", heard.payload)]
            for node, quantity, text in named:
                value = value_of(text)
                if value is not None:
                    yield PastReading(node, heard.time, quantity, value)


def _heard(line: str) -> _Heard | None:
    """Return what a line says; None without a message or a time, or if the broker had kept it."""
    found = _PLAIN.fullmatch(line)
    if found is None:
        return _of_json(line)
    return _at(found["time"], found["topic"], found["payload"])


def _of_json(line: str) -> _Heard | None:
    try:
        said = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(said, dict) or not {"tst", "topic", "payload"} <= said.keys() or said.get("retain"):
        return None
    return _at(str(said["tst"]), str(said["topic"]), said["payload"])


def _at(time: str, topic: str, payload: Any) -> _Heard | None:
    """Return a message; None if its time is none."""
    found = _STAMP.fullmatch(time)
    try:
        local = None if found is None else datetime.fromisoformat(found["local"] + found["offset"])
        return _Heard(float(time) if local is None else local.timestamp(), topic, _decoded(payload))
    except ValueError:
        return None


def _decoded(payload: Any) -> Any:
    """Return the object of JSON that a text is; all else as it is."""
    if isinstance(payload, str) and payload.lstrip().startswith("{"):
        try:
            return orjson.loads(payload)
        except orjson.JSONDecodeError:
            return payload
    return payload

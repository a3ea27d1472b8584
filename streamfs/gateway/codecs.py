"""What is in a payload: readings from nodes, decisions for everybody."""

from math import isfinite
from typing import Any, NamedTuple

import orjson

from streamfs.errors import PayloadError
from streamfs.procedure import Decision

_VALUE = ("v", "value")
_TIME = ("t", "ts", "timestamp")
_LATEST = 1e11  # seconds; a stamp in milliseconds lies beyond it
_SHOWN = 40  # characters of an offending payload or value


class Reading(NamedTuple):
    """What a node reports in one message.

    Parameters
    ----------
    time : float or None
        Seconds; None if the node has no clock.
    value : float
        In the column's unit; 0 or 1 for a flag.
    sequence : int or None
        Number of the message on its channel; None if the node does not count.
    """

    time: float | None
    value: float
    sequence: int | None


def decode(payload: bytes) -> Reading:
    """Read a reading from plain JSON.

    The payload is a number, or an object with the number under ``v`` or ``value``, and optionally a time in
    seconds under ``t``, ``ts`` or ``timestamp`` and a sequence number under ``seq``. True and false count as 1
    and 0.

    Parameters
    ----------
    payload : bytes
        As received.

    Returns
    -------
    Reading
        Value and time are finite.

    Raises
    ------
    PayloadError
        If it is anything else, naming the part that offends.

    Examples
    --------
    >>> decode(b"21.5")
    Reading(time=None, value=21.5, sequence=None)
    >>> decode(b'{"v": true, "t": 12, "seq": 3}')
    Reading(time=12.0, value=1.0, sequence=3)
    """
    try:
        document = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise PayloadError(f"payload is {_shown(payload)}, expected JSON ({error})") from error
    if not isinstance(document, dict):
        return Reading(None, _number("payload", document), None)
    name = _first(document, _VALUE)
    if name is None:
        raise PayloadError(f"payload is {_shown(payload)}, expected a field v or value")
    return Reading(_time(document), _number(name, document[name]), _sequence(document))


def encode_decision(decision: Decision) -> bytes:
    """Write a decision as a JSON object, with ``stream/episode`` as its ``id``.

    Examples
    --------
    >>> decision = Decision("mote-1", 1, "walk", 0.95, 12, 12.0, "confident", 11.0)
    >>> orjson.loads(encode_decision(decision))["id"]
    'mote-1/1'
    """
    return orjson.dumps(decision.to_json())


def _first(document: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in document), None)


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float):
        raise PayloadError(f"{name} is {_shown(value)}, expected a number")
    return float(value)


def _time(document: dict[str, Any]) -> float | None:
    name = _first(document, _TIME)
    if name is None:
        return None
    time = document[name]
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise PayloadError(f"{name} is {_shown(time)}, expected a number of seconds")
    if not (isfinite(time) and abs(time) < _LATEST):
        raise PayloadError(f"{name} is {time}, expected seconds, less than {_LATEST:g}")
    return float(time)


def _sequence(document: dict[str, Any]) -> int | None:
    if "seq" not in document:
        return None
    sequence = document["seq"]
    if isinstance(sequence, bool) or not isinstance(sequence, int) or sequence < 0:
        raise PayloadError(f"seq is {_shown(sequence)}, expected a whole number, at least 0")
    return sequence


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

"""Numbers, times and sequence numbers of payloads, checked."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from reprlib import Repr

from streamfs.errors import PayloadError

LATEST = 1e11
"""Seconds; a time in milliseconds lies beyond it."""

UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
"""Units of time, as many as make a second."""

TIME_UNITS = (*UNITS, "iso")
"""How times may be written: a number in one of the units, or text as ISO 8601 has it."""

_SEQUENCES = 2**63  # what a database has room for
_SHOWN = 40  # characters of an offending payload or value
_repr = Repr()
_repr.maxstring = _repr.maxother = _SHOWN


def shown(value: object) -> str:
    """Return the beginning of a value as text, however long or deeply nested it is."""
    if isinstance(value, bytes):
        value = value[: _SHOWN + 1]
    if isinstance(value, int) and abs(value) >= 2**64:
        return "a whole number beyond 64 bits"
    text = _repr.repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def number(name: str, value: object) -> float:
    """Return a number that is finite; true and false count as 1 and 0.

    Raises
    ------
    PayloadError
        If it is anything else, null and text among it.
    """
    if not isinstance(value, int | float | Decimal):
        raise PayloadError(f"{name} is {shown(value)}, expected a number")
    if not isfinite(value):
        raise PayloadError(f"{name} is {value}, expected a finite number")
    return float(value)


def sequence_number(name: str, value: object) -> int:
    """Return a sequence number: whole, from 0, within 63 bits.

    Raises
    ------
    PayloadError
        If it is anything else.
    """
    if type(value) is not int or not 0 <= value < _SEQUENCES:
        raise PayloadError(f"{name} is {shown(value)}, expected a whole number, at least 0 and less than 2**63")
    return value


def clock(unit: str) -> Callable[[str, object], float]:
    """Return what reads times of a unit into seconds, given their name and value, or raises a PayloadError.

    Raises
    ------
    ValueError
        If the unit is not one of `TIME_UNITS`.

    Examples
    --------
    >>> clock("ms")("ts", 1500)
    1.5
    >>> clock("iso")("time", "1970-01-01T00:01:00Z")
    60.0
    """
    if unit not in TIME_UNITS:
        raise ValueError(f"time unit is {unit!r}, expected one of {', '.join(TIME_UNITS)}")
    if unit == "s":
        return seconds
    return seconds_of_text if unit == "iso" else partial(_seconds_of_units, unit)


def seconds(name: str, value: object) -> float:
    """Return a time in seconds, less than `LATEST` on either side of 0.

    Raises
    ------
    PayloadError
        If it is anything else.
    """
    if (type(value) is float or type(value) is int) and -LATEST < value < LATEST:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PayloadError(f"{name} is {shown(value)}, expected a number of seconds")
    raise PayloadError(f"{name} is {shown(value)}, expected seconds, less than {LATEST:g}")


def seconds_of_text(name: str, value: object) -> float:
    """Return the seconds since 1970 of a time as ISO 8601 writes it; without an offset it is UTC.

    Raises
    ------
    PayloadError
        If it is anything else.
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        pass
    raise PayloadError(f"{name} is {shown(value)}, expected a time such as 2025-01-31T12:00:00Z")


def _seconds_of_units(unit: str, name: str, value: object) -> float:
    per_second = UNITS[unit]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PayloadError(f"{name} is {shown(value)}, expected a number of {unit}")
    if not -LATEST * per_second < value < LATEST * per_second:
        raise PayloadError(f"{name} is {shown(value)}, expected {unit}, less than {LATEST * per_second:g}")
    return value / per_second

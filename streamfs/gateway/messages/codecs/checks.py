"""Checks of numbers, times and sequence numbers in payloads."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from reprlib import Repr
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from streamfs.errors import PayloadError

LATEST = 1e11
"""Upper bound of times in seconds; times in milliseconds exceed it."""

UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
"""Units of time, and their number in a second."""

TIME_UNITS = (*UNITS, "iso", "any")
"""Formats of times: a number in one of the units, ISO 8601 text, or either, of any unit that its size tells."""

_SEQUENCES = 2**63  # the bound of integers in a database
_SINCE_1970 = re.compile(r"\d{10}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?")  # of 2001 to 2286, in any unit
_SHOWN = 40  # characters of an offending payload or value
_MEASURED = re.compile(r"[+-]?\d+(?:\.\d+)?\s*([^\s\d.,:;+-][^\s\d]{0,7})")
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+")
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


def unit_of(text: str) -> str:
    r"""Return the unit behind a number; empty if a text is none with one.

    >>> unit_of("21.5 °C"), unit_of("on"), unit_of("21"), unit_of("21\0")
    ('°C', '', '', '')
    """
    found = _MEASURED.fullmatch(text.strip())
    return found[1] if found and found[1].isprintable() else ""


def unit_advice(payload: bytes) -> str:
    """Return how to read a payload that is a number with a unit, or a comma; empty for another."""
    text = payload.decode(errors="replace")
    if _WITH_COMMA.fullmatch(text.strip()):
        return '; if the comma stands before decimals, say so in values of the source: "," = "point"'
    unit = unit_of(text)
    return f'; if {unit} is a unit, name it in values of the source: "{unit}" = "unit"' if unit else ""


def number(name: str, value: object) -> float:
    """Return a finite number, true and false as 1 and 0; raise a PayloadError for anything else."""
    if not isinstance(value, int | float | Decimal):
        raise PayloadError(f"{name} is {shown(value)}, expected a number", "number")
    if not isfinite(value):
        raise PayloadError(f"{name} is {value}, expected a finite number", "number")
    return float(value)


def sequence_number(name: str, value: object) -> int:
    """Return a sequence number, whole and from 0 to 2**63 - 1; raise a PayloadError for anything else."""
    if type(value) is not int or not 0 <= value < _SEQUENCES:
        expected = "a whole number, at least 0 and less than 2**63"
        raise PayloadError(f"{name} is {shown(value)}, expected {expected}", "sequence")
    return value


def clock(unit: str) -> Callable[[str, object], float]:
    """Return a function from the name and value of a time in `unit` to seconds, which may raise a PayloadError."""
    if unit not in TIME_UNITS:
        raise ValueError(f"time unit is {unit!r}, expected one of {', '.join(TIME_UNITS)}")
    if unit == "s":
        return seconds
    texts = {"iso": seconds_of_text, "any": _seconds_of_any}
    return texts[unit] if unit in texts else partial(_seconds_of_units, unit)


def seconds(name: str, value: object) -> float:
    """Return a time in seconds, between -`LATEST` and `LATEST`; raise a PayloadError for anything else."""
    if (type(value) is float or type(value) is int) and -LATEST < value < LATEST:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PayloadError(f"{name} is {shown(value)}, expected a number of seconds", "time")
    raise PayloadError(f"{name} is {shown(value)}, expected seconds, less than {LATEST:g}", "time")


def seconds_of_text(name: str, value: object) -> float:
    """Return an ISO 8601 time, UTC without an offset, as seconds since 1970, or raise a PayloadError."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            time = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            if -LATEST < time < LATEST:
                return time
    except (ValueError, OverflowError):
        pass
    raise PayloadError(f"{name} is {shown(value)}, expected a time such as 2025-01-31T12:00:00Z", "time")


def zone(name: str) -> ZoneInfo:
    """Return a time zone by its name; raise a ValueError if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(f"time_zone is {name!r}, expected one such as Europe/Berlin") from error


def local_seconds(place: ZoneInfo, name: str, value: object, arrival: float) -> float:
    """Return an ISO 8601 time, in a zone unless it has an offset, as seconds since 1970.

    In the hour that clocks repeat in autumn it is the time that is nearer to the arrival.
    """
    seconds_of_text(name, value)  # which raises an error if it is none
    moment = datetime.fromisoformat(str(value))
    if moment.tzinfo:
        return moment.timestamp()
    times = [moment.replace(tzinfo=place, fold=fold).timestamp() for fold in (0, 1)]
    return min(times, key=lambda time: abs(time - arrival))


def is_since_1970(value: object) -> bool:
    """Return whether a text is a number of seconds since 1970, or of smaller units.

    >>> is_since_1970("1795837712.5"), is_since_1970("1795837712500"), is_since_1970("20261128")
    (True, True, False)
    """
    return isinstance(value, str) and _SINCE_1970.fullmatch(value) is not None


def _seconds_of_any(name: str, value: object) -> float:
    """Return a time in ISO 8601, or a number of the first unit of `UNITS` in which it is less than `LATEST`."""
    if isinstance(value, str):
        if not is_since_1970(value):
            return seconds_of_text(name, value)
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PayloadError(f"{name} is {shown(value)}, expected a time in ISO 8601, or a number", "time")
    unit = next((unit for unit, per_second in UNITS.items() if abs(value) < LATEST * per_second), "ns")
    return _seconds_of_units(unit, name, value)


def _seconds_of_units(unit: str, name: str, value: object) -> float:
    per_second = UNITS[unit]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PayloadError(f"{name} is {shown(value)}, expected a number of {unit}", "time")
    if not -LATEST * per_second < value < LATEST * per_second:
        message = f"{name} is {shown(value)}, expected {unit}, less than {LATEST * per_second:g}"
        raise PayloadError(message, "time")
    return value / per_second

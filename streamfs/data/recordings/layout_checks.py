"""What is refused of the fields of a layout, and the form in which they are kept."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from reprlib import repr as shortened
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from streamfs.data.recordings.layout_words import UNITS
from streamfs.errors import DataError


def check_period(period: float | None, name: str = "period") -> None:
    """Refuse a period, or what else has the `name`, that is not a positive number of seconds."""
    if period is not None:
        require_seconds(name, period)


def require_seconds(name: str, seconds: Any) -> None:
    """Refuse what is not a positive number of seconds."""
    if not (is_number(seconds) and seconds > 0):
        raise DataError(f"{name} is {shortened(seconds)}, expected a positive number of seconds")


def check_word(name: str, word: object, words: Sequence[str]) -> None:
    """Refuse what is neither None nor one of some words."""
    if word is not None and not (isinstance(word, str) and word in words):
        raise DataError(f"{name} is {word!r}, expected {' or '.join(map(repr, words))}")


def check_zone(zone: object) -> None:
    """Refuse what is not the name of a time zone."""
    try:
        is_known = isinstance(zone, str) and bool(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        is_known = False
    if not is_known:
        raise DataError(f"time_zone is {zone!r}, expected a name such as 'Europe/Berlin'")


def is_number(number: Any) -> bool:
    """Return whether this is a finite number."""
    try:
        return isinstance(number, Real) and isfinite(number)
    except OverflowError:  # a whole number beyond floats
        return False


def are_names(names: Any) -> bool:
    """Return whether these are one or several names of columns."""
    is_some = isinstance(names, list | tuple) and len(names) > 0
    return is_some and all(isinstance(name, str) and name for name in names)


def are_several(given: Any) -> bool:
    """Return whether this is a sequence of things, in any form, and no text."""
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)


def as_text(names: Any) -> Any:
    """Return names of columns, of which those of pandas may be numbers, as text; all else as it is."""
    if isinstance(names, Integral):
        return str(names)
    return type(names)(map(as_text, names)) if isinstance(names, list | tuple) else names


def each_once(name: str, columns: Any) -> tuple[str, ...]:
    """Return names of columns, the field `name`, as text; refuse none at all, and one that occurs twice."""
    names = tuple(map(str, columns)) if are_several(columns) else ()  # those of pandas may be numbers
    if not 0 < len(set(names)) == len(names):
        raise DataError(f"{name} is {columns!r}, expected the names of some columns, each once")
    return names


def form_of_times(form: Any) -> str:
    """Return a format of times; Python's ``.%f``, the fraction of a second, as ``%.f``, as others write it."""
    if not (isinstance(form, str) and (form in UNITS or "%" in form)):
        expected = "s, ms, us, ns or a format such as '%d.%m.%Y %H:%M'"
        raise DataError(f"time_format is {form!r}, expected {expected}")
    found = form.replace(".%f", "%.f")
    if "%f" in found:
        raise DataError(f"time_format is {form!r}, expected a point before %f: the fraction of a second is .%f")
    return found

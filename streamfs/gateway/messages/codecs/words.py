"""Words in place of numbers: ``ON``, ``unavailable``."""

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import orjson

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import number, shown, unit_advice

MISSING = "missing"
"""What a word stands for that is no value."""

UNIT = "unit"
"""What a word stands for that follows numbers, such as °C."""


POINT = "point"
"""What a comma stands for that numbers have before their decimals."""


class Words:
    """Numbers for the words that devices send in their place, or after them.

    A word stands for a number, for no value, ``"missing"``, or for the ``"unit"`` of the number before it; a comma
    stands for the ``"point"`` within numbers.

    A text that is a number, and no word among these, is that number; null is the word ``null``. Raise a
    ValueError if a word stands for anything else, or the number is not finite.

    >>> words = Words({"ON": 1, "unavailable": "missing", "°C": "unit"})
    >>> words.number("state", "ON"), words.number("state", "21.5 °C"), words.number("state", "unavailable")
    (1.0, 21.5, nan)
    >>> Words({",": "point"}).number("state", "21,5")
    21.5
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        for word, value in values.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
            if value == POINT and word != ",":
                raise ValueError(f"{word!r} stands for the {POINT!r}, expected that of a comma alone")
            if not (is_number or value in (MISSING, UNIT, POINT)):
                raise ValueError(f"{word!r} stands for {value!r}, expected a number, {MISSING!r} or {UNIT!r}")
        units = (word for word, value in values.items() if value == UNIT)
        self._units = tuple(sorted(units, key=len, reverse=True))  # kW before W
        self._values = {
            word: nan if value == MISSING else float(value)
            for word, value in values.items()
            if value not in (UNIT, POINT)
        }
        self._has_comma = POINT in values.values()

    def number(self, name: str, value: object) -> float:
        """Return the number of a value, NaN if it is missing; raise a PayloadError if it is none."""
        if value is not None and not isinstance(value, str):
            return number(name, value)
        word = "null" if value is None else value.strip()
        if word in self._values:
            return self._values[word]
        try:
            found = float(self._bare(word))
        except ValueError:
            found = nan
        if not isfinite(found):
            known = ", ".join((*self._values, *(f"a number and {unit}" for unit in self._units)))
            others = f", or one of {known}" if known else ""
            raise PayloadError(f"{name} is {shown(value)}, expected a number{others}", "number")
        return found

    def load(self, payload: bytes) -> Any:
        """Decode JSON, or a word that stands alone without quotes."""
        try:
            return orjson.loads(payload)
        except orjson.JSONDecodeError as error:
            try:
                text = payload.decode().strip()
            except UnicodeDecodeError:
                text = ""
            if text in self._values or self._bare(text) != text:
                return text
            raise PayloadError(
                f"payload is {shown(payload)}, expected JSON ({error}){unit_advice(payload)}", "syntax"
            ) from error

    def _bare(self, text: str) -> str:
        """Return a text without the unit at its end, and with a point for its comma, if it stands for one."""
        unit = next((unit for unit in self._units if text.endswith(unit)), "")
        bare = text.removesuffix(unit).rstrip() if unit else text
        return bare.replace(",", ".") if self._has_comma else bare

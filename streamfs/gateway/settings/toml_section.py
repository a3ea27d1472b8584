"""A table of a TOML file, read key by key; what is wrong is noted with its line, and told all at once."""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from streamfs.gateway.settings.toml_lines import Place
from streamfs.gateway.settings.toml_problems import Problems, nearest, shown

T = TypeVar("T")
V = TypeVar("V")

MOST = 2**53
"""Largest whole number."""

MOST_SECONDS = 1e9
"""Longest time."""

_KINDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "a table",
}


class Section:
    """One table.

    Each of its methods returns the value of a key, or what stands in for it where there is none or it is wrong.

    Parameters
    ----------
    values : object
        What the file has for it; None if it has none.
    place : tuple
        Where the table is.
    problems : Problems
        Where to note what is wrong.
    """

    def __init__(self, values: Any, place: Place, problems: Problems) -> None:
        self.is_there = values is not None
        self.place = place
        self._problems = problems
        self._asked: set[str] = set()
        if self.is_there and not isinstance(values, dict):
            problems.add(place, f"is {shown(values)}, expected a table")
            values = None
        self._values: dict[str, Any] = values or {}

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def note(self, key: str, text: str) -> None:
        """Note what is wrong with a key, or with the whole table if the key is empty."""
        self._problems.add((*self.place, key) if key else self.place, text)

    def text(self, key: str, default: T, choices: Sequence[str] = ()) -> str | T:
        """Return a text that is not empty; one of the choices, if there are any."""
        value = self._get(key, str)
        if value is None:
            return default
        if choices and value not in choices:
            self.note(key, f"is {shown(value)}, expected one of {', '.join(choices)}{nearest(value, choices)}")
            return default
        return self._checked(key, value, default, bool(value), "text that is not empty")

    def secret(self, key: str) -> str | None:
        """Return a text that is never shown."""
        if not isinstance(self._values.get(key, ""), str):
            self._asked.add(key)
            self.note(key, "is no text, expected text")
            return None
        return self.text(key, None)

    def needed(self, key: str, what: str) -> str:
        """Return a text that must be there."""
        if key not in self._values:
            self._asked.add(key)
            self.note(key, f"is missing, expected {what}")
        return self.text(key, "")

    def number(
        self, key: str, default: T, least: float = -inf, above: float = -inf, most: float = MOST_SECONDS
    ) -> float | T:
        """Return a number within bounds."""
        value = self._get(key, float)
        if value is None:
            return default
        low = f"more than {above:g}" if least < above else f"at least {least:g}"
        is_right = least <= value <= most and value > above
        return self._checked(key, value, default, is_right, f"a number, {low} and at most {most:g}")

    def whole(self, key: str, default: T, least: int, most: int = MOST) -> int | T:
        """Return a whole number within bounds."""
        value = self._get(key, int)
        if value is None:
            return default
        high = "" if most == MOST else f" and at most {most}"
        return self._checked(key, value, default, least <= value <= most, f"at least {least}{high}")

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._get(key, bool)
        return default if value is None else value

    def path(self, key: str) -> Path | None:
        """Return a path, taken from the folder of the file; None if there is none."""
        value = self.text(key, None)
        return None if value is None else Path(self._problems.file.parent, Path(value).expanduser()).absolute()

    def texts(self, key: str) -> tuple[str, ...]:
        """Return an array of texts, each once and at least one if it is there."""
        values = self._get(key, list)
        if values is None:
            return ()
        is_right = bool(values) and all(isinstance(value, str) for value in values)
        if not is_right or len(set(values)) < len(values):
            self.note(key, f"is {shown(values)}, expected an array of texts, at least one and none of them twice")
            return ()
        return tuple(values)

    def mapping(self, key: str) -> dict[str, str]:
        """Return a table of texts, at least one if it is there."""
        values = self._get(key, dict)
        if values is None:
            return {}
        if not values or not all(isinstance(value, str) for value in values.values()):
            self.note(key, f"is {shown(values)}, expected a table of texts, at least one")
            return {}
        return dict(values)

    def checked(self, key: str, check: Callable[[str], object], default: str) -> str:
        """Return a text that a function does not refuse with a ValueError."""
        value = self.text(key, default)
        try:
            check(value)
        except ValueError as error:
            text = str(error)
            self.note(key, text.removeprefix(f"{key} ") if text.startswith(f"{key} ") else f"cannot be: {text}")
        return value

    def section(self, key: str) -> "Section":
        """Return a table within this one."""
        self._asked.add(key)
        return Section(self._values.get(key), (*self.place, key), self._problems)

    def sections(self, key: str) -> list["Section"]:
        """Return the tables of an array."""
        values = self._get(key, list) or ()
        return [Section(value, (*self.place, key, n), self._problems) for n, value in enumerate(values)]

    def keys(self) -> tuple[str, ...]:
        """Return all keys, which are known then."""
        self._asked.update(self._values)
        return tuple(self._values)

    def finish(self) -> None:
        """Note the keys that nobody has asked for."""
        for key in self._values:
            if key not in self._asked:
                known = sorted(self._asked)
                hint = nearest(key, known) or f", expected one of {', '.join(known)}"
                self.note(key, f"is unknown{hint}")

    def _get(self, key: str, kind: type[V]) -> V | None:
        """Return a value of a kind; None if there is none, or one of another kind, which is noted."""
        self._asked.add(key)
        value = self._values.get(key)
        if kind is float and type(value) is int and abs(value) <= MOST:
            value = float(value)
        if value is not None and type(value) is not kind:
            self.note(key, f"is {shown(value)}, expected {_KINDS[kind]}")
            return None
        return value

    def _checked(self, key: str, value: V, default: T, is_right: bool, expected: str) -> V | T:
        if not is_right:
            self.note(key, f"is {shown(value)}, expected {expected}")
            return default
        return value

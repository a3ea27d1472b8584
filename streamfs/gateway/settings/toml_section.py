"""A table of a TOML file, read option by option; faults are collected with their lines, not raised one by one."""

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any, TypeVar

from feature_extractors.spelling import nearest
from streamfs.gateway.core.option_declaration import MAX_WHOLE, Declared, Option, OptionSection, declared, shown
from streamfs.gateway.core.options import GONE
from streamfs.gateway.settings.toml_lines import Place
from streamfs.gateway.settings.toml_problems import Problems

S = TypeVar("S", bound=OptionSection)
V = TypeVar("V")

_KINDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "a table",
}
_LONGEST_NAME, _LONGEST_PATH = 255, 2000  # bytes; systems take more for a path, and folders come before this one
_TOML_KINDS = {Path: str, tuple: list, Mapping: dict}  # of options that TOML writes as another kind


class Section:
    """A table of the file; its values are None if the file does not have it."""

    def __init__(self, values: Any, place: Place, problems: Problems) -> None:
        self.exists = values is not None
        self._place = place
        self._problems = problems
        self._known: set[str] = set()
        self._is_sound = True
        if self.exists and not isinstance(values, dict):
            problems.add(place, f"is {shown(values)}, expected a table")
            values = None
        self._values: dict[str, Any] = values or {}

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str) -> Any:
        """Return a value as it is; None if it is missing."""
        return self._values.get(key)

    def over(self, values: Mapping[str, Any]) -> "Section":
        """Return a section at the same place, with further values."""
        return Section({**values, **self._values}, self._place, self._problems)

    def note(self, key: str, text: str) -> None:
        """Note a fault of a key, or of the whole table if the key is empty."""
        self._is_sound = False
        self._problems.add((*self._place, key) if key else self._place, text)

    def section(self, key: str) -> "Section":
        """Return a table within this one."""
        self._known.add(key)
        return Section(self._values.get(key), (*self._place, key), self._problems)

    def sections(self, key: str) -> list["Section"]:
        """Return the tables of an array."""
        if isinstance(self._values.get(key), dict):
            name = ".".join(str(part) for part in (*self._place, key))
            self._known.add(key)
            self.note(key, f"is a table, expected one of several: write [[{name}]]")
            return []
        values = self._get(key, list) or ()
        return [Section(value, (*self._place, key, n), self._problems) for n, value in enumerate(values)]

    def texts_of_tables(
        self, check_key: Callable[[str], object], check: Callable[[str], object]
    ) -> dict[str, Any]:
        """Return all keys, each a table of texts, after checking keys and texts."""
        tables = {}
        for key in self._values:
            option = Option("", check=check)
            tables[key] = self._value(Declared(key, Mapping, option, {}), {})
            try:
                check_key(key)
            except ValueError as error:
                self.note(key, f"cannot be: {error}")
        return tables

    def named_sections(self, check_name: Callable[[str], object]) -> dict[str, "Section"]:
        """Return the tables within this one by name, after checking the names."""
        for name in self._values:
            try:
                check_name(name)
            except ValueError as error:
                self.note(name, f"cannot be: {error}")
        return {name: self.section(name) for name in self._values}

    def read(self, kind: type[S], **defaults: Any) -> S:
        """Return the table as a section of a kind; unknown keys and contradictions are noted.

        A wrong value becomes the default. Tables and arrays of tables must be read before, or are unknown keys.
        """
        values = {key: self._value(each, defaults.get(key, each.default)) for key, each in declared(kind).items()}
        self._note_unknown_keys()
        section = kind(**(defaults | values))
        for key, text in section.contradictions() if self._is_sound else ():
            self.note(key, text)
        return section

    def _value(self, each: Declared, default: Any) -> Any:
        """Return the value of an option, or its default if it is missing or wrong."""
        key, kind, option, _ = each
        value = self._get(key, _TOML_KINDS.get(kind, kind), is_secret=option.is_secret)
        if value is None:
            if default is MISSING and key not in self._values:
                self.note(key, f"is missing, expected {option.sentence[0].lower()}{option.sentence[1:]}")
            return kind() if default is MISSING else default
        fault = (
            _fault_of_container(value, option.values)
            or option.fault(key, tuple(value) if kind is tuple else value)
            or (_fault_of_path(value) if kind is Path else "")
        )
        if fault:
            self.note(key, fault + (nearest(value, option.choices) if option.choices else ""))
            return default
        if kind is Path:
            return Path(self._problems.file.parent, Path(value).expanduser()).absolute()
        return tuple(value) if kind is tuple else value

    def _get(self, key: str, kind: type[V], *, is_secret: bool = False) -> V | None:
        """Return a value of a type of TOML; None if it is missing, or of another type, which is noted."""
        self._known.add(key)
        value = self._values.get(key)
        if kind is float and type(value) is int and abs(value) <= MAX_WHOLE:
            value = float(value)
        if value is not None and type(value) is not kind:
            found = f"not {_KINDS[kind]}" if is_secret else shown(value)
            self.note(key, f"is {found}, expected {_KINDS[kind]}")
            return None
        return value

    def _note_unknown_keys(self) -> None:
        known = sorted(self._known)
        for key in self._values:
            if key not in self._known:
                unknown = "is unknown" + (nearest(key, known) or f", expected one of {', '.join(known)}")
                if self._place and key in self._problems.at_top:
                    unknown = "is in a table: write it above the first [...] of the file"
                self.note(key, GONE.get(key, unknown))


def _fault_of_path(value: str) -> str:
    """Return why a text cannot be a path; empty if it can."""
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        return f"is {shown(value)}, but there is no such user"
    if "\0" in value or any(len(os.fsencode(part)) > _LONGEST_NAME for part in path.parts):
        return f"is {shown(value)}, expected names without NUL and of at most {_LONGEST_NAME} bytes"
    return "" if len(os.fsencode(path)) <= _LONGEST_PATH else f"is {shown(value)}, expected a shorter path"


def _fault_of_container(value: object, kinds: tuple[type, ...]) -> str:
    """Return what is wrong with an array, which must hold texts, or a table of some kinds; empty for all else."""
    if isinstance(value, list):
        if not (value and all(isinstance(text, str) for text in value) and len(set(value)) == len(value)):
            return f"is {shown(value)}, expected an array of texts, at least one and none of them twice"
    elif isinstance(value, dict) and not (value and all(type(each) in kinds for each in value.values())):
        expected = "texts" if kinds == (str,) else "numbers and texts"
        return f"is {shown(value)}, expected a table of {expected}, at least one"
    return ""

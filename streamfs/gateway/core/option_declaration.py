"""How an option is declared: once, where its section has a field for it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from math import inf
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin

MAX_WHOLE = 2**53
"""Largest whole number that an option may have."""

MAX_NUMBER = 1e9
"""Largest number, in seconds mostly, that an option may have."""

MAX_TEXT = 10_000
"""Most bytes of a text, so that MQTT can send what is made of some; lists of them may be longer."""

_SHOWN = 60  # characters of an offending value


@dataclass(frozen=True)
class Option:
    """An option, apart from key, type and default: those are the field's that this annotates.

    `sentence` is its help; ``above`` is excluded; `check` raises ValueError for a text that is not allowed;
    `example` is shown in place of the default; the value of a secret is never shown. The values of a table are of
    the kinds in `values`. Besides its `choices`, names of `own`, a group of entry points, may be chosen.
    """

    sentence: str
    least: float = -inf
    above: float = -inf
    most: float | None = None
    choices: tuple[str, ...] = ()
    own: str = ""
    check: Callable[[str], object] | None = None
    example: object = None
    is_secret: bool = False
    values: tuple[type, ...] = (str,)

    def fault(self, key: str, value: Any) -> str:
        """Return what is wrong with a value of the right type, without the key; empty if nothing is."""
        if self.choices:
            fits = value in self.choices or self._is_own(value)
            return "" if fits else f"is {shown(value)}, expected one of {', '.join(self.choices)}"
        if isinstance(value, str | tuple):
            return self._fault_of_texts(key, value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return ""
        return self._fault_of_number(value)

    def _is_own(self, value: object) -> bool:
        """Return whether an installed package brings a part of that name."""
        from feature_extractors.own_parts import own_names  # noqa: PLC0415 - loads numpy

        return bool(self.own) and value in own_names(self.own)

    def _fault_of_number(self, value: float) -> str:
        is_whole = isinstance(value, int)
        most = (MAX_WHOLE if is_whole else MAX_NUMBER) if self.most is None else self.most
        if self.least <= value <= most and value > self.above:
            return ""
        low = f"more than {self.above:g}" if self.least < self.above else f"at least {self.least:g}"
        is_open = is_whole and self.most is None and value <= most
        high = "" if is_open else f" and at most {most if is_whole else f'{most:g}'}"
        return f"is {shown(value)}, expected {'' if is_whole else 'a number, '}{low}{high}"

    def _fault_of_texts(self, key: str, value: str | tuple[str, ...]) -> str:
        if not value:
            return "" if isinstance(value, tuple) else "is '', expected text that is not empty"
        try:
            for text in (value,) if isinstance(value, str) else value:
                if len(text.encode()) > MAX_TEXT:
                    return f"has {len(text.encode())} bytes, expected at most {MAX_TEXT}"
                if self.check is not None:
                    self.check(text)
        except ValueError as error:
            text = str(error)
            return text.removeprefix(f"{key} ") if text.startswith(f"{key} ") else f"cannot be: {text}"
        return ""


class Declared(NamedTuple):
    """An option with its key, its type (without None) and its default (`dataclasses.MISSING` if required)."""

    key: str
    kind: Any
    option: Option
    default: Any


@dataclass(frozen=True)
class OptionSection:
    """Base of sections: their fields annotated with an `Option` are options."""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        yield from ()


_DECLARED: dict[type[OptionSection], Mapping[str, Declared]] = {}


def declared(section: type[OptionSection]) -> Mapping[str, Declared]:
    """Return the options of a section by key."""
    if section not in _DECLARED:
        _DECLARED[section] = {field.name: each for field in fields(section) for each in _declared(field)}
    return _DECLARED[section]


def _declared(field: Any) -> Iterator[Declared]:
    options = [part for part in getattr(field.type, "__metadata__", ()) if isinstance(part, Option)]
    for option in options:
        kinds = [kind for kind in get_args(field.type.__origin__) if kind is not NoneType]
        kind = kinds[0] if kinds and NoneType in get_args(field.type.__origin__) else field.type.__origin__
        default = field.default if field.default_factory is MISSING else field.default_factory()
        yield Declared(field.name, get_origin(kind) or kind, option, default)


def require_valid(section: OptionSection, kind: type[OptionSection]) -> None:
    """Check the options of a section that code has made, as far as a kind of section declares them."""
    for key, _, option, default in declared(kind).values():
        value = getattr(section, key)
        fault = "" if value is None and default is None else option.fault(key, value)
        if fault:
            raise ValueError(f"{key} {fault}")


def shown(value: object) -> str:
    """Return the beginning of a value as text."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

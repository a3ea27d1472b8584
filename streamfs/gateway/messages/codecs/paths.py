"""Dotted paths into nested objects: ``ENERGY.Power``."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from feature_extractors.report import split_channel
from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown, unit_advice
from streamfs.gateway.messages.topics import check_name


def load_json(payload: bytes) -> Any:
    """Decode JSON; raise a PayloadError if it is too deep, not UTF-8, beyond a double, or invalid."""
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise PayloadError(
            f"payload is {shown(payload)}, expected JSON ({error}){unit_advice(payload)}", "syntax"
        ) from error


def is_any(part: str) -> bool:
    """Return whether a part of a path stands for any name, ``*``, or for any but one, ``*!ESP32``."""
    return part == "*" or part.startswith("*!")


class Paths:
    """Dotted paths into nested objects, where null is nothing.

    A number is a place in an array, from 0, and a name may have dots itself: ``SDS0X1.PM2.5``. ``*`` is the first
    name, or place in an array, from which the path leads on to something, ``*!ESP32`` the first but that one. Of
    several paths with bars between, the first that leads to something counts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._paths = tuple((text, [tuple(path.split(".")) for path in text.split("|")]) for text in texts)
        for text, paths in self._paths:
            if not all(map(all, paths)):
                raise ValueError(f"path is {text!r}, expected names with dots between them")

    def found(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the values that exist, by path; raise a PayloadError if a path leads through a non-object."""
        values = {}
        for text, paths in self._paths:
            for parts in paths:
                value = _at(document, parts, text)
                if value is not _NOWHERE:
                    values[text] = value
                    if value is not None:
                        break
        return values


_NOWHERE = object()


def _at(value: Any, parts: tuple[str, ...], text: str) -> Any:
    """Return the value at a path, `_NOWHERE` if there is none; raise a PayloadError as `Paths.found`."""
    for place, part in enumerate(parts):
        if type(value) is dict:
            if is_any(part):
                return _somewhere(value.items(), parts[place + 1 :], part[2:])
            if part not in value:
                return _dotted(value, parts[place:], text)
            value = value[part]
        elif value is None:
            return _NOWHERE
        elif type(value) is list and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        elif type(value) is list and is_any(part):
            return _somewhere(enumerate(value), parts[place + 1 :], part[2:])
        else:
            raise PayloadError(f"{text} leads through {shown(value)}, expected an object")
    return value


def _dotted(document: dict[str, Any], parts: tuple[str, ...], text: str) -> Any:
    """Return the value at a path whose first name has dots itself, as ``PM2.5``; `_NOWHERE` if there is none."""
    for end in range(2, len(parts) + 1):
        name = ".".join(parts[:end])
        if name in document:
            return _at(document[name], parts[end:], text)
    return _NOWHERE


def _somewhere(document: Iterable[tuple[str | int, Any]], parts: tuple[str, ...], left_out: str) -> Any:
    """Return the value at a path within the first of several objects that has it, and is not left out."""
    for name, inner in document:
        if name == left_out or (parts and type(inner) is not dict):
            continue
        try:
            value = _at(inner, parts, str(name))
        except PayloadError:
            continue
        if value is not None and value is not _NOWHERE:
            return value
    return _NOWHERE


def checked_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Copy a map of fields to channels; raise a ValueError if it is empty, or a channel wrong or repeated."""
    if not fields:
        raise ValueError("fields are empty, expected at least one")
    channels: set[str] = set()
    for channel in fields.values():
        check_name("channel", channel)
        split_channel(channel)
        if channel in channels:
            raise ValueError(f"fields have channel {channel!r} twice")
        channels.add(channel)
    return dict(fields)

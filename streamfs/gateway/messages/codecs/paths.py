"""Dotted paths into nested objects: ``ENERGY.Power``."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from feature_extractors.report import split_channel
from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.topics import check_name


def load_json(payload: bytes) -> Any:
    """Decode JSON; raise a PayloadError if it is too deep, not UTF-8, beyond a double, or invalid."""
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise PayloadError(f"payload is {shown(payload)}, expected JSON ({error})", "syntax") from error


class Paths:
    """Dotted paths into nested objects."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._parts = tuple((text, tuple(text.split("."))) for text in texts)
        for text, parts in self._parts:
            if not all(parts):
                raise ValueError(f"path is {text!r}, expected names with dots between them")

    def found(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the values that exist, by path; raise a PayloadError if a path leads through a non-object."""
        values = {}
        for text, parts in self._parts:
            value: Any = document
            for part in parts:
                if type(value) is not dict:
                    raise PayloadError(f"{text} leads through {shown(value)}, expected an object")
                if part not in value:
                    break
                value = value[part]
            else:
                values[text] = value
        return values


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

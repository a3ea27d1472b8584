"""What the payload of a message has beside what its source reads."""

from collections.abc import Mapping
from typing import Any

import orjson

from streamfs.base.scalars import scalars
from streamfs.errors import PayloadError
from streamfs.gateway.core.routes import Route
from streamfs.gateway.messages.codecs.chirpstack import ChirpStackCodec, TheThingsCodec
from streamfs.gateway.messages.codecs.paths import Paths, load_json

_ROOTS = {"auto": "", "json": "", "chirpstack": ChirpStackCodec.measured, "thethings": TheThingsCodec.measured}
"""By format: where in a payload the paths of fields begin."""

_STATES = frozenset({"on", "off", "open", "closed", "true", "false"})  # words that are readings, in small letters
_NO_READINGS = ("time", "sequence")  # options of a route that are paths
_PLAIN = ("t", "ts", "timestamp", "t0", "dt", "seq")  # where these are by default


def root_of(route: Route) -> str | None:
    """Return the path below which those of a route's fields begin; None if its fields are no paths."""
    names_none = not route.described or route.channel is not None or route.template.has_channel
    return None if names_none else _ROOTS.get(orjson.loads(route.described)["name"])


def unread(route: Route, payload: bytes) -> dict[str, Any]:
    """Return the numbers and states of a JSON payload that a route does not read, by their paths for `fields`.

    Examples
    --------
    >>> route = Route.of("tele/{node}/SENSOR", "json", fields={"*.Temperature": "temperature"})
    >>> unread(route, b'{"DS18B20-1": {"Temperature": 4.5}, "DS18B20-2": {"Temperature": 5}}')
    {'DS18B20-2.Temperature': 5}
    """
    root = root_of(route)
    if root is None:
        return {}
    records = orjson.loads(route.described).get("records")
    try:
        document = load_json(payload)
        if records and isinstance(document, dict):
            document = Paths([records]).found(document).get(records)
        if isinstance(document, list):
            document = next(iter(document), None)  # the first stands for all
        if root:
            document = Paths([root]).found(document).get(root) if isinstance(document, dict) else None
    except PayloadError:
        return {}
    if not isinstance(document, dict):
        return {}
    found = {path: value for path, value in scalars(document) if _is_reading(path, value)}
    for path in _read(orjson.loads(route.described), found):
        found.pop(path, None)
    return found


def _read(options: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return the paths that a route reads, among those found."""
    fields = options.get("fields")
    if fields is None:
        return [path for path, value in found.items() if "." not in path and not isinstance(value, str)]
    others = [path for key in _NO_READINGS for path in (options.get(key) or "").split("|")]
    return [*(_first(text, found) for text in fields), *others, *_PLAIN]


def _first(text: str, found: Mapping[str, Any]) -> str:
    """Return the path of the first alternative of a text that was found; empty if none was."""
    wanted = (alternative.split(".") for alternative in text.split("|"))
    return next((path for parts in wanted for path in found if _fits(parts, path.split("."))), "")


def _fits(parts: list[str], path: list[str]) -> bool:
    """Return whether a path is one of those that the parts of another, which may have ``*``, stand for."""
    pairs = zip(parts, path, strict=False)
    return len(parts) == len(path) and all(
        part in ("*", name) or (part.startswith("*!") and part[2:] != name) for part, name in pairs
    )


def _is_reading(path: str, value: object) -> bool:
    """Return whether a value is a number, or a text that says one or a state; an identifier is not."""
    if path.rpartition(".")[2].lower() == "id":
        return False
    if not isinstance(value, str) or value.lower() in _STATES:
        return True
    try:
        float(value)
    except ValueError:
        return False
    return True

"""Bindings and options in records and snapshots, so that a replay has those of the run."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.device_profile import profile_from_json, profile_to_json
from streamfs.gateway.core.options import AfterWithdrawal, DeviceReturn, Drift, Limits, Options, StreamTimes, Time

_OPTIONS = {
    "name": "name",
    "prefix": "prefix",
    "profile": "profile",
    "lateness": "time.lateness",
    "grace": "time.grace",
    "overtaking": "time.overtaking",
    "ahead": "limits.ahead",
    "max_streams": "limits.streams",
    "evicts": "limits.streams_when_full",
    "evicted_per_hour": "limits.evicted_per_hour",
    "max_payload": "limits.payload_bytes",
    "max_pending": "limits.pending",
    "expire_after": "streams.expire_after",
    "reopen_after": "streams.reopen_after",
    "on_withdrawal": "promise.on_withdrawal",
    "raised_to": "promise.raised_to",
    "recertify_after": "promise.recertify_after",
    "labels_wanted": "promise.labels_wanted",
    "groups": "promise.groups",
    "drift": "drift.delta",
    "on_stop": "devices.on_stop",
    "devices_on_withdrawal": "devices.on_withdrawal",
    "safe": "devices.safe",
    "guard_after": "devices.guard_after",
}
"""Options by their keys in a record."""

_OF = {key: attrgetter(name) for key, name in _OPTIONS.items()}

_WORDS = {"evicts": ("refuse", "evict")}
"""What false and true mean."""

_GONE = {"on_wall", "max_delay"}
"""Keys in records of earlier versions that no longer mean anything."""


def described(bindings: Bindings, options: Options) -> bytes:
    """Encode bindings and options as JSON; empty if a route was not made by `Route.of`."""
    if not all(route.described for route in bindings.routes):
        return b""
    content: dict[str, Any] = {
        "nodes_of": bindings.nodes_of,
        "discovers": bindings.discovers,
        "routes": [route.described for route in bindings.routes],
        "options": _flattened(options),
    }
    if bindings.devices:
        content["devices"] = {key: profile_to_json(profile) for key, profile in bindings.devices.items()}
    if bindings.aliases:
        content["aliases"] = bindings.aliases
    if bindings.zones:
        content["zones"] = bindings.zones
    return orjson.dumps(content)


class Heard(NamedTuple):
    """How a gateway reads messages: routes, names of nodes by those that they are heard under, its own prefix."""

    routes: tuple[Route, ...]
    aliases: Mapping[str, str]
    prefix: str


def heard_by(content: bytes) -> Heard:
    """Decode how a gateway reads messages from what `described` has encoded, which is not empty."""
    said = orjson.loads(content)
    routes = tuple(Route.of(**orjson.loads(route)) for route in said["routes"])
    return Heard(routes, said.get("aliases", {}), said["options"]["prefix"])


def understood(content: bytes, channels: Sequence[str]) -> tuple[Bindings, Options]:
    """Decode what `described` has encoded, which is not empty, for these channels."""
    said, heard = orjson.loads(content), heard_by(content)
    devices = {key: profile_from_json(profile) for key, profile in said.get("devices", {}).items()}
    bindings = Bindings(
        tuple(channels),
        said["nodes_of"],
        said["discovers"],
        heard.routes,
        heard.aliases,
        devices,
        said.get("zones", {}),
    )
    return bindings, _options(said["options"])


def _flattened(options: Options) -> dict[str, Any]:
    flat = {}
    for key, of in _OF.items():
        value = None if key == "drift" and options.drift is None else of(options)
        flat[key] = _WORDS[key].index(value) == 1 if key in _WORDS else value
    return flat


def _options(flat: dict[str, Any]) -> Options:
    sections = ("", "time", "limits", "streams", "promise", "drift", "devices")
    values: dict[str, dict[str, Any]] = {section: {} for section in sections}
    for key, value in flat.items():
        if key in _GONE:
            continue
        section, _, option = _OPTIONS[key].rpartition(".")
        values[section][option] = _WORDS[key][value] if key in _WORDS else value
    return Options(
        **values[""],
        time=Time(**values["time"]),
        limits=Limits(**values["limits"]),
        streams=StreamTimes(**values["streams"]),
        promise=AfterWithdrawal(**values["promise"]),
        devices=DeviceReturn(**values["devices"]),
        drift=None if values["drift"].get("delta") is None else Drift(**values["drift"]),
    )

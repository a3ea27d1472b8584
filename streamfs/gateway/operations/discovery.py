"""Discovery of streams and gateway by Home Assistant."""

import re
from hashlib import sha256
from typing import Any

import orjson

from streamfs.gateway.messages.publication import Publication

_LOOKS_CHANGED = re.compile(r"-[0-9a-f]{12}$")  # the end of a name that was changed


def discovery(
    stream: str, gateway: str, prefix: str = "streamfs", ha_prefix: str = "homeassistant", version: str = ""
) -> list[Publication]:
    """Return the configuration of a sensor that shows a stream's label; the attributes show the whole decision.

    Its topic and ``unique_id`` are unique to stream and gateway, and never change. The sensor belongs to the
    gateway's device, and is unavailable while the gateway is offline.
    """
    fields = {
        "name": stream,
        **_state(f"{prefix}/decision/{stream}", "label"),
        **_availability(gateway, prefix),
    }
    return [_config("sensor", _stream_id(stream, gateway), fields, gateway, ha_prefix, version)]


def gateway_discovery(
    gateway: str, prefix: str = "streamfs", ha_prefix: str = "homeassistant", version: str = ""
) -> list[Publication]:
    """Return the configurations of the gateway's own sensors: whether it is online, and the last drift."""
    connection = {
        "name": "connection",
        "device_class": "connectivity",
        "payload_on": "online",
        "payload_off": "offline",
        **_state(_status(gateway, prefix), "status"),
    }
    drift = {"name": "last drift", **_state(f"{prefix}/alert/{gateway}", "what"), **_availability(gateway, prefix)}
    return [
        _config("binary_sensor", _gateway_id(gateway, "streamfs-status"), connection, gateway, ha_prefix, version),
        _config("sensor", _gateway_id(gateway, "streamfs-drift"), drift, gateway, ha_prefix, version),
    ]


def removal(stream: str, gateway: str, ha_prefix: str = "homeassistant") -> Publication:
    """Return the removal of a stream's sensor: an empty message replaces the retained configuration."""
    return Publication(_topic("sensor", _stream_id(stream, gateway), ha_prefix), b"")


def is_birth(topic: str, payload: bytes, ha_prefix: str = "homeassistant") -> bool:
    """Return whether a message says that Home Assistant has started and needs all configurations again."""
    return topic == f"{ha_prefix}/status" and payload == b"online"


def _config(
    component: str, unique_id: str, fields: dict[str, Any], gateway: str, ha_prefix: str, version: str
) -> Publication:
    common = {
        "unique_id": unique_id,
        "device": {
            "identifiers": [_gateway_id(gateway)],
            "name": f"streamfs {gateway}",
            "manufacturer": "streamfs",
            "model": "gateway",
            "sw_version": version,
        },
        "origin": {"name": "streamfs", "sw_version": version},
    }
    return Publication(_topic(component, unique_id, ha_prefix), orjson.dumps(fields | common))


def _state(topic: str, field: str) -> dict[str, str]:
    """Return fields that show one field of a topic's JSON as state, and all of them as attributes."""
    return {
        "state_topic": topic,
        "value_template": f"{{{{ value_json.{field} }}}}",
        "json_attributes_topic": topic,
    }


def _availability(gateway: str, prefix: str) -> dict[str, str]:
    return {
        "availability_topic": _status(gateway, prefix),
        "availability_template": "{{ value_json.status }}",
        "payload_available": "online",
        "payload_not_available": "offline",
    }


def _status(gateway: str, prefix: str) -> str:
    return f"{prefix}/status/{gateway}"


def _topic(component: str, unique_id: str, ha_prefix: str) -> str:
    return f"{ha_prefix}/{component}/{unique_id}/config"


def _gateway_id(gateway: str, kind: str = "streamfs") -> str:
    return f"{kind}_{_safe(gateway, 'a-zA-Z0-9-')}"  # without underscores: the next one starts the stream's name


def _stream_id(stream: str, gateway: str) -> str:
    return f"{_gateway_id(gateway)}_{_safe(stream, 'a-zA-Z0-9_-')}"


def _safe(name: str, allowed: str) -> str:
    """Return a name in Home Assistant's characters; a changed name ends with a hash."""
    changed = re.sub(f"[^{allowed}]", "-", name)
    if changed == name and not _LOOKS_CHANGED.search(name):
        return name
    return f"{changed}-{sha256(name.encode()).hexdigest()[:12]}"

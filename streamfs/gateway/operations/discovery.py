"""How Home Assistant finds the streams and the gateway by itself."""

import re
from hashlib import sha256
from typing import Any

import orjson

from streamfs.gateway.messages.publication import Publication

_LOOKS_CHANGED = re.compile(r"-[0-9a-f]{12}$")  # as a name that had to be changed ends


def discovery(
    stream: str, gateway: str, prefix: str = "streamfs", ha_prefix: str = "homeassistant", version: str = ""
) -> list[Publication]:
    """Configure a sensor that shows a stream's label, or that it is unknown.

    The rest of the decision (confidence, tick, cost, reason) stands in the sensor's attributes. It belongs to the
    gateway's device, and is unavailable while the gateway is offline.

    Parameters
    ----------
    stream, gateway : str
        Their names, as in topics.
    prefix : str
        First part of the gateway's topics.
    ha_prefix : str
        First part of Home Assistant's.
    version : str
        Of the program.

    Returns
    -------
    list of Publication
        To be retained. No two streams or gateways share a topic or a ``unique_id``, and they never change.

    Examples
    --------
    >>> sensor, = discovery("desk", "attic")
    >>> sensor.topic
    'homeassistant/sensor/streamfs_attic_desk/config'
    >>> orjson.loads(sensor.payload)["value_template"]
    '{{ value_json.label }}'
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
    """Configure what is shown of the gateway itself: whether it is online, and what has drifted last.

    Parameters
    ----------
    gateway, prefix, ha_prefix, version : str
        As in `discovery`.

    Examples
    --------
    >>> [publication.topic.split("/")[2] for publication in gateway_discovery("attic")]
    ['streamfs-status_attic', 'streamfs-drift_attic']
    """
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
    """Remove the sensor of a stream that has left: an empty configuration takes the place of the retained one."""
    return Publication(_topic("sensor", _stream_id(stream, gateway), ha_prefix), b"")


def is_birth(topic: str, payload: bytes, ha_prefix: str = "homeassistant") -> bool:
    """Whether a message says that Home Assistant has started: then all configurations are published again.

    Examples
    --------
    >>> is_birth("homeassistant/status", b"online")
    True
    """
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
    """One field of the JSON under a topic as state, all of them as attributes."""
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
    return f"{kind}_{_safe(gateway, 'a-zA-Z0-9-')}"  # without underscores: the next one begins the stream


def _stream_id(stream: str, gateway: str) -> str:
    return f"{_gateway_id(gateway)}_{_safe(stream, 'a-zA-Z0-9_-')}"


def _safe(name: str, allowed: str) -> str:
    """A name in Home Assistant's characters; one that had to be changed ends with its hash."""
    changed = re.sub(f"[^{allowed}]", "-", name)
    if changed == name and not _LOOKS_CHANGED.search(name):
        return name
    return f"{changed}-{sha256(name.encode()).hexdigest()[:12]}"

"""Nodes that payloads name: gateways of radios publish what many devices send on one topic."""

import re
from typing import Any

import orjson

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.codecs.paths import Paths
from streamfs.gateway.messages.topics import check_name

MARK = "#"
"""What stands between a topic and the node that its payload names: no topic that is published to has it."""

LONGEST = 128
"""Most characters of a node that a payload names: brokers bound topics, some to 200 levels."""

_PLACE = re.compile(r"\{([^{}]*)\}")


def names_sender(node: str) -> bool:
    """Return whether a node is one that payloads name, ``{id}``."""
    return "{" in node or "}" in node


class Sender:
    """Who has sent a JSON payload, by a text with paths in braces: ``{model}-{id}``.

    >>> Sender("{model}-{id}").of(b'{"model": "Nexus", "id": 11, "temperature_C": 4.5}')
    'Nexus-11'
    """

    def __init__(self, text: str) -> None:
        places = _PLACE.findall(text)
        if not places or names_sender(_PLACE.sub("", text)):
            raise ValueError(f"node is {text!r}, expected paths in a payload, each in braces, such as {{id}}")
        self.text = text
        self._paths = Paths(dict.fromkeys(places))

    def of(self, payload: bytes) -> str:
        """Return the node that a payload names; empty if it names none, or none that can be in topics.

        Brokers end the connection of whoever publishes to a topic with control characters.
        """
        try:
            document = orjson.loads(payload)
            found = self._paths.found(document) if isinstance(document, dict) else {}
            name = _PLACE.sub(lambda place: _named(found[place[1]]), self.text)
            check_name("node", name, "+#")
        except (ValueError, KeyError, PayloadError):
            return ""
        return name if len(name) <= LONGEST and name.isprintable() else ""


def _named(value: Any) -> str:
    """Return a value as a part of a name; a PayloadError says that it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PayloadError(f"a name is {shown(value)}, expected a text or a whole number")
    return str(value)

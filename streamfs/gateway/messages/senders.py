"""Nodes that payloads name: gateways of radios publish what many devices send on one topic."""

import re
from typing import Any, NamedTuple

import orjson

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.codecs.paths import Paths
from streamfs.gateway.messages.dividing import Division, Place
from streamfs.gateway.messages.topics import check_name

MARK = "#"
"""What stands between a topic and the node that its payload names: no topic that is published to has it."""

LONGEST = 128
"""Most characters of a node that a payload names: brokers bound topics, some to 200 levels."""

MOST, LARGEST = 1000, 4_000_000
"""Most nodes that a payload names, and bytes of all that they have sent: each part repeats what is common."""

_PLACE = re.compile(r"\{([^{}]*)\}")


class Sent(NamedTuple):
    """The node that a payload names, and what it has sent: the payload, or its part of it."""

    node: str
    payload: bytes


def names_sender(node: str) -> bool:
    """Return whether a node is one that payloads name, ``{id}``."""
    return "{" in node or "}" in node


class Sender:
    """Who has sent a JSON payload, by a text with paths in braces: ``{model}-{id}``.

    With a ``*`` in its paths it may be several nodes, each of which has sent its part: ``{devices.*.id}`` for each
    element of an array, or each object in an object; ``{*}`` is the name of each object or array in an object.
    Elements of the same node stay together in an array that is the payload, or that is `read_together`.

    >>> Sender("{model}-{id}").of(b'{"model": "Nexus", "id": 11, "temperature_C": 4.5}')
    'Nexus-11'
    >>> Sender("{*.id}").sent(b'[{"id": "a", "x": 1}, {"id": "b", "x": 2}, {"id": "a", "x": 3}]')
    [Sent(node='a', payload=b'[{"id":"a","x":1},{"id":"a","x":3}]'), Sent(node='b', payload=b'[{"id":"b","x":2}]')]
    """

    def __init__(self, text: str, *, read_together: bool = False) -> None:
        places = _PLACE.findall(text)
        if not places or names_sender(_PLACE.sub("", text)):
            raise ValueError(f"node is {text!r}, expected paths in a payload, each in braces, such as {{id}}")
        self.text = text
        self._form = _PLACE.sub("{}", text)
        self._places = places
        self._paths = Paths(dict.fromkeys(places))
        self._division = Division.of(places)
        self._is_together = read_together or self._division is None or not self._division.path
        self._by_name = {path for path in places if self._division is not None and self._division.is_end_of(path)}

    def of(self, payload: bytes) -> str:
        """Return the first node that a payload names; empty if it names none, or none that can be in topics.

        Brokers end the connection of whoever publishes to a topic with control characters.
        """
        sent = self.sent(payload)
        return sent[0].node if sent else ""

    def of_one(self, document: dict[str, Any]) -> str:
        """Return the node that a document of one device names, as `of`."""
        return self._name(document)

    def sent(self, payload: bytes) -> list[Sent]:
        """Return the nodes that a payload names, each with what it has sent; nothing if there is too much.

        Elements of an array that name none are together without a node, and come last.
        """
        try:
            document = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return []
        place = None if self._division is None else self._division.place(document)
        if place is None:
            node = self._name(document) if isinstance(document, dict) else ""
            return [Sent(node, payload)] if node else []
        try:
            return self._sent_at(place, payload)
        except orjson.JSONEncodeError:  # it reads what is nested more deeply than it writes
            return []

    def _sent_at(self, place: Place, payload: bytes) -> list[Sent]:
        """Return what the nodes at a place of a payload's document have sent: all of it, if there is but one."""
        if place.n_parts > MOST and (place.names or not self._is_together):
            return []
        named = [(self._name(part, name), number) for number, (name, part) in enumerate(place.parts())]
        if place.names:  # other parts of an object are no devices
            named = [each for each in named if each[0]]
        nodes = {node for node, _ in named}
        if not any(nodes):
            return []
        if len(named) == place.n_parts and len(nodes) == 1 and (self._is_together or len(named) == 1):
            return [Sent(named[0][0], payload)]
        return self._divided(place, named)

    def _divided(self, place: Place, named: list[tuple[str, int]]) -> list[Sent]:
        """Return what each node has sent, given the nodes of a document's parts."""
        parts: dict[tuple[str, int], list[int]] = {}
        for node, number in named:
            parts.setdefault((node, 0 if self._is_together or not node else number), []).append(number)
        if len(parts) > MOST:
            return []
        sent, n_bytes = [], 0
        for (node, _), numbers in sorted(parts.items(), key=lambda part: not part[0][0]):
            sent.append(Sent(node, orjson.dumps(place.document(numbers))))
            n_bytes += len(sent[-1].payload)
            if n_bytes > LARGEST:
                return []
        return sent

    def _name(self, document: dict[str, Any], name: str = "") -> str:
        """Return the node that a document names, as `of`, which may be the `name` of its only part."""
        try:
            found = self._paths.found(document)
            if name:
                found |= {path: name for path in self._by_name if isinstance(found[path], dict | list)}
            node = self._form.format(*[_named(found[path]) for path in self._places])
            check_name("node", node, "+#")
        except (ValueError, KeyError, PayloadError):
            return ""
        return node if len(node) <= LONGEST and node.isprintable() else ""


def _named(value: Any) -> str:
    """Return a value as a part of a name; a PayloadError says that it is none."""
    if type(value) is str:
        return value
    if type(value) is not int:
        raise PayloadError(f"a name is {shown(value)}, expected a text or a whole number")
    return str(value)

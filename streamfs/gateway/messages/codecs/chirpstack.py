"""Uplinks of LoRaWAN devices, as ChirpStack publishes them."""

from collections.abc import Mapping
from typing import Any

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import number, seconds_of_text, sequence_number, shown
from streamfs.gateway.messages.codecs.paths import Paths, checked_fields, load_json
from streamfs.gateway.messages.codecs.reading import Reading, Several, several
from streamfs.gateway.messages.codecs.words import Words

_TIME, _COUNTER = "time", "fCnt"
_SPREADING = "txInfo.modulation.lora.spreadingFactor"
_FRAME = Paths([_TIME, _COUNTER, "object", _SPREADING])


class ChirpStackCodec:
    """Decode uplink events of ChirpStack 4: the ``object`` that a device's decoder has produced.

    The sequence number is the frame counter, so all channels of a device share it. An event without ``object``
    reports nothing. `fields` has paths within ``object`` and their channels; a missing path or null reports
    nothing. Without it, each number, true and false at the top of ``object`` is a channel of its name.
    """

    def __init__(self, fields: Mapping[str, str] | None = None, words: Words | None = None) -> None:
        self._as_number = number if words is None else words.number
        self._fields = None if fields is None else checked_fields(fields)
        self._paths = None if self._fields is None else Paths(self._fields)

    def decode(self, payload: bytes, arrival: float = 0.0, content_type: str = "") -> Several:  # noqa: ARG002
        """Decode a payload; see `Codec`."""
        document = load_json(payload)
        if type(document) is not dict:
            raise PayloadError(f"payload is {shown(payload)}, expected an uplink event")
        frame = _FRAME.found(document)
        measured = frame.get("object") or {}
        if type(measured) is not dict:
            raise PayloadError(f"object is {shown(measured)}, expected an object")
        time = None if frame.get(_TIME) is None else seconds_of_text(_TIME, frame[_TIME])
        sequence = sequence_number(_COUNTER, frame[_COUNTER]) if _COUNTER in frame else None
        parts, refused = [], []
        for name, channel, value in self._values(measured):
            try:
                parts.append((channel, Reading(time, self._as_number(name, value), sequence)))
            except PayloadError as error:
                refused.append(error)
        return several(parts, refused, _spreading_factor(frame.get(_SPREADING)))

    def _values(self, measured: dict[str, Any]) -> list[tuple[str, str, Any]]:
        """Return the path, channel and value of each wanted field."""
        if self._fields is None or self._paths is None:
            return [(name, name, value) for name, value in measured.items() if isinstance(value, int | float)]
        found = self._paths.found(measured)
        return [
            (path, channel, found[path]) for path, channel in self._fields.items() if found.get(path) is not None
        ]


def _spreading_factor(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 6 <= value <= 12:
        raise PayloadError(f"{_SPREADING} is {shown(value)}, expected 6 to 12")
    return value

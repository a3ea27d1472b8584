"""Uplinks of LoRaWAN devices, as ChirpStack and The Things Stack publish them."""

from collections.abc import Mapping
from math import nan
from typing import Any

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import number, seconds_of_text, sequence_number, shown
from streamfs.gateway.messages.codecs.paths import Paths, checked_fields, load_json
from streamfs.gateway.messages.codecs.reading import Reading, Several, several
from streamfs.gateway.messages.codecs.words import Words


class ChirpStackCodec:
    """Decode uplink events of ChirpStack 4: the ``object`` that a device's decoder has produced.

    Those of ChirpStack 3, which many LoRaWAN gateways bring, have it as text at ``objectJSON`` or as an object.

    The sequence number is the frame counter, so all channels of a device share it. An event without ``object``
    reports nothing. `fields` has paths within ``object`` and their channels; a missing path or null reports
    nothing. Without it, each number, true and false at the top of ``object`` is a channel of its name.
    """

    time, counter, measured = "publishedAt|time", "fCnt", "object"
    spreading = "txInfo.loRaModulationInfo.spreadingFactor|txInfo.modulation.lora.spreadingFactor"
    first: int | None = None
    """The frame counter of an event that has none."""

    def __init__(self, fields: Mapping[str, str] | None = None, words: Words | None = None) -> None:
        self._as_number = number if words is None else words.number
        self._fields = None if fields is None else checked_fields(fields)
        self._paths = None if self._fields is None else Paths(self._fields)
        self._frame = Paths([self.time, self.counter, self.measured, self.spreading])

    def decode(self, payload: bytes, arrival: float = 0.0, content_type: str = "") -> Several:  # noqa: ARG002
        """Decode a payload; see `Codec`."""
        document = load_json(payload)
        if type(document) is not dict:
            raise PayloadError(f"payload is {shown(payload)}, expected an uplink event")
        frame = self._frame.found(document)
        measured = frame.get(self.measured) or _packed_object(document) or {}
        if type(measured) is not dict:
            raise PayloadError(f"{self.measured} is {shown(measured)}, expected an object")
        time = None if frame.get(self.time) is None else seconds_of_text(_name(self.time), frame[self.time])
        counter = frame.get(self.counter, self.first)
        sequence = None if counter is None else sequence_number(self.counter, counter)
        parts, refused = [], []
        for name, channel, value in self._values(measured):
            try:
                parts.append((channel, Reading(time, self._as_number(name, value), sequence)))
            except PayloadError as error:
                refused.append(error)
        factor = _spreading_factor(_name(self.spreading), frame.get(self.spreading))
        number = None if sequence is None else Reading(time, nan, sequence)
        return several(parts, refused, factor, number)

    def _values(self, measured: dict[str, Any]) -> list[tuple[str, str, Any]]:
        """Return the path, channel and value of each wanted field."""
        if self._fields is None or self._paths is None:
            return [(name, name, value) for name, value in measured.items() if isinstance(value, int | float)]
        found = self._paths.found(measured)
        return [
            (path, channel, found[path]) for path, channel in self._fields.items() if found.get(path) is not None
        ]


class TheThingsCodec(ChirpStackCodec):
    """Decode uplinks of The Things Stack 3: ``decoded_payload``; a counter of 0 is left out there."""

    time, counter, measured = "received_at", "uplink_message.f_cnt", "uplink_message.decoded_payload"
    spreading = "uplink_message.settings.data_rate.lora.spreading_factor"
    first = 0


def _name(path: str) -> str:
    """Return the path of the newest version."""
    return path.rpartition("|")[2]


def _packed_object(document: dict[str, Any]) -> Any:
    """Return the object that is packed in text; None if there is none."""
    packed = document.get("objectJSON")
    return load_json(packed.encode()) if isinstance(packed, str) and packed else None


def _spreading_factor(name: str, value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 6 <= value <= 12:
        raise PayloadError(f"{name} is {shown(value)}, expected 6 to 12")
    return value

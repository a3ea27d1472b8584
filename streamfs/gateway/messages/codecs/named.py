"""Codecs by format name and by content type."""

from collections.abc import Callable, Mapping
from typing import Any

from feature_extractors.own_parts import own_part
from streamfs.errors import MissingExtraError, PayloadError
from streamfs.gateway.messages.codecs.array import ArrayCodec
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.codecs.chirpstack import ChirpStackCodec, TheThingsCodec
from streamfs.gateway.messages.codecs.plain import FieldsCodec, PlainCodec
from streamfs.gateway.messages.codecs.reading import Codec, Reported, Several
from streamfs.gateway.messages.codecs.senml import SenmlCodec
from streamfs.gateway.messages.codecs.sparkplug import SparkplugCodec
from streamfs.gateway.messages.codecs.words import Words
from streamfs.gateway.messages.message import MAX_SAMPLES

FORMATS = ("auto", "json", "senml+json", "senml+cbor", "array", "chirpstack", "thethings", "sparkplug")
"""Names of the formats that are read."""

_OF_CONTENT_TYPE = {
    "": "json",
    "text/plain": "json",
    "application/json": "json",
    "application/senml+json": "senml+json",
    "application/senml+cbor": "senml+cbor",
    "application/octet-stream": "array",
}
_OF_FIELDS: Mapping[str, Callable[[Mapping[str, str] | None, Words | None], Codec]] = {
    "chirpstack": ChirpStackCodec,
    "thethings": TheThingsCodec,
    "sparkplug": SparkplugCodec,
}
_KNOWN = 256  # content types that are remembered
_TAKE_PLACES = ("auto", "json")
_TAKE_VALUES = ("auto", "json", "chirpstack", "thethings", "sparkplug")
_TAKE_FIELDS = ("auto", "json", "senml+json", "senml+cbor", "chirpstack", "thethings", "sparkplug")


class AutoCodec:
    """Decode each message by its content type, or as plain JSON without one; parameters as in `codec_for`."""

    def __init__(
        self,
        fields: Mapping[str, str] | None = None,
        value: str | None = None,
        time: str | None = None,
        time_unit: str = "s",
        sequence: str | None = None,
        max_samples: int = MAX_SAMPLES,
        time_zone: str | None = None,
        values: Mapping[str, Any] | None = None,
        records: str | None = None,
    ) -> None:
        self._plain = codec_for(
            "json",
            fields=fields,
            value=value,
            time=time,
            time_unit=time_unit,
            sequence=sequence,
            max_samples=max_samples,
            time_zone=time_zone,
            values=values,
            records=records,
        )
        self._fields = fields
        self._max_samples = max_samples
        self._others: dict[str, Codec] = {}  # by content type

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reported | Several:
        """Decode a payload; see `Codec`."""
        if not content_type:
            return self._plain.decode(payload, arrival)
        codec = self._others.get(content_type) or self._codec(content_type)
        return codec.decode(payload, arrival)

    def _codec(self, content_type: str) -> Codec:
        name = codec_of_content_type(content_type)
        codec: Codec = self._plain
        if name != "json":
            fields = self._fields if name in _TAKE_FIELDS else None
            try:
                codec = codec_for(name, fields=fields, max_samples=self._max_samples)
            except MissingExtraError as error:
                raise PayloadError(f"content type is {shown(content_type)}: {error}") from error
        if len(self._others) >= _KNOWN:
            self._others.clear()
        self._others[content_type] = codec
        return codec


def codec_of_content_type(content_type: str) -> str:
    """Return the format name of a content type, ignoring the type's parameters."""
    name = _OF_CONTENT_TYPE.get(content_type.partition(";")[0].strip().lower())
    if name is None:
        expected = ", ".join(known for known in _OF_CONTENT_TYPE if known)
        raise PayloadError(f"content type is {shown(content_type)}, expected none or one of {expected}")
    return name


def codec_for(
    name: str,
    *,
    fields: Mapping[str, str] | None = None,
    value: str | None = None,
    time: str | None = None,
    time_unit: str = "s",
    sequence: str | None = None,
    max_samples: int = MAX_SAMPLES,
    time_zone: str | None = None,
    values: Mapping[str, Any] | None = None,
    records: str | None = None,
) -> Codec:
    """Return the codec of a format, one of `FORMATS`.

    `fields` maps path or name in the payload to channel, for payloads that report on several; `values` are the
    numbers of `Words`; the others but `max_samples` are for plain JSON, as in `PlainCodec`. A ValueError says that
    the format does not take an option.
    """
    fault = (
        _fault(name, fields, (value, time, time_unit, sequence, time_zone))
        or _fault_of_values(name, values)
        or _fault_of_records(name, fields, records)
    )
    if fault:
        raise ValueError(fault)
    words = Words(values) if values else None
    match name:
        case "auto":
            return AutoCodec(fields, value, time, time_unit, sequence, max_samples, time_zone, values, records)
        case "array":
            return ArrayCodec(max_samples)
        case "chirpstack" | "thethings" | "sparkplug":
            return _OF_FIELDS[name](fields, words)
        case "json" if fields is not None:
            return FieldsCodec(fields, time, time_unit, sequence, max_samples, time_zone, words, records)
        case "json":
            return PlainCodec(value, time, time_unit, sequence, max_samples, time_zone, words)
    return SenmlCodec(fields, is_binary=name == "senml+cbor", max_samples=max_samples)


def own_codec(name: str, options: Mapping[str, Any]) -> Codec:
    """Return the codec of a format that an installed package brings; it is made of the option `fields` alone."""
    make = own_part("streamfs.codecs", name)
    if make is None:
        raise ValueError(f"format is {name!r}, expected one of {', '.join(FORMATS)}")
    for option in ("value", "time", "sequence", "time_zone", "values", "records"):
        if options.get(option):
            raise ValueError(f"format {name!r} takes no {option}: it is a part of your own")
    codec: Codec = make(options.get("fields"))
    return codec


def _fault_of_values(name: str, values: Mapping[str, Any] | None) -> str:
    if not values or name in _TAKE_VALUES:
        return ""
    return f"format {name!r} takes no values: its payloads have numbers"


def _fault_of_records(name: str, fields: Mapping[str, str] | None, records: str | None) -> str:
    if records is None or (name in _TAKE_PLACES and fields is not None):
        return ""
    return f"records is {records!r}, but only plain JSON with fields has records"


def _fault(
    name: str,
    fields: Mapping[str, str] | None,
    places: tuple[str | None, str | None, str, str | None, str | None],
) -> str:
    """Return why a format does not take these options; empty if it does."""
    value, _, time_unit, _, time_zone = places
    faults = {
        f"format is {name!r}, expected one of {', '.join(FORMATS)}": name not in FORMATS,
        f"format {name!r} takes no fields: its payloads report on one channel": fields is not None
        and name not in _TAKE_FIELDS,
        f"format {name!r} takes no value, time, time_unit or sequence: it says where they are": places
        != (None, None, "s", None, None)
        and name not in _TAKE_PLACES,
        "fields and value exclude each other: fields say where the values are": fields is not None
        and value is not None,
        f"time_zone is {time_zone!r}, but only times in text (iso) can be in one": time_zone is not None
        and time_unit not in ("iso", "any"),
    }
    return next((fault for fault, holds in faults.items() if holds), "")

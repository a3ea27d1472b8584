"""Sensor Measurement Lists, SenML (RFC 8428), in JSON and in CBOR."""

from collections.abc import Mapping
from math import isfinite, isnan

import numpy as np
import orjson

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.cbor import cbor_reader, dump_cbor
from streamfs.gateway.messages.codecs.checks import LATEST, shown
from streamfs.gateway.messages.codecs.paths import checked_fields, load_json
from streamfs.gateway.messages.codecs.reading import Reading, Reported, Several, TimedSeries, several
from streamfs.gateway.messages.codecs.senml_pack import CBOR, JSON, Column, Pack, SenmlRecord
from streamfs.gateway.messages.message import MAX_SAMPLES

_RELATIVE = 2**28  # seconds; smaller times are relative to now


class SenmlCodec:
    """Decode SenML packs, in JSON or CBOR: named numbers, true and false (RFC 8428, sections 4 to 6).

    The full name of a measurement, base name and name, determines its channel: that of `fields` for the name with
    or without the base name, by default the part after the last slash or colon. Several measurements of one name
    are a `TimedSeries`. Times below 2**28 are relative to the arrival; a single measurement of a name at time 0
    has no time. Sums and units are ignored, and so are unwanted names, whatever their values. A wanted
    one that is no number does not cost the others.
    """

    def __init__(
        self, fields: Mapping[str, str] | None = None, *, is_binary: bool = False, max_samples: int = MAX_SAMPLES
    ) -> None:
        self._fields = None if fields is None else checked_fields(fields)
        self._load = cbor_reader() if is_binary else load_json
        self._labels = CBOR if is_binary else JSON
        self._max_samples = max_samples

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Several:  # noqa: ARG002
        """Decode a payload; see `Codec`."""
        records = self._load(payload)
        if type(records) is not list or not 0 < len(records) <= self._max_samples:
            raise PayloadError(
                f"payload is {shown(payload)}, expected 1 to {self._max_samples} records in an array"
            )
        pack = Pack(self._labels, self._fields)
        for record in records:
            pack.take(record)
        return several(((column.channel, _reported(column, arrival)) for column in pack.columns), pack.refused)


def encode_senml(several: Several, base_name: str = "", *, is_binary: bool = False) -> bytes:
    """Encode readings as a SenML pack.

    Sequence numbers, the spreading factor and missing samples have no place in one. A ValueError says that nothing
    is left to encode, a value is infinite or a single one NaN, or a time is below 2**28 seconds, which would be
    relative.
    """
    labels = CBOR if is_binary else JSON
    records: list[SenmlRecord] = []
    for channel, reported in several.parts:
        for time, value in _samples(reported):
            when = {} if time is None else {labels.time: _absolute_time(time)}
            records.append({labels.name: channel, **when, labels.value: value})
    if not records:
        raise ValueError("nothing is reported, expected at least one value")
    if base_name:
        records[0] = {labels.base_name: base_name, **records[0]}
    return dump_cbor(records) if is_binary else orjson.dumps(records)


def _reported(column: Column, arrival: float) -> Reading | TimedSeries:
    """Return the contents of a column, with absolute times."""
    if len(column.times) > 1:
        times, values = np.array(column.times), np.array(column.values)
        times[times < _RELATIVE] += arrival
        if not ((np.abs(times) < LATEST) & np.isfinite(values)).all():
            message = f"name {shown(column.name)} has a time or a value that is not finite or too large"
            raise PayloadError(message, "number")
        return TimedSeries(times, values, None)
    (time,), (value,) = column.times, column.values
    stamp = arrival + time if time < _RELATIVE else time
    if not (abs(stamp) < LATEST and isfinite(value)):
        message = f"name {shown(column.name)} has time {time:g} and value {value:g}, expected finite ones"
        raise PayloadError(message, "number")
    return Reading(stamp if time else None, value, None)


def _samples(reported: Reported) -> list[tuple[float | None, float]]:
    """Return what is reported and not missing."""
    if isinstance(reported, Reading):
        pairs: list[tuple[float | None, float]] = [(reported.time, reported.value)]
    else:
        stamped = zip(*(column.tolist() for column in reported.arrays()), strict=True)
        pairs = [(time, value) for time, value in stamped if not isnan(value)]
    odd = next((value for _, value in pairs if not isfinite(value)), None)
    if odd is not None:
        raise ValueError(f"value is {odd}, expected a finite number")
    return pairs


def _absolute_time(time: float) -> float:
    if not _RELATIVE <= time < LATEST:
        raise ValueError(f"time is {time}, expected seconds since 1970, at least 2**28 and less than {LATEST:g}")
    return time

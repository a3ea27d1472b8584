"""Plain JSON: a number, an object with one, or an object with many."""

import struct
from collections.abc import Mapping
from functools import lru_cache
from math import nan
from typing import Any

import numpy as np

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import (
    LATEST,
    clock,
    is_since_1970,
    local_seconds,
    number,
    sequence_number,
    shown,
    zone,
)
from streamfs.gateway.messages.codecs.paths import Paths, checked_fields, load_json
from streamfs.gateway.messages.codecs.reading import Reading, Reported, Series, Several, several
from streamfs.gateway.messages.codecs.records import read_batch
from streamfs.gateway.messages.codecs.words import Words
from streamfs.gateway.messages.message import MAX_SAMPLES

_VALUE = ("v", "value")
_TIME = ("t", "ts", "timestamp")
_SEQUENCE = "seq"
_DOUBLE = np.dtype(np.float64)
_CLOCK_SET = 1e9  # seconds since 1970: times in text before 2001 are those of clocks that nobody has set
_KNOWN = 256  # numbers of samples whose packing is remembered


class PlainCodec:
    """Decode plain JSON that reports on one channel.

    The payload is a number, or an object with the number and optionally a time and a sequence number. True and
    false count as 1 and 0. An object with an array of numbers is a series: its samples begin at ``t0``, ``dt``
    apart; null is a missing sample.

    By default the number is at ``v`` or ``value``, the time at ``t``, ``ts`` or ``timestamp``, and the sequence
    number at ``seq``. `time_unit` is also the unit of ``dt``, which is in seconds if times are text (``iso``);
    these are in a `time_zone`, or UTC, unless they have an offset. Times of `any` unit are text or numbers, also
    in quotes, whose size tells the unit; one before 2001 is none: the device's clock was not set. Of several
    paths of a `time`, with bars between, the first that is there counts. `words` stand for numbers.
    """

    def __init__(
        self,
        value: str | None = None,
        time: str | None = None,
        time_unit: str = "s",
        sequence: str | None = None,
        max_samples: int = MAX_SAMPLES,
        time_zone: str | None = None,
        words: Words | None = None,
    ) -> None:
        self._zone = None if time_zone is None else zone(time_zone)
        self.load = load_json if words is None else words.load
        self._as_number = number if words is None else words.number
        self._values = _VALUE if value is None else (value,)
        self._times = _times(time)
        self._start = "t0" if time is None else self._times[0]
        self._sequence = _SEQUENCE if sequence is None else sequence
        self._seconds = clock(time_unit)
        self._is_any = time_unit == "any"
        self._step = clock("s" if time_unit in ("iso", "any") else time_unit)
        self._max_samples = max_samples
        is_nested = any("." in path or "|" in path for path in (*self._values, *self._times, self._sequence))
        wanted = (*self._values, *self._times, self._start, "dt", self._sequence)
        self._paths = Paths(dict.fromkeys(wanted)) if is_nested else None

    def decode(self, payload: bytes, arrival: float = 0.0, _content_type: str = "") -> Reading | Series:
        """Decode a payload; see `Codec`."""
        document = self.load(payload)
        if type(document) is not dict:
            return Reading(None, self._as_number("payload", document), None)
        fields = document if self._paths is None else self._paths.found(document)
        for name in self._values:
            if name in fields:
                return self.reported(name, fields[name], fields, arrival)
        raise PayloadError(f"payload is {shown(payload)}, expected a field {' or '.join(self._values)}")

    def reported(
        self, name: str, value: object, fields: Mapping[str, Any], arrival: float = 0.0
    ) -> Reading | Series:
        """Return what a field reports, given all fields by path; raise a PayloadError if it is invalid."""
        if type(value) is list:
            return self._series(name, value, fields, arrival)
        return self.single(value if type(value) is float else self._as_number(name, value), fields, arrival)

    def single(self, value: float, fields: Mapping[str, Any], arrival: float) -> Reading:
        """Return a value with the time and the number that stand beside it."""
        time = None
        for when in self._times:
            if when in fields:
                time = self._time(when, fields[when], arrival)
                break
        return Reading(time, value, self._number(fields))

    def _time(self, name: str, value: object, arrival: float) -> float | None:
        """Return a time; None of a clock of any unit that was not set yet, which begins in 1970."""
        zone_of_text = self._zone
        is_number = not isinstance(value, str) or (self._is_any and is_since_1970(value))
        if zone_of_text is None or is_number:
            time = self._seconds(name, value)
        else:
            time = local_seconds(zone_of_text, name, value, arrival)
        return None if self._is_any and time < _CLOCK_SET else time

    def _number(self, fields: Mapping[str, Any]) -> int | None:
        if self._sequence not in fields:
            return None
        return sequence_number(self._sequence, fields[self._sequence])

    def _series(self, name: str, values: list[Any], fields: Mapping[str, Any], arrival: float) -> Series:
        try:
            start, step = fields[self._start], fields["dt"]
        except KeyError as error:
            expected = f"{self._start} and dt beside an array, or the path {name}.0"
            message = f"{name} is {shown(values)}, expected {expected}"
            raise PayloadError(message) from error
        begin, step = self._time(self._start, start, arrival), self._step("dt", step)
        start = arrival if begin is None else begin
        check_series(name, start, step, len(values), self._max_samples)
        return Series(start, step, _DOUBLE, _packed(name, values), self._number(fields))


class FieldsCodec:
    """Decode plain JSON that reports on several channels: `fields` maps the path of each number to its channel.

    A missing field or null reports nothing, and one that is no number does not cost the others. Times and sequence
    numbers are as in `PlainCodec`, and apply to all. A payload that is an array of such objects, or has one at
    `records`, is a batch: see `read_batch`.
    """

    def __init__(
        self,
        fields: Mapping[str, str],
        time: str | None = None,
        time_unit: str = "s",
        sequence: str | None = None,
        max_samples: int = MAX_SAMPLES,
        time_zone: str | None = None,
        words: Words | None = None,
        records: str | None = None,
    ) -> None:
        self._fields = checked_fields(fields)
        self._records = None if records is None else Paths([records])
        self._max_samples = max_samples
        self._codec = PlainCodec(None, time, time_unit, sequence, max_samples, time_zone, words)
        times = ("t0", *_TIME) if time is None else _times(time)
        self._sequence = sequence or _SEQUENCE
        self._paths = Paths(dict.fromkeys((*fields, *times, "dt", self._sequence)))

    def decode(self, payload: bytes, arrival: float = 0.0, _content_type: str = "") -> Several:
        """Decode a payload; see `Codec`."""
        document = self._codec.load(payload)
        if self._records is not None and type(document) is dict:
            document = next(iter(self._records.found(document).values()), None)
        if type(document) is list and document:
            return read_batch(document, self._reports, arrival, self._max_samples)
        if type(document) is not dict:
            raise PayloadError(f"payload is {shown(payload)}, expected an object, or an array of some")
        return self._reports(document, arrival)

    def _reports(self, document: dict[str, Any], arrival: float) -> Several:
        """Return what an object reports."""
        found = {path: value for path, value in self._paths.found(document).items() if value is not None}
        parts: list[tuple[str, Reported]] = []
        refused = []
        for path, channel in self._fields.items():
            value = found.get(path)
            if value is not None:
                try:
                    parts.append((channel, self._codec.reported(path, value, found, arrival)))
                except PayloadError as error:
                    refused.append(error)
        return several(parts, refused, number=self._number(found, len(parts), arrival))

    def _number(self, found: Mapping[str, Any], n_parts: int, arrival: float) -> Reading | None:
        """Return the number of a message, if it has one and does not report on all channels."""
        if self._sequence not in found or n_parts == len(self._fields):
            return None
        try:
            return self._codec.single(nan, found, arrival)
        except PayloadError:
            return None


def _times(paths: str | None) -> tuple[str, ...]:
    """Return the paths at which a time may be, the best first."""
    return _TIME if paths is None else tuple(paths.split("|"))


def _packed(name: str, values: list[Any]) -> bytes:
    """Pack numbers as fast as possible; null is NaN."""
    pack = _doubles(len(values)).pack
    try:
        return pack(*values)
    except struct.error:
        known = [nan if value is None else value for value in values]
    odd = next((value for value in known if not isinstance(value, int | float)), None)
    if odd is not None:
        message = f"{name} has {shown(odd)} in it, expected numbers, or null where one is missing"
        raise PayloadError(message, "number")
    return pack(*known)


@lru_cache(_KNOWN)
def _doubles(n: int) -> struct.Struct:
    return struct.Struct(f"={n}d")


def check_series(name: str, start: float, step: float, n_samples: int, max_samples: int) -> None:
    """Raise a PayloadError unless there are 1 to `max_samples`, at a positive step, before `LATEST`."""
    if not 0 < n_samples <= max_samples:
        raise PayloadError(f"{name} has {n_samples} samples, expected 1 to {max_samples}", "size")
    if not (step > 0 and start + step * n_samples < LATEST):
        message = f"dt is {step}, expected more than 0, and a last time of less than {LATEST:g} seconds"
        raise PayloadError(message, "time")

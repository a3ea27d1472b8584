"""Batches: arrays of objects, each with values and a time of its own."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.codecs.reading import Reading, Several, several

_FAULTS = 3  # records that are named, of those that cannot be read

Reader = Callable[[dict[str, Any], float], Several]
"""What one object reports, given its arrival."""


def read_batch(records: Sequence[object], read: Reader, arrival: float, max_samples: int) -> Several:
    """Return what the objects of an array report, in order of time, so that no channel runs ahead of another.

    One that stands alone may be without a time. What cannot be read does not cost the others; a PayloadError says
    so if there are no others, or too many.
    """
    if len(records) > max_samples:
        raise PayloadError(f"payload has {len(records)} records, expected at most {max_samples}", "size")
    found: list[tuple[float, str, Reading]] = []
    refused: list[PayloadError] = []
    for place, record in enumerate(records):
        try:
            reported = _reported(record, read, arrival)
            found += _samples(reported, None if len(records) > 1 else arrival)
            fault = reported.refused
        except PayloadError as error:
            fault = error
        if fault is not None:
            refused.append(PayloadError(f"record {place}: {fault}", fault.cause))
    found.sort(key=itemgetter(0))
    return several([(channel, reading) for _, channel, reading in found], refused[:_FAULTS])


def _reported(record: object, read: Reader, arrival: float) -> Several:
    if not isinstance(record, dict):
        raise PayloadError(f"it is {shown(record)}, expected an object")
    return read(record, arrival)


def _samples(reported: Several, default: float | None) -> list[tuple[float, str, Reading]]:
    """Return what a record reports, each with its time; with a default, a time may be missing."""
    samples = []
    for channel, part in reported.parts:
        if not isinstance(part, Reading):
            raise PayloadError(f"{channel} is an array, expected a number in each record")
        time = default if part.time is None else part.time
        if time is None:
            raise PayloadError(f"{channel} has no time, expected one in each record", "time")
        samples.append((time, channel, part))
    return samples

"""Batches: arrays of objects, each with values and a time of its own."""

from collections.abc import Callable, Sequence
from typing import Any

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.codecs.reading import Reading, Reported, Several, several

_FAULTS = 3  # records that are named, of those that cannot be read

Reader = Callable[[dict[str, Any], float], Several]
"""What one object reports, given its arrival."""


def read_batch(records: Sequence[object], read: Reader, arrival: float, max_samples: int) -> Several:
    """Return what the objects of an array report.

    One that stands alone may be without a time. What cannot be read does not cost the others; a PayloadError says
    so if there are no others, or too many.
    """
    if len(records) > max_samples:
        raise PayloadError(f"payload has {len(records)} records, expected at most {max_samples}", "size")
    parts: list[tuple[str, Reading]] = []
    refused: list[PayloadError] = []
    for place, record in enumerate(records):
        try:
            reported = _reported(record, read, arrival)
            parts += [(channel, _sample(channel, part, len(records))) for channel, part in reported.parts]
            fault = reported.refused
        except PayloadError as error:
            fault = error
        if fault is not None:
            refused.append(PayloadError(f"record {place}: {fault}", fault.cause))
    return several(parts, refused[:_FAULTS])


def _reported(record: object, read: Reader, arrival: float) -> Several:
    if not isinstance(record, dict):
        raise PayloadError(f"it is {shown(record)}, expected an object")
    return read(record, arrival)


def _sample(channel: str, part: Reported, n_records: int) -> Reading:
    if not isinstance(part, Reading):
        raise PayloadError(f"{channel} is an array, expected a number in each record")
    if part.time is None and n_records > 1:
        raise PayloadError(f"{channel} has no time, expected one in each record", "time")
    return part

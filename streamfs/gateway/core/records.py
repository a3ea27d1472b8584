"""Records: whatever changes the state of a gateway."""

import struct
from typing import NamedTuple

MESSAGE, CLOCK, MODEL, START = range(4)
"""Kinds of records: a message, event time that passes without one, another model, the start of a run."""

Mark = tuple[str, str, int, float]
"""A node, its channel, the last sequence number there, and its time in seconds."""

_WATERMARK = struct.Struct("<d")


class Record(NamedTuple):
    """Something that changes the gateway's state; topic (or a model's digest) and payload depend on the kind."""

    kind: int  # `MESSAGE`, `CLOCK`, `MODEL` or `START`; the log takes any from 0 to 255
    arrival: float  # seconds since 1970
    topic: str
    payload: bytes
    content_type: str = ""

    @property
    def watermark(self) -> float:
        """Watermark of a `CLOCK` record, in seconds."""
        watermark: float = _WATERMARK.unpack(self.payload)[0]
        return watermark


def clock_record(watermark: float, now: float) -> Record:
    """Record that event time has reached a watermark without a reading; both in seconds."""
    return Record(CLOCK, now, "", _WATERMARK.pack(watermark))


def model_record(digest: str, now: float) -> Record:
    """Record that new episodes follow another model from now on."""
    return Record(MODEL, now, digest, b"")


def start_record(digest: str, now: float, configuration: bytes = b"") -> Record:
    """Record that a run has begun with this model; the configuration, written by `described`, is for recovery."""
    return Record(START, now, digest, configuration)

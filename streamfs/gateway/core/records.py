"""Records: whatever changes the state of a gateway."""

from typing import NamedTuple

MESSAGE, CLOCK, MODEL, START, SETTINGS = range(5)
"""Kinds of records: a message, silence proved up to the arrival, another model, a run's start, other settings."""

Mark = tuple[str, str, int, float]
"""A node, its channel, the last sequence number there, and its time in seconds."""


class Record(NamedTuple):
    """Something that changes the gateway's state; topic (or a model's digest) and payload depend on the kind."""

    kind: int  # `MESSAGE`, `CLOCK`, `MODEL`, `START` or `SETTINGS`; the log takes any from 0 to 255
    arrival: float  # seconds since 1970
    topic: str
    payload: bytes
    content_type: str = ""


def clock_record(silence: float) -> Record:
    """Record that silence is proved up to a time, in seconds since 1970: all that was sent before has arrived."""
    return Record(CLOCK, silence, "", b"")


def model_record(digest: str, now: float) -> Record:
    """Record that new episodes follow another model from now on."""
    return Record(MODEL, now, digest, b"")


def start_record(digest: str, now: float, configuration: bytes = b"") -> Record:
    """Record that a run has begun with this model; the configuration, written by `described`, is for recovery."""
    return Record(START, now, digest, configuration)


def settings_record(digest: str, now: float, configuration: bytes) -> Record:
    """Record that this model and other settings, written by `described`, hold from now on."""
    return Record(SETTINGS, now, digest, configuration)

"""Records: whatever changes the state of a gateway."""

from typing import NamedTuple

MESSAGE, CLOCK, MODEL, START, SETTINGS, RETAINED, STOP, LEFT, CAME = range(9)
"""Kinds of records.

They are a message, silence proved up to the arrival, another model, a run's start, other settings, a message that
the broker has kept and that holds still, a run's end, a zone that has left for another gateway, and one that has
come from another, with its state.
"""

Mark = tuple[str, str, int, float]
"""A node, its channel, the last sequence number there, and its time in seconds."""


class Record(NamedTuple):
    """Something that changes the gateway's state; topic (or a model's digest) and payload depend on the kind."""

    kind: int  # one of the above; the log takes any from 0 to 255
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


def stop_record(now: float) -> Record:
    """Record that a run ends in order: devices are asked for what they do without a gateway."""
    return Record(STOP, now, "", b"")


def anew_record(topic: str, now: float) -> Record:
    """Record that devices are asked anew, since what was on its way to them is lost: on the guard's topic."""
    return Record(RETAINED, now, topic, f'{{"at":{now}}}'.encode())


def left_record(zone: str, members: bytes, now: float) -> Record:
    """Record that another gateway serves a zone, of these members, from now on."""
    return Record(LEFT, now, zone, members)


def came_record(zone: str, parcel: bytes, now: float) -> Record:
    """Record that a zone is served here from now on, which goes on from its packed state."""
    return Record(CAME, now, zone, parcel)

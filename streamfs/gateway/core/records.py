"""Records: whatever changes the state of a gateway."""

from typing import NamedTuple

MESSAGE, CLOCK, MODEL, START = range(4)
"""Kinds of records: a message, event time that runs on without one, another model, the begin of a run."""

Mark = tuple[str, str, int, float]
"""A node, its channel, the last sequence number there, and its time in seconds."""


class Record(NamedTuple):
    """Something that changes the gateway's state.

    Parameters
    ----------
    kind : int
        `MESSAGE`, `CLOCK`, `MODEL` or `START`; the log takes any from 0 to 255.
    arrival : float
        When, in seconds since 1970.
    topic : str
        Its meaning depends on the kind.
    payload : bytes
        The same.
    content_type : str
        That of a message, empty if it has none.
    """

    kind: int
    arrival: float
    topic: str
    payload: bytes
    content_type: str = ""

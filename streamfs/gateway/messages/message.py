"""Messages from the broker."""

from typing import NamedTuple

MAX_SAMPLES = 100_000
"""Most samples of a message, unless the settings say otherwise."""


class Message(NamedTuple):
    """A message from the broker; `retained` if it was published before the subscription."""

    topic: str
    payload: bytes
    retained: bool
    arrival: float  # seconds since 1970
    content_type: str = ""  # empty if the publisher gives none

"""Messages from the broker."""

from typing import NamedTuple

MAX_SAMPLES = 100_000
"""Most samples of a message, unless the settings say otherwise."""


class Message(NamedTuple):
    """A message from the broker.

    Parameters
    ----------
    topic : str
        Where it was published.
    payload : bytes
        What was published.
    retained : bool
        Whether it was published before the subscription, and retained by the broker.
    arrival : float
        Time of arrival here, seconds since 1970.
    content_type : str
        MQTT content type; empty if the publisher gives none.
    """

    topic: str
    payload: bytes
    retained: bool
    arrival: float
    content_type: str = ""

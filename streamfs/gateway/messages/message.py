"""Messages from the broker."""

from typing import NamedTuple

MAX_SAMPLES = 100_000
"""Most samples of a message, unless the settings say otherwise."""


class Message(NamedTuple):
    """A message as it came from the broker.

    Parameters
    ----------
    topic : str
        Where it was published.
    payload : bytes
        What was published.
    retained : bool
        Whether the broker had kept it from before the subscription.
    arrival : float
        Seconds since 1970 at which it arrived here.
    content_type : str
        What its publisher says the payload is; empty if nothing.
    """

    topic: str
    payload: bytes
    retained: bool
    arrival: float
    content_type: str = ""

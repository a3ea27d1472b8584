"""Publications: messages to the broker."""

from typing import NamedTuple


class Publication(NamedTuple):
    """A message to publish.

    Parameters
    ----------
    topic : str
        Where to publish it.
    payload : bytes
        What to publish.
    retain : bool
        Whether the broker retains it for later subscribers.
    """

    topic: str
    payload: bytes
    retain: bool = True


Numbered = tuple[int, Publication]
"""A publication, after its number in the outbox."""

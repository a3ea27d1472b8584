"""What the gateway says to the broker."""

from typing import NamedTuple


class Publication(NamedTuple):
    """A message to publish.

    Parameters
    ----------
    topic : str
        Where to.
    payload : bytes
        What.
    retain : bool
        Whether the broker keeps it for those who subscribe later.
    """

    topic: str
    payload: bytes
    retain: bool = True


Numbered = tuple[int, Publication]
"""A publication behind its number in the outbox."""

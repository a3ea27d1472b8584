"""Publications: messages to the broker."""

from typing import NamedTuple


class Publication(NamedTuple):
    """A message to publish; `retain` asks the broker to keep it for later subscribers.

    After `expiry` seconds the broker forgets the retained message, and what it could not deliver; 0 is never.
    """

    topic: str
    payload: bytes
    retain: bool = True
    expiry: int = 0


Numbered = tuple[int, Publication]
"""A publication, after its number in the outbox."""

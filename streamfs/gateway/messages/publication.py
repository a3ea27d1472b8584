"""Publications: messages to the broker."""

from typing import NamedTuple


class Publication(NamedTuple):
    """A message to publish; `retain` asks the broker to keep it for later subscribers."""

    topic: str
    payload: bytes
    retain: bool = True


Numbered = tuple[int, Publication]
"""A publication, after its number in the outbox."""

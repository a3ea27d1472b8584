"""What shards have to say, published by the process that drives the job, before a batch is committed."""

from collections.abc import Sequence
from time import monotonic

from streamfs.errors import TransportError
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.transport import Transport

_POLL = 0.05  # seconds
_PATIENCE = 60.0  # seconds without a confirmation after which a batch fails, to be tried again


def publish_all(transport: Transport, publications: Sequence[Publication]) -> None:
    """Publish, and wait until the broker has confirmed all of them; those in flight when it was lost come again.

    Raises
    ------
    TransportError
        If the broker refuses one, or confirms none for a minute.
    """
    waiting = dict(enumerate(publications))
    sent, deadline = 0, monotonic() + _PATIENCE
    while waiting:
        while sent < len(publications) and transport.publish(publications[sent], sent):
            sent += 1
        transport.poll(_POLL)
        for token in transport.confirmed():
            deadline = monotonic() + _PATIENCE
            waiting.pop(int(str(token)), None)
        for token, reason, _ in transport.refused():
            raise TransportError(f"{publications[int(str(token))].topic} was refused by the broker: {reason}")
        if not transport.is_connected:
            sent = min(waiting, default=sent)
        if monotonic() > deadline:
            raise TransportError(
                f"the broker has not confirmed {len(waiting)} of {len(publications)} publications"
            )

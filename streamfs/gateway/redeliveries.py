"""Messages that the broker sends again after a reconnect: recognised before they are logged."""

from collections import Counter
from time import monotonic

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import Record

N_NEW = 1000
"""New messages, one after the other, after which no more are expected to be sent again, ..."""

LONGEST = 60.0
"""... and seconds after a connection was made: that a node's clock was set back must be noticed."""

N_REMEMBERED = 32_768
"""Messages that are remembered at least, and half of those that are at most."""


class Redeliveries:
    """Drops, and counts as ``redelivered``, what comes again after a connection was made.

    A broker sends what was not acknowledged again, and one that has crashed also what it has forgotten of the
    acknowledgements. A message is dropped if it is remembered to the byte, and the core would take it for a
    duplicate, or might for one that was numbered anew. It is safe by the time that it is acknowledged again, since
    that happens in order.

    Of nodes that another gateway has served before, what comes at first may have come there: by `bindings`.
    """

    def __init__(self, core: Core, bindings: Bindings) -> None:
        self.counters = Counter(redelivered=0)
        self.core = core
        self._bindings = bindings
        self._remembered: set[int] = set()
        self._older: set[int] = set()
        has_moved = bindings.share is not None and bool(bindings.share.came)
        self._n_connections = 0 if has_moved else 1  # at the first one nothing is remembered
        self._n_doubtful = 0
        self._until = 0.0  # monotonic

    def drop(self, records: list[Record], n_connections: int) -> list[Record]:
        """Return the records that are new, given the number of connections so far, and remember them."""
        keys = [hash((topic, payload)) for _, _, topic, payload, _ in records]
        if self._is_in_doubt(n_connections):
            known = [self._has_come(*each) for each in zip(records, keys, strict=True)]
            records = [record for record, is_known in zip(records, known, strict=True) if not is_known]
        if len(self._remembered) >= N_REMEMBERED:
            self._older, self._remembered = self._remembered, set()
        self._remembered.update(keys)
        return records

    def _is_in_doubt(self, n_connections: int) -> bool:
        """Return whether messages may be sent again, given the number of connections so far."""
        if n_connections != self._n_connections:
            self._n_connections, self._n_doubtful, self._until = n_connections, N_NEW, monotonic() + LONGEST
        if self._n_doubtful and monotonic() >= self._until:
            self._n_doubtful = 0
        return self._n_doubtful > 0

    def _has_come(self, record: Record, key: int) -> bool:
        is_known = key in self._remembered or key in self._older
        may_have = is_known or self._bindings.has_moved(record.topic)
        if may_have and self.core.has_come(record, is_known=is_known):
            self._n_doubtful = N_NEW
            self.counters["redelivered"] += 1
            return True
        self._n_doubtful = max(0, self._n_doubtful - 1)
        return False

"""Messages that the broker sends again after a reconnect: recognised before they are logged."""

from collections import Counter
from time import monotonic

from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import Record

N_NEW = 1000
"""New messages, one after the other, after which no more are expected to be sent again, ..."""

LONGEST = 60.0
"""... and seconds after a connection was made: that a node's clock was set back must be noticed."""


class Redeliveries:
    """Drops, and counts as ``redelivered``, what comes again after a connection was made.

    A broker sends what was not acknowledged again, and one that has crashed also what it has forgotten of the
    acknowledgements. What the core knows is safe by the time that it is acknowledged again, since that happens in
    order.
    """

    def __init__(self, core: Core) -> None:
        self.counters = Counter(redelivered=0)
        self._core = core
        self._n_connections = 0
        self._n_doubtful = 0
        self._until = 0.0  # monotonic

    def drop(self, records: list[Record], n_connections: int) -> list[Record]:
        """Return the records that are new, given the number of connections so far."""
        if n_connections != self._n_connections:
            self._n_connections, self._n_doubtful, self._until = n_connections, N_NEW, monotonic() + LONGEST
        if not self._n_doubtful:
            return records
        if monotonic() >= self._until:
            self._n_doubtful = 0
            return records
        return [record for record in records if not self._has_come(record)]

    def _has_come(self, record: Record) -> bool:
        if self._core.has_come(record):
            self._n_doubtful = N_NEW
            self.counters["redelivered"] += 1
            return True
        self._n_doubtful = max(0, self._n_doubtful - 1)
        return False

"""The outbox: publications that wait for the broker's confirmation."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from streamfs.gateway.messages.publication import Numbered, Publication
from streamfs.gateway.transport.transport import Transport

MAX_PASSING = 10_000


class Outbox:
    """Publishes safe publications in order, and again after a reconnect, until the broker confirms them.

    It begins with the ``waiting`` ones of an earlier run. Passing publications, such as dead letters, follow the
    others, at most once; if `MAX_PASSING` of them wait, more are dropped.
    """

    def __init__(self, transport: Transport, waiting: Iterable[Numbered] = ()) -> None:
        self.counters = Counter(confirmed=0, passing_dropped=0)
        self._transport = transport
        self._waiting = deque(waiting)
        self._under_way: dict[int, Publication] = {}
        self._passing: deque[Publication] = deque()
        self._confirmed: list[int] = []
        self._n_connections = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way)

    @property
    def has_confirmed(self) -> bool:
        """Whether `take_confirmed` will return any number."""
        return bool(self._confirmed)

    def add(self, numbers: Sequence[int], publications: Sequence[Publication]) -> None:
        """Append safe publications."""
        self._waiting.extend(zip(numbers, publications, strict=True))

    def add_passing(self, publications: Iterable[Publication]) -> None:
        """Append publications that may be lost."""
        for publication in publications:
            if len(self._passing) < MAX_PASSING:
                self._passing.append(publication)
            else:
                self.counters["passing_dropped"] += 1

    def pump(self) -> None:
        """Publish as much as the connection accepts, and collect confirmations."""
        for number in self._transport.confirmed():
            if isinstance(number, int) and self._under_way.pop(number, None) is not None:
                self._confirmed.append(number)
                self.counters["confirmed"] += 1
        n_connections = self._transport.counters["connections"]
        if n_connections != self._n_connections:
            self._n_connections = n_connections
            self._waiting.extendleft(reversed(self._under_way.items()))
            self._under_way.clear()
        while self._waiting and self._transport.publish(self._waiting[0][1], self._waiting[0][0]):
            number, publication = self._waiting.popleft()
            self._under_way[number] = publication
        while not self._waiting and self._passing and self._transport.publish(self._passing[0]):
            self._passing.popleft()

    def take_confirmed(self) -> list[int]:
        """Return the numbers confirmed since the last call."""
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

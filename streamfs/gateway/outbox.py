"""The outbox: publications that wait for the broker's confirmation."""

import logging
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic

from streamfs.gateway.core.options import Limits
from streamfs.gateway.messages.publication import Numbered, Publication
from streamfs.gateway.refused_publications import RefusedPublications
from streamfs.gateway.transport.transport import Transport

_log = logging.getLogger(__name__)

MAX_PASSING = 10_000

N_FRUITLESS = 3
"""Connections that are lost one after the other, with nothing of what was under way confirmed, after which ..."""

FATAL = "the connection is lost whenever this is sent: it may be too large for the broker, or forbidden"
"""... what is under way alone as the next one is lost is taken for refused, for this reason."""

FREED = 10
"""When full, make room for 1 in 10 publications."""


class Outbox:
    """Publishes safe publications in order, and again after a reconnect, until the broker confirms them.

    It begins with the ``waiting`` ones of an earlier run. Those that the broker refuses are tried again, and later
    ones on the same topic wait for them; but those that are too large wait for the next connection, and nothing
    waits for them. A broker may end the connection in place of a refusal, with MQTT 3.1.1: after `N_FRUITLESS` of
    these, publications go one at a time, until it is known which. If more than ``bound`` wait, some are dropped:
    first what a later one replaces, last those on topics that begin with ``dear``. Passing publications, such as
    dead letters, follow the others, at most once; if `MAX_PASSING` of them wait, more are dropped.
    """

    def __init__(
        self, transport: Transport, waiting: Iterable[Numbered] = (), bound: int = Limits.outbox, dear: str = ""
    ) -> None:
        self.counters = Counter(confirmed=0, passing_dropped=0, outbox_dropped=0)
        self._transport = transport
        self._bound = bound
        self._dear = dear
        self._waiting = deque(waiting)
        self._under_way: dict[int, Publication] = {}
        self._refused = RefusedPublications()
        self._passing: deque[Publication] = deque()
        self._concluded: list[int] = []
        self._answered_at = 0.0  # monotonic time of the last answer, or of what was first under way after it
        self._n_connections = 0
        self._n_fruitless = 0  # connections
        self._is_fruitful = False  # this connection: whether the broker has confirmed or refused anything
        self._suspects: set[int] = set()  # numbers that wait or are under way: one may end each connection

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way) + len(self._refused)

    @property
    def fullness(self) -> float:
        """Number of publications as a share of the bound."""
        return len(self) / self._bound

    @property
    def seconds_without_answer(self) -> float:
        """Seconds for which the broker has neither confirmed nor refused anything of what is under way."""
        return monotonic() - self._answered_at if self._under_way else 0.0

    @property
    def refused(self) -> Mapping[str, str]:
        """Why the broker refuses publications, by topic; may be read from any thread."""
        return self._refused.reasons

    @property
    def has_concluded(self) -> bool:
        """Whether `take_concluded` will return any number."""
        return bool(self._concluded)

    def add(self, numbers: Sequence[int], publications: Sequence[Publication]) -> None:
        """Append safe publications."""
        self._waiting.extend(zip(numbers, publications, strict=True))
        if len(self) > self._bound:
            self._make_room(len(self) - self._bound + self._bound // FREED)

    def add_passing(self, publications: Iterable[Publication]) -> None:
        """Append publications that may be lost."""
        for publication in publications:
            if len(self._passing) < MAX_PASSING:
                self._passing.append(publication)
            else:
                self.counters["passing_dropped"] += 1

    def pump(self) -> None:
        """Publish as much as the connection accepts, and collect confirmations and refusals."""
        self._collect()
        n_connections = self._transport.counters["connections"]
        if n_connections != self._n_connections:
            self._n_connections = n_connections
            self._note_loss()
        if not self._is_to_wait:
            self._try_again()
        while self._waiting and not self._is_to_wait and self._publish_next():
            pass
        while not self._waiting and self._passing and self._transport.publish(self._passing[0]):
            self._passing.popleft()

    def take_concluded(self) -> list[int]:
        """Return the numbers that were confirmed or dropped since the last call."""
        concluded, self._concluded = self._concluded, []
        return concluded

    @property
    def _is_to_wait(self) -> bool:
        """Whether what is under way is to be there alone."""
        return bool(self._suspects and self._under_way)

    def _note_loss(self) -> None:
        """Let what was under way as a connection was lost wait again, or take it for refused."""
        self._n_fruitless = 0 if self._is_fruitful else self._n_fruitless + bool(self._under_way)
        self._is_fruitful = False
        self._answered_at = monotonic()
        if self._suspects and len(self._under_way) == 1:
            (number, publication), *_ = self._under_way.items()
            self._refuse(number, publication, FATAL)
            self.counters["refused_publications"] += 1
            _log.warning("a publication to %s waits: %s", publication.topic, FATAL)
        elif self._n_fruitless >= N_FRUITLESS:
            self._suspects = set(self._under_way)
        lost = [each for each in self._under_way.items() if not self._refused.put_back(*each, monotonic())]
        self._suspects -= self._under_way.keys() - {number for number, _ in lost}
        lost = sorted([*lost, *self._refused.take_too_large()])
        self._waiting.extendleft(reversed(lost))
        self._under_way.clear()

    def _refuse(self, number: int, publication: Publication, reason: str, *, is_of_topic: bool = True) -> None:
        del self._under_way[number]
        self._answered_at = monotonic()
        self._suspects.discard(number)
        if is_of_topic:
            self._refused.refuse(number, publication, reason, monotonic())
        else:
            self._refused.set_aside(number, publication, reason)

    def _collect(self) -> None:
        if not self._under_way:
            self._answered_at = monotonic()
        for number, reason, is_of_topic in self._transport.refused():
            if isinstance(number, int) and number in self._under_way:
                self._is_fruitful = True
                self._refuse(number, self._under_way[number], reason, is_of_topic=is_of_topic)
        for number in self._transport.confirmed():
            if isinstance(number, int) and number in self._under_way:
                publication = self._under_way.pop(number)
                topic = publication.topic
                self._answered_at = monotonic()
                self._suspects.discard(number)
                self._is_fruitful = True
                self._concluded += (number, *self._refused.drop_replaced(number, publication))
                self.counters["confirmed"] += 1
                if topic in self._refused:
                    self._waiting.extendleft(reversed([*self._refused.accept(topic)]))

    def _try_again(self) -> None:
        """Publish a refused publication that is due."""
        due = self._refused.next(monotonic())
        if due is not None and self._transport.publish(due[1], due[0]):
            number, publication = due
            self._refused.take(number, publication.topic)
            self._under_way[number] = publication

    def _publish_next(self) -> bool:
        """Publish the first that waits, or let it wait for the refused ones of its topic; return False if full."""
        number, publication = self._waiting[0]
        if publication.topic in self._refused:
            self._refused.add(*self._waiting.popleft())
            self._suspects.discard(number)
            return True
        if not self._transport.publish(publication, number):
            return False
        self._under_way[number] = publication
        self._waiting.popleft()
        return True

    def _make_room(self, n: int) -> None:
        """Drop `n` publications: refused ones beyond half the bound, then the least loss; the oldest first.

        So what the broker refuses never takes the room of what it would accept.
        """
        refused = self._refused.drop_oldest(min(n, max(0, len(self._refused) - self._bound // 2)))
        n -= len(refused)
        newest = {publication.topic: number for number, publication in self._waiting if publication.retain}

        def loss(each: Numbered) -> int:
            number, (topic, *_) = each
            if topic.startswith(self._dear):
                return 2
            return int(newest.get(topic, number) == number)

        dropped = {number for number, _ in sorted(self._waiting, key=loss)[:n]}
        self._waiting = deque(each for each in self._waiting if each[0] not in dropped)
        self._suspects -= dropped
        self._concluded += (*refused, *dropped)
        self.counters["outbox_dropped"] += len(refused) + len(dropped)

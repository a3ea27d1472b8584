"""Messages that wait to be taken or acknowledged."""

from collections import Counter, deque

from streamfs.gateway.messages.message import Message


class Inbox:
    """The messages that wait for the gateway, and those that it has not acknowledged, both oldest first.

    Each is kept with the packet that acknowledges it, empty at quality of service 0 or once its connection is
    lost.
    """

    def __init__(self, max_messages: int, counters: Counter[str]) -> None:
        self._max_messages = max_messages
        self._counters = counters
        self._waiting: deque[tuple[Message, bytes]] = deque()
        self._n_kept = 0  # of these, those that need an acknowledgement
        self._taken: deque[bytes] = deque()
        self._is_shut = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether there are too many messages and none that may be dropped."""
        return self._n_kept >= self._max_messages

    def put(self, message: Message, acknowledgement: bytes) -> None:
        """Add a message; if there are too many, drop the oldest that needs no acknowledgement."""
        if self._is_shut:
            return
        self._counters["received"] += 1
        self._waiting.append((message, acknowledgement))
        self._n_kept += bool(acknowledgement)
        if len(self._waiting) > max(self._max_messages, self._n_kept):
            self._drop_one()

    def take(self, room: int | None) -> list[Message]:
        """Return up to `room` waiting messages; all if it is None."""
        n = len(self._waiting) if room is None else min(room, len(self._waiting))
        taken = [self._waiting.popleft() for _ in range(n)]
        acknowledgements = [acknowledgement for _, acknowledgement in taken]
        self._taken += acknowledgements
        self._n_kept -= len(taken) - acknowledgements.count(b"")
        return [message for message, _ in taken]

    def acknowledge(self, n: int) -> tuple[bytes, int]:
        """Forget the `n` oldest messages that were taken; return their acknowledgements, and how many."""
        if not 0 <= n <= len(self._taken):
            raise ValueError(f"n is {n}, expected 0 to {len(self._taken)}, the messages not acknowledged yet")
        packets = [self._taken.popleft() for _ in range(n)]
        return b"".join(packets), n - packets.count(b"")

    def shut(self) -> None:
        """Ignore further messages, so that the inbox is never full."""
        self._is_shut = True
        self._n_kept = 0

    def forget_connection(self) -> None:
        """Drop all acknowledgements: another connection does not understand them."""
        self._waiting = deque((message, b"") for message, _ in self._waiting)
        self._n_kept = 0
        self._taken = deque([b""] * len(self._taken))

    def _drop_one(self) -> None:
        for index, (_, acknowledgement) in enumerate(self._waiting):
            if not acknowledgement:
                del self._waiting[index]
                self._counters["dropped"] += 1
                return

"""Silence is proved: the broker has answered, and nothing that it had for us is still on its way."""

from math import inf


class Silence:
    """Time up to which all messages that the broker had for this connection were taken.

    An answer to a ping comes after the messages that the broker had sent before, and these are on the way no
    longer. It may have held others back: it has a limit, unknown here, to how many are not acknowledged. But it
    sends one that waits as soon as there is room. So it holds none back if fewer are unacknowledged, at the ping,
    than once were on this connection; or none at all.
    """

    def __init__(self) -> None:
        self.proved = -inf
        self.begin()

    def begin(self) -> None:
        """Begin again with another connection."""
        self._n_received = self._n_acknowledged = 0
        self._most_open = 0
        self._asked_at: float | None = None
        self._answered_at: float | None = None  # the time of the ping that was answered
        self._n_behind = 0

    @property
    def is_asked(self) -> bool:
        """Whether an answer is awaited, or messages before it are still to be taken."""
        return self._asked_at is not None or self._answered_at is not None

    def received(self) -> None:
        """Note a message that is to be acknowledged."""
        self._n_received += 1
        self._most_open = max(self._most_open, self._n_received - self._n_acknowledged)

    def acknowledged(self, n: int) -> None:
        """Note that messages are acknowledged."""
        self._n_acknowledged += n

    def asked(self, now: float) -> None:
        """Note that a ping is sent, at a time in seconds since 1970."""
        self._asked_at, self._n_acknowledged_then = now, self._n_acknowledged

    def answered(self, n_waiting: int) -> None:
        """Note the answer to the ping, before which these messages are still to be taken."""
        if self._asked_at is not None:
            n_open = self._n_received - self._n_acknowledged_then
            if n_open == 0 or n_open < self._most_open:
                self._answered_at, self._n_behind = self._asked_at, n_waiting
            self._most_open = max(self._most_open, n_open)
            self._asked_at = None
            self.taken(0)

    def taken(self, n: int) -> None:
        """Note that the oldest waiting messages are taken."""
        self._n_behind -= n
        if self._answered_at is not None and self._n_behind <= 0:
            self.proved, self._answered_at = max(self.proved, self._answered_at), None

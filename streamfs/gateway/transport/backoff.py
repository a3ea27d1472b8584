"""Delays before reconnecting."""

from random import Random


class Backoff:
    """Seconds before another attempt: doubled up to a maximum, and randomly up to half less.

    After a connection that lasted longer than the next delay it begins anew with the least.
    """

    def __init__(self, least: float, most: float, seed: int | None) -> None:
        self._least, self._most = least, most
        self._seconds = least
        self._random = Random(seed)  # noqa: S311 - no secret

    def next(self, stood_for: float, *, is_taken_over: bool) -> float:
        """Return the next delay, in seconds, after a connection that lasted `stood_for` seconds."""
        if is_taken_over:
            self._seconds = self._most
        elif stood_for > self._seconds:
            self._seconds = self._least
        seconds = self._seconds
        self._seconds = min(2 * seconds, self._most)
        return seconds * self._random.uniform(0.5, 1.0)

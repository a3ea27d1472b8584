"""The gateway's clock: a wall clock that never steps."""

import time
from collections.abc import Callable


class SteadyClock:
    """Wall time at the start, and monotonic time since: steps of the wall clock during a run change nothing.

    >>> wall, monotonic = iter([1000.0, 4605.0]), iter([0.0, 5.0, 5.0])
    >>> clock = SteadyClock(lambda: next(wall), lambda: next(monotonic))
    >>> clock.now(), clock.step
    (1005.0, 3600.0)
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._origin = wall() - monotonic()

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self._monotonic() + self._origin

    def start_after(self, time: float) -> None:
        """Let the clock go on from a time, in seconds since 1970, unless it is later already."""
        self._origin = max(self._origin, time - self._monotonic())

    @property
    def step(self) -> float:
        """Seconds that the wall clock is ahead of this one."""
        return self._wall() - self.now()

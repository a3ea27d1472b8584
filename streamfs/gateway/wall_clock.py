"""Event time while no reading arrives."""

from time import monotonic


class WallClock:
    """Event time that runs on with the wall clock after ``grace`` seconds without readings."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._newest: float | None = None
        self._since = monotonic()

    def idle(self, newest: float | None, *, is_connected: bool) -> float:
        """Return the seconds that event time has run beyond the newest stamp; 0 while there is no connection."""
        now = monotonic()
        if newest != self._newest or not is_connected:
            self._newest, self._since = newest, now
        return max(0.0, now - self._since - self._grace)

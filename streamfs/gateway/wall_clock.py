"""How event time runs on while nobody sends."""

from time import monotonic


class WallClock:
    """Tells how far event time has run on with the wall clock since the newest reading.

    Parameters
    ----------
    grace : float
        Seconds without news after which it begins to: as long as a link may stall before its streams time out.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._newest: float | None = None
        self._since = monotonic()

    def idle(self, newest: float | None, *, is_connected: bool) -> float:
        """Seconds beyond the newest stamp.

        Parameters
        ----------
        newest : float or None
            The newest stamp, seconds.
        is_connected : bool
            Whether there is a connection: as long as there is none, messages of this time may still be delivered.
        """
        now = monotonic()
        if newest != self._newest or not is_connected:
            self._newest, self._since = newest, now
        return max(0.0, now - self._since - self._grace)

"""Simulated time: what happens, in order."""

from heapq import heappop, heappush
from itertools import count


class Timeline:
    """Events by their time in seconds; of those at the same time, the first that was added happens first."""

    def __init__(self):
        self.now = 0.0
        self._events = []
        self._order = count()

    @property
    def next(self):
        """Time of the next event; infinite if there is none."""
        return self._events[0][0] if self._events else float("inf")

    def at(self, time, act):
        """Add an event, now at the earliest."""
        heappush(self._events, (max(time, self.now), next(self._order), act))

    def step(self, until):
        """Let the next event happen if it is due by a time, and else reach that time; return whether one did."""
        events = self._events
        if not events or events[0][0] > until:
            self.now = max(self.now, until)
            return False
        self.now, _, act = heappop(events)
        act()
        return True

    def run(self, until):
        """Let everything happen that is due by a time."""
        while self.step(until):
            pass

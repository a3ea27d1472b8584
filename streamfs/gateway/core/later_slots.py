"""Which nodes send channels that open later, so that a control message need not look at all streams."""

from collections import Counter, defaultdict
from collections.abc import Sequence


class LaterSlots:
    """Counts by node the streams that are fed by each slot of a column that opens after the first tick.

    `openings` are the ticks at which the columns open.

    Examples
    --------
    >>> later = LaterSlots([1, 4])
    >>> later.add([6, 7], n_channels=3)
    >>> later.of(2), later.of(0)
    ([(4, 7)], [])
    """

    def __init__(self, openings: Sequence[int]) -> None:
        self._later = [(column, tick) for column, tick in enumerate(openings) if tick > 1]
        self._streams: defaultdict[int, Counter[tuple[int, int, int]]] = defaultdict(Counter)

    def add(self, slots: Sequence[int], n_channels: int) -> None:
        """Add a stream that is fed by these slots, one a column; a node has one for each channel."""
        for column, tick in self._later:
            self._streams[slots[column] // n_channels][column, tick, slots[column]] += 1

    def remove(self, slots: Sequence[int], n_channels: int) -> None:
        """Remove a stream that was added with these slots."""
        for column, tick in self._later:
            node = slots[column] // n_channels
            streams, key = self._streams[node], (column, tick, slots[column])
            streams[key] -= 1
            if not streams[key]:
                del streams[key]
            if not streams:
                del self._streams[node]

    def of(self, node: int) -> list[tuple[int, int]]:
        """Return the ticks at which a node's slots open, and the slots, by column."""
        streams = self._streams.get(node)
        return [(tick, slot) for _, tick, slot in sorted(streams)] if streams else []

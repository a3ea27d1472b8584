"""The channels of the nodes: the readings that wait for their tick, and the newest that does not."""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from feature_extractors.base import Array
from streamfs.gateway.codecs import Reading

FOREVER = 2**62
"""Ticks for which a value is held that has no end."""


class Pending(NamedTuple):
    """What was sent of a channel in one tick: one reading mostly, else the numbers of the first and the last."""

    tick: int
    value: float
    first_sequence: int | None
    sequence: int | None

    def joined(self, other: "Pending", *, holds: bool) -> "Pending":
        """The two as one: a channel that holds its value shows the later reading, any other the earlier."""
        first, last = sorted(
            (self, other), key=lambda reading: -1 if reading.sequence is None else reading.sequence
        )
        return Pending(self.tick, last.value if holds else first.value, first.first_sequence, last.sequence)


class Slot:
    """One channel of one node: its readings that wait for their tick, and the last one that does not.

    Parameters
    ----------
    index : int
        Its place on the board.
    max_age : int
        Ticks for which a value is held; 0 for a channel that is sent every tick.
    """

    __slots__ = ("index", "last_sequence", "last_tick", "max_age", "pending", "ticks")

    def __init__(self, index: int, max_age: int) -> None:
        self.index = index
        self.max_age = max_age
        self.pending: list[Pending] = []  # by tick
        self.last_tick = -FOREVER
        self.last_sequence: int | None = None
        self.ticks: dict[int, int] = {}  # of the last reading and of those that wait, by sequence number

    @property
    def holds(self) -> bool:
        """Whether a value outlasts its tick."""
        return self.max_age > 0

    @property
    def n_lost(self) -> int:
        """Readings lost between the last one and the next; negative if the node has restarted its count."""
        if not self.pending or self.last_sequence is None or self.pending[0].first_sequence is None:
            return 0
        return self.pending[0].first_sequence - self.last_sequence - 1

    def knows(self, tick: int, sequence: int | None) -> bool:
        """Say whether this very reading is here: one of that tick, with that sequence number if it has one."""
        if sequence is not None:
            return self.ticks.get(sequence) == tick
        return self._waits(tick) or tick == self.last_tick

    def insert(self, tick: int, reading: Reading) -> bool:
        """Let a reading wait for its tick, and say whether it is the first that does."""
        new = Pending(tick, reading.value, reading.sequence, reading.sequence)
        if reading.sequence is not None:
            self.ticks[reading.sequence] = tick
        position = self._position(tick)
        if self._waits(tick):
            self.pending[position] = self.pending[position].joined(new, holds=self.holds)
            return False
        self.pending.insert(position, new)
        return True

    def take(self) -> Pending:
        """Make the next reading the last, and return it."""
        reading = self.pending.pop(0)
        self.ticks = {sequence: tick for sequence, tick in self.ticks.items() if tick >= reading.tick}
        self.last_tick, self.last_sequence = reading.tick, reading.sequence
        return reading

    def _waits(self, tick: int) -> bool:
        position = self._position(tick)
        return position < len(self.pending) and self.pending[position].tick == tick

    def _position(self, tick: int) -> int:
        return bisect_left(self.pending, tick, key=lambda reading: reading.tick)


class Board:
    """The last reading of every slot, as arrays with room to grow."""

    def __init__(self) -> None:
        self._n_slots = 0
        self._values = np.full(8, np.nan)
        self._ticks = np.zeros(8, dtype=np.int64)
        self._max_ages = np.zeros(8, dtype=np.int64)
        self._gap_ends = np.full(8, FOREVER)  # tick of the reading after a gap

    def append(self, slot: Slot) -> None:
        """Make room for the next slot."""
        if self._n_slots == len(self._values):
            self._values = np.concatenate([self._values, np.full(self._n_slots, np.nan)])
            self._ticks = np.resize(self._ticks, 2 * self._n_slots)
            self._max_ages = np.resize(self._max_ages, 2 * self._n_slots)
            self._gap_ends = np.concatenate([self._gap_ends, np.full(self._n_slots, FOREVER)])
        self._max_ages[self._n_slots] = slot.max_age
        self._n_slots += 1

    def put(self, index: int, reading: Pending) -> None:
        """Show a reading as the last of its slot."""
        self._values[index] = reading.value
        self._ticks[index] = reading.tick

    def mark(self, slot: Slot) -> None:
        """Show whether the sequence numbers have a gap between the slot's last reading and the next."""
        self._gap_ends[slot.index] = slot.pending[0].tick if slot.n_lost > 0 else FOREVER

    def seen(self, tick: int, settled: int) -> Array:
        """Return what each slot shows at a tick; NaN where nothing is held.

        Nothing is held over a gap that ends at the settled tick or before; a later one may yet be filled.
        """
        max_ages = np.where(self._gap_ends <= settled, 0, self._max_ages)
        return np.where(tick - self._ticks <= max_ages, self._values, np.nan)

"""From single readings to samples: one for each stream and tick, on the grid in event time."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from math import floor, inf, isfinite
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from feature_extractors.report import Policy, split_channel
from streamfs.gateway.bindings import Bindings
from streamfs.gateway.codecs import Reading
from streamfs.gateway.slots import FOREVER, Board, Slot


class Tick(NamedTuple):
    """One tick of all the streams that are followed.

    Parameters
    ----------
    time : float
        Seconds.
    streams : tuple of str
        Their names.
    samples : array of shape (n_streams, n_columns)
        NaN where a column has no value at this tick.
    """

    time: float
    streams: tuple[str, ...]
    samples: Array


class Joiner:
    """Puts readings on the grid in event time, and joins them into samples.

    A stamp belongs to the nearest tick. A tick is emitted once the watermark, ``lateness`` seconds behind the
    newest stamp, has passed all the stamps that belong to it: so the order in which readings arrive makes no
    difference as long as none is later than that, and none overtakes an earlier one of its own channel by more
    than ``overtaking``.

    A column that is sent every tick has the value stamped at that very tick. A column under any other report
    policy holds the newest value, but not beyond ``max_silence``, nor over a gap: when the sequence number of the
    channel's next reading, already received, says that one between is missing. A missing reading is either lost
    or overtaken, and the joiner cannot tell which: with ``overtaking`` at 0 it is taken for lost at once, which
    makes the column NaN for some ticks too many where readings overtake; with a large one a lost reading is
    noticed too late, and the old value is held for some ticks too many.

    A reading that is too late is counted; it still becomes the held value of its column if it is the newest
    there. A reading of a tick that is known, with the same sequence number or without one, is a duplicate. Other
    readings that share a tick are crowded: a channel that holds its value shows the last of them, one that is sent
    every tick the first. A sequence number that goes down is a node that has restarted, not a gap.

    There is no clock and no I/O inside.

    Parameters
    ----------
    bindings : Bindings
        Which channel of which node feeds which column.
    period : float
        Seconds from tick to tick.
    lateness : float
        Seconds that a reading may lag behind the newest.
    max_silence : float, optional
        Seconds for which a value is held; for ``every:k`` and ``mean:k`` at least k ticks. None holds it for ever.
    overtaking : float
        Seconds by which a reading may overtake an earlier one of its own channel. A broker
        keeps the order of what one node publishes, so it is 0 unless the way to the broker mixes them up.
    max_gap : int
        Ticks without a reading on any channel after which the grid jumps to the next tick that has one, or to the
        watermark. The ticks between are not emitted, only counted; held values are as if they had been.

    Attributes
    ----------
    newest : float or None
        The newest stamp received, in seconds.
    counters : Counter of str
        ``late``, ``duplicate``, ``crowded`` and ``unbound`` readings, readings ``lost`` by sequence number,
        ``restarted`` sequences, and ``skipped`` ticks.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Notes
    -----
    A tick costs a few vector operations over all channels; nothing is kept but the readings between watermark and
    newest stamp.

    Examples
    --------
    >>> joiner = Joiner(Bindings.single(["light", "door@flag:0.5"], ["n1"]), period=1.0)
    >>> joiner.add("n1", "door@flag:0.5", Reading(0.0, 1.0, None))
    True
    >>> for time in (0.0, 1.0, 2.0):
    ...     _ = joiner.add("n1", "light", Reading(time, 10 * time, None))
    >>> [tick.samples.tolist() for tick in joiner.advance()]
    [[[0.0, 1.0]], [[10.0, 1.0]]]
    """

    def __init__(
        self,
        bindings: Bindings,
        period: float,
        lateness: float = 0.0,
        max_silence: float | None = None,
        overtaking: float = 0.0,
        max_gap: int = 10_000,
    ) -> None:
        _check_range("period", period, 1e-6)
        _check_range("lateness", lateness, 0.0)
        _check_range("overtaking", overtaking, 0.0)
        _check_range("max_gap", max_gap, 0)
        if max_silence is not None:
            _check_range("max_silence", max_silence, period)
        self.newest: float | None = None
        self.counters = Counter(late=0, duplicate=0, crowded=0, unbound=0, lost=0, restarted=0, skipped=0)
        self._bindings = bindings
        self._period = period
        self._lateness = lateness
        self._overtaking = overtaking
        self._max_gap = max_gap
        self._max_age = FOREVER if max_silence is None else floor(max_silence / period + 1e-9)
        self._slots: dict[tuple[str, str], Slot] = {}
        self._board = Board()
        self._due: defaultdict[int, list[Slot]] = defaultdict(list)
        self._next_tick: int | None = None
        self._n_empty = 0
        self._settled = -FOREVER  # no reading that belongs to an earlier tick of a channel is still to come
        self._rows: dict[str, list[int]] = {}
        self._table: tuple[tuple[str, ...], npt.NDArray[np.int64]] | None = None
        for stream in bindings.streams:
            self._follow(stream)

    @property
    def streams(self) -> tuple[str, ...]:
        """Streams that are followed."""
        return tuple(self._rows)

    @property
    def now(self) -> float | None:
        """Time of the last tick that has been passed, in seconds; None before the first."""
        return None if self._next_tick is None else (self._next_tick - 1) * self._period

    @property
    def n_pending(self) -> int:
        """Readings that wait for their tick."""
        return sum(len(slot.pending) for slot in self._slots.values())

    def add(self, node: str, channel: str, reading: Reading) -> bool:
        """Take a reading.

        Parameters
        ----------
        node, channel : str
            Who has sent it, and on which of its channels.
        reading : Reading
            With a time.

        Returns
        -------
        bool
            Whether it is news: neither a duplicate nor of a node or channel that nobody wants.

        Raises
        ------
        ValueError
            If its time is not a finite number.
        """
        if reading.time is None or not isfinite(reading.time):
            raise ValueError(f"time is {reading.time}, expected seconds")
        slot = self._slot(node, channel)
        if slot is None:
            self.counters["unbound"] += 1
            return False
        self.newest = max(reading.time, -inf if self.newest is None else self.newest)
        self._settled = self._tick_of(self.newest - self._overtaking)
        tick = self._tick_of(reading.time)
        if slot.knows(tick, reading.sequence):
            self.counters["duplicate"] += 1
            return False
        due = tick if self._next_tick is None else max(tick, self._next_tick)
        if tick < due:
            self.counters["late"] += 1
            if not slot.holds or tick < slot.last_tick:
                return True
        if slot.insert(tick, reading):
            self._due[due].append(slot)
        else:
            self.counters["crowded"] += 1
        self._board.mark(slot)
        return True

    def advance(self, watermark: float | None = None) -> Iterator[Tick]:
        """Emit, in order, the ticks that the watermark has passed.

        Parameters
        ----------
        watermark : float, optional
            Seconds; None means lateness behind the newest stamp.
        """
        if watermark is None:
            if self.newest is None:
                return
            watermark = self.newest - self._lateness
        yield from self._emit(self._tick_of(watermark))

    def flush(self) -> Iterator[Tick]:
        """Emit the ticks up to the newest stamp, whatever may still be under way."""
        if self.newest is not None:
            yield from self._emit(self._tick_of(self.newest) + 1)

    def drop(self, stream: str) -> None:
        """Follow a stream no longer; its nodes' readings are still taken for the other streams."""
        if self._rows.pop(stream, None) is not None:
            self._table = None

    def _tick_of(self, time: float) -> int:
        return floor(time / self._period + 0.5)

    def _slot(self, node: str, channel: str) -> Slot | None:
        slot = self._slots.get((node, channel))
        if slot is None and self._bindings.discovers and channel in self._bindings.channels:
            self._follow(node)
            slot = self._slots[node, channel]
        return slot

    def _follow(self, stream: str) -> None:
        row = []
        for source in self._bindings.sources(stream):
            slot = self._slots.get(source)
            if slot is None:
                slot = Slot(len(self._slots), self._max_age_of(source.channel))
                self._slots[source] = slot
                self._board.append(slot)
            row.append(slot.index)
        self._rows[stream] = row
        self._table = None

    def _max_age_of(self, channel: str) -> int:
        """Ticks for which a value on this channel is held."""
        _, policy = split_channel(channel)
        if not policy.holds:
            return 0
        return max(self._max_age, _ticks_between(policy))

    def _emit(self, end: int) -> Iterator[Tick]:
        """Emit the ticks before the end."""
        if self._next_tick is None:
            first = min(self._due, default=end)
            if first >= end:
                return
            self._next_tick = first
        while self._next_tick < end:
            tick = self._next_tick
            self._n_empty = 0 if tick in self._due else self._n_empty + 1
            if self._n_empty > self._max_gap:
                self._next_tick = min(min(self._due, default=end), end)
                self.counters["skipped"] += self._next_tick - tick
                continue
            self._next_tick += 1
            self._take(tick)
            if self._rows:
                yield self._sample(tick)

    def _take(self, tick: int) -> None:
        """Let the readings that are due at a tick become the newest of their channels."""
        for slot in self._due.pop(tick, ()):
            while slot.pending and slot.pending[0].tick <= tick:
                n_lost = slot.n_lost
                self.counters["lost"] += max(n_lost, 0)
                self.counters["restarted"] += n_lost < 0
                self._board.put(slot.index, slot.take())
            self._board.mark(slot)

    def _sample(self, tick: int) -> Tick:
        if self._table is None:
            self._table = tuple(self._rows), np.array(list(self._rows.values()), dtype=np.int64)
        streams, index = self._table
        return Tick(tick * self._period, streams, self._board.seen(tick, self._settled)[index])


def _ticks_between(policy: Policy) -> int:
    """Ticks between two transmissions, if the policy counts them."""
    return int(policy.value) if policy.kind in ("every", "mean") else 1


def _check_range(name: str, value: float, lowest: float) -> None:
    if not (isfinite(value) and value >= lowest):
        raise ValueError(f"{name} is {value}, expected at least {lowest}")

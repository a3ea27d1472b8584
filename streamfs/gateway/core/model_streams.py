"""The streams that follow one model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import LARGEST
from feature_extractors.report import Policy, split_channel
from streamfs.base.growable_array import append_rows, rows_to_reserve
from streamfs.engine.engine import DECIDED, FREE, OPEN, WAITING, Engine
from streamfs.gateway.core._samples import choose
from streamfs.gateway.core._waiting import FOREVER, NONE
from streamfs.gateway.core.joiner import AT_ONCE, Entries, Joiner
from streamfs.gateway.core.later_slots import LaterSlots
from streamfs.procedure.procedure import Decision, Procedure

Slots = npt.NDArray[np.int32]


class Change(NamedTuple):
    """Slots that a stream, by its number in the joiner, has stopped and begun to request."""

    number: int
    released: set[int]
    opened: set[int]

    @property
    def slots(self) -> set[int]:
        """All of them."""
        return self.released | self.opened


class Pushed(NamedTuple):
    """Decisions, and what streams request otherwise than before, each with the place of its entry."""

    decisions: list[tuple[int, Decision]]
    changes: list[tuple[int, Change]]


class Chosen(NamedTuple):
    """Samples of a model's streams: places of entries, the engine's rows, seconds, values (n, n_channels).

    Only until the model chooses again.
    """

    places: Integers
    rows: Integers
    times: Array
    samples: Array


class ModelStreams:
    """The streams that follow one model, in `engine`, and the joiner's slots that feed their columns.

    A channel that opens later is requested so early that it is there at its tick. The counters of the engine are
    corrected by what was pushed in vain: samples after a decision, which had been joined before it was known.
    """

    def __init__(self, procedure: Procedure, joiner: Joiner) -> None:
        self.procedure = procedure
        self.engine = Engine(procedure)
        self._joiner = joiner
        self._slots = np.zeros((0, len(procedure.channels)), dtype=np.int32)  # by the engine's rows
        self._numbers = np.zeros(0, dtype=np.int64)  # of the joiner's streams, likewise
        self._row_of = np.full(0, NONE, dtype=np.int64)  # by the joiner's streams
        self._max_ages = np.array([_max_age(channel, procedure) for channel in procedure.channels], dtype=np.int64)
        self._later = LaterSlots(procedure.openings)
        self._ahead = 1 + ceil(0.5 + joiner.timing.lateness / procedure.period)  # ticks until nodes have obeyed
        self._in_vain: Counter[str] = Counter()
        self._room = self._new_room(AT_ONCE)

    def __contains__(self, stream: str) -> bool:
        return self.engine.status(stream) != FREE

    @property
    def counters(self) -> Counter[str]:
        """The engine's counters."""
        counters = self.engine.counters
        counters.subtract(self._in_vain)
        return counters

    @property
    def n_undecided(self) -> int:
        """Number of streams that are waiting or open."""
        return self.engine.n_undecided

    @property
    def undecided(self) -> list[str]:
        """Names of the streams that are waiting or open."""
        return self._named(self.engine.rows(WAITING, OPEN))

    @property
    def waiting(self) -> list[str]:
        """Names of the streams whose episode has not begun."""
        return self._named(self.engine.rows(WAITING))

    @property
    def decided(self) -> list[str]:
        """Names of the streams that are decided."""
        return self._named(self.engine.rows(DECIDED))

    @cached_property
    def columns(self) -> Integers:
        """The joiner's numbers of the model's channels."""
        return self._joiner.columns_of(self.procedure.channels)

    @cached_property
    def _first_columns(self) -> Integers:
        """Those of the channels that are open at the first tick."""
        columns: Integers = self.columns[np.array(self.procedure.openings) == 1]
        return columns

    def number(self, stream: str) -> int:
        """Return the joiner's number of a stream."""
        return int(self._numbers[self.engine.row(stream)])

    def name(self, number: int) -> str:
        """Return the name of one of the joiner's streams."""
        return self.engine.name(int(self._row_of[number]))

    @property
    def max_ages(self) -> Integers:
        """Ticks for which a value of each of the model's channels is held."""
        return self._max_ages

    def numbers(self, rows: Integers) -> Integers:
        """Return the joiner's numbers of the streams in some rows of the engine."""
        return self._numbers[rows]

    def slots(self, rows: Integers) -> Slots:
        """Return the slots that feed the streams in some rows, a row each."""
        return self._slots[rows]

    def decided_at(self, stream: str) -> float | None:
        """Event time of a stream's decision, in seconds; None if it is undecided."""
        if not self.engine.is_decided(stream):
            return None
        return float(self.engine.decided_at(np.array([self.engine.row(stream)]))[0])

    def admit(self, stream: str, number: int, slots: Sequence[int]) -> None:
        """Add a stream that is fed by these slots, given its number in the joiner."""
        self._place(self.engine.row(stream), number, slots)

    def adopt(
        self, stream: str, number: int, slots: Sequence[int], episode: int, decided_at: float | None
    ) -> None:
        """Add a stream that was released by another model."""
        self._place(self.engine.adopt(stream, episode, decided_at=decided_at), number, slots)

    def place_part(
        self, streams: Sequence[str], numbers: Sequence[int], part: Mapping[str, npt.NDArray[Any]]
    ) -> None:
        """Go on with streams as another gateway's model has left them, given their numbers in the joiner."""
        self.engine.place_part(streams, part)
        for stream, number in zip(streams, numbers, strict=True):
            slots = self._joiner.slots_of(number, self.columns)
            self._place(self.engine.row(stream), number, slots)

    def release(self, stream: str) -> int:
        """Remove a stream without a decision, and return its episode number."""
        self._leave(stream)
        return self.engine.release(stream)

    def close(self, stream: str) -> Decision | None:
        """Remove a stream that has left; if it was undecided, return a decision without a label."""
        self._leave(stream)
        return self.engine.close(stream)

    def slots_of(self, stream: str) -> list[int]:
        """Slots that feed a stream."""
        slots: list[int] = self._slots[self.engine.row(stream)].tolist()
        return slots

    def requested_slots_of(self, stream: str) -> set[int]:
        """Slots of the channels that a stream requests."""
        if not self.engine.varies:
            return set(self.slots_of(stream))
        return _slots_in(self._requested(np.array([self.engine.row(stream)]))[0])

    def requested_slots(self) -> Slots:
        """Slots that undecided streams request, a row each; -1 in place of those that they do not."""
        return self._requested(self.engine.rows(WAITING, OPEN))

    def opening_later(self, node: int) -> dict[str, float]:
        """Return the channels of a node that open later, and the seconds from the first tick of an episode on."""
        channels = self._joiner.channels
        return {
            channels[slot % len(channels)]: (tick - 1) * self.procedure.period
            for tick, slot in self._later.of(node)
        }

    def all_slots(self) -> Slots:
        """Slots that feed any stream, shape (n,)."""
        return self._slots[self.engine.rows(WAITING, OPEN, DECIDED)].ravel()

    def renumber(self, before: int, after: int) -> None:
        """Follow the slots' new numbers after the number of channels has changed."""
        self._slots = (self._slots // before * after + self._slots % before).astype(np.int32)
        self._count_later()

    def cannot_begin(self, entries: Entries) -> npt.NDArray[np.bool_]:
        """Return which entries are of streams that wait for their episode, and lack what it begins with."""
        rows = self._reserve_rows()[entries.ticks["stream"]]
        idle: npt.NDArray[np.bool_] = (rows != NONE) & np.isnan(entries.values[:, self._first_columns]).any(axis=1)
        idle[idle] = self.engine.is_waiting(rows[idle])
        return idle

    def choose(self, entries: Entries, places: Integers) -> Chosen:
        """Return what the model's undecided streams show at those of the places that are theirs."""
        if len(places) > len(self._room.places):
            self._room = self._new_room(len(places))
        period, shown = self.procedure.period, (entries.ticks, entries.values, entries.sources)
        held = self._joiner.streams, self._joiner.cells, self._reserve_rows()
        n = choose(places, period, *shown, *held, self.columns, self._max_ages, *self._room)
        room = self._room
        return Chosen(room.places[:n], room.rows[:n], room.times[:n], room.samples[:n])

    def push(self, chosen: Chosen) -> Pushed:
        """Push the chosen samples, in order; what follows a stream's decision is in vain.

        If what streams request varies, each may occur only once.
        """
        places, rows, times, samples = chosen
        before = self._requested(rows) if self.engine.varies else None
        decisions = []
        for decision in self.engine.take(rows, times, samples):
            row = self.engine.row(decision.stream)
            index = int(((rows == row) & (times >= decision.time - self.procedure.period / 2)).argmax())
            self._note_vain(samples[index + 1 :][rows[index + 1 :] == row])
            decisions.append((int(places[index]), decision))
        if before is None:
            return Pushed(decisions, [])
        after = self._requested(rows)
        changed = np.flatnonzero((before != after).any(axis=1)).tolist()
        return Pushed(decisions, [(int(places[i]), self._change(rows[i], before[i], after[i])) for i in changed])

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy the state into a JSON header and arrays."""
        header, arrays = self.engine.to_state()
        header["counters"] = dict(self.counters)
        return header, {**arrays, "slots": self._slots.copy(), "numbers": self._numbers.copy()}

    def restore(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore what `to_state` has copied, before any stream is added."""
        self.engine.take_over(header, arrays)
        self._slots, self._numbers = arrays["slots"].copy(), arrays["numbers"].copy()
        rows = self.engine.rows(WAITING, OPEN, DECIDED)
        self._reserve_rows()[self._numbers[rows]] = rows
        self._count_later()

    def _reserve_rows(self) -> Integers:
        """Return the rows of all the joiner's streams; NONE for those of another model."""
        if len(self._row_of) < len(self._joiner.streams):
            more = np.full(len(self._joiner.streams) - len(self._row_of), NONE, dtype=np.int64)
            self._row_of = append_rows(self._row_of, more)
        return self._row_of

    def _new_room(self, n: int) -> Chosen:
        """Return room for chosen samples."""
        places, rows = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        return Chosen(places, rows, np.empty(n), np.empty((n, len(self._max_ages))))

    def _note_vain(self, samples: Array) -> None:
        """Take back the counts of samples after a decision."""
        counts = {"samples": len(samples), "after_decision": len(samples)}
        self._in_vain.update(counts, not_finite=int((abs(samples) > LARGEST).sum()))

    def _named(self, rows: Integers) -> list[str]:
        return [self.engine.name(row) for row in rows.tolist()]

    def _requested(self, rows: Integers) -> Slots:
        return np.where(self.engine.asked(rows, self._ahead), self._slots[rows], np.int32(NONE))

    def _change(self, row: int, before: Slots, after: Slots) -> Change:
        requested, now = _slots_in(before), _slots_in(after)
        return Change(int(self._numbers[row]), requested - now, now - requested)

    def _count_later(self) -> None:
        """Count anew which streams are fed by channels that open later."""
        self._later = LaterSlots(self.procedure.openings)
        for slots in self._slots[self.engine.rows(WAITING, OPEN, DECIDED)].tolist():
            self._later.add(slots, len(self._joiner.channels))

    def _leave(self, stream: str) -> None:
        self._row_of[self.number(stream)] = NONE
        self._later.remove(self.slots_of(stream), len(self._joiner.channels))

    def _place(self, row: int, number: int, slots: Sequence[int]) -> None:
        if row >= len(self._slots):
            more = max(rows_to_reserve(len(self._slots)), row + 1 - len(self._slots))
            self._slots = append_rows(self._slots, np.zeros((more, self._slots.shape[1]), dtype=np.int32))
            self._numbers = append_rows(self._numbers, np.full(more, NONE, dtype=np.int64))
        self._slots[row], self._numbers[row] = slots, number
        self._later.add(slots, len(self._joiner.channels))
        self._reserve_rows()[number] = row


def _slots_in(row: Slots) -> set[int]:
    return set(row.tolist()) - {NONE}


def _max_age(channel: str, procedure: Procedure) -> int:
    """Return the number of ticks for which a value of a channel is held."""
    _, policy = split_channel(channel)
    if not policy.holds:
        return 0
    if procedure.max_silence is None:
        return FOREVER
    return max(floor(procedure.max_silence / procedure.period + 1e-9), _ticks_between(policy))


def _ticks_between(policy: Policy) -> int:
    """Return the number of ticks between two transmissions, 1 if the policy does not fix it."""
    return int(policy.value) if policy.kind in ("every", "mean") else 1

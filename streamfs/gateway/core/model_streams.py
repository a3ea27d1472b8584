"""The streams that follow one model."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.report import Policy, split_channel
from streamfs.base.growable_array import append_rows, rows_to_reserve
from streamfs.engine.engine import DECIDED, FREE, OPEN, WAITING, Engine
from streamfs.gateway.core._grid import FOREVER, NONE
from streamfs.gateway.core.joiner import Joiner
from streamfs.procedure.procedure import Decision, Procedure

Slots = npt.NDArray[np.int32]


class TickResult(NamedTuple):
    """Decisions of a tick, and the slots that each undecided stream has stopped requesting."""

    decisions: list[Decision]
    released: list[set[int]]


class ModelStreams:
    """The streams that follow one model, in `engine`, and the joiner's slots that feed their columns."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure
        self.engine = Engine(procedure)
        self._slots = np.zeros((0, len(procedure.channels)), dtype=np.int32)  # by the engine's rows
        self._max_ages = np.array([_max_age(channel, procedure) for channel in procedure.channels], dtype=np.int64)

    def __contains__(self, stream: str) -> bool:
        return self.engine.status(stream) != FREE

    @property
    def n_undecided(self) -> int:
        """Number of streams that are waiting or open."""
        return len(self.engine.rows(WAITING, OPEN))

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

    def decided_at(self, stream: str) -> float | None:
        """Event time of a stream's decision, in seconds; None if it is undecided."""
        if not self.engine.is_decided(stream):
            return None
        return float(self.engine.decided_at(np.array([self.engine.row(stream)]))[0])

    def decided_by(self, time: float) -> list[str]:
        """Names of the streams that were decided at an event time, in seconds, or earlier."""
        rows = self.engine.rows(DECIDED)
        return self._named(rows[self.engine.decided_at(rows) <= time])

    def admit(self, stream: str, slots: Sequence[int]) -> None:
        """Add a stream that is fed by these slots."""
        self._place(self.engine.row(stream), slots)

    def adopt(self, stream: str, slots: Sequence[int], episode: int, decided_at: float | None) -> None:
        """Add a stream that was released by another model."""
        self._place(self.engine.adopt(stream, episode, decided_at=decided_at), slots)

    def slots_of(self, stream: str) -> list[int]:
        """Slots that feed a stream."""
        slots: list[int] = self._slots[self.engine.row(stream)].tolist()
        return slots

    def requested_slots_of(self, stream: str) -> set[int]:
        """Slots of the channels that a stream requests."""
        if not self.engine.releases:
            return set(self.slots_of(stream))
        return _slots_in(self._requested(np.array([self.engine.row(stream)]))[0])

    def requested_slots(self) -> Slots:
        """Slots that undecided streams request, a row each; -1 in place of those that they do not."""
        return self._requested(self.engine.rows(WAITING, OPEN))

    def all_slots(self) -> Slots:
        """Slots that feed any stream, shape (n,)."""
        return self._slots[self.engine.rows(WAITING, OPEN, DECIDED)].ravel()

    def renumber(self, before: int, after: int) -> None:
        """Follow the slots' new numbers after the number of channels has changed."""
        self._slots = (self._slots // before * after + self._slots % before).astype(np.int32)

    def tick(self, joiner: Joiner, tick: int) -> TickResult:
        """Push to every undecided stream what its channels show at a tick."""
        rows = self.engine.rows(WAITING, OPEN)
        if not len(rows):
            return TickResult([], [])
        samples = joiner.show(tick, self._slots, rows, self._max_ages)
        time = tick * self.procedure.period
        if not self.engine.releases:
            return TickResult(self.engine.push_rows(rows, time, samples), [])
        before = self._requested(rows)
        decisions = self.engine.push_rows(rows, time, samples)
        after = self._requested(rows)
        changed = (before != after).any(axis=1)
        pairs = zip(before[changed], after[changed], strict=True)
        return TickResult(decisions, [_slots_in(old) - _slots_in(new) for old, new in pairs])

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy the state into a JSON header and arrays."""
        header, arrays = self.engine.to_state()
        return header, {**arrays, "slots": self._slots.copy()}

    @classmethod
    def from_state(
        cls, procedure: Procedure, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Self:
        """Restore what `to_state` has copied."""
        model = cls(procedure)
        model.engine = Engine.from_state(procedure, header, arrays)
        model._slots = arrays["slots"].copy()
        return model

    def _named(self, rows: npt.NDArray[np.int64]) -> list[str]:
        return [self.engine.name(row) for row in rows.tolist()]

    def _requested(self, rows: npt.NDArray[np.int64]) -> Slots:
        return np.where(self.engine.asked(rows), self._slots[rows], np.int32(NONE))

    def _place(self, row: int, slots: Sequence[int]) -> None:
        if row >= len(self._slots):
            more = max(rows_to_reserve(len(self._slots)), row + 1 - len(self._slots))
            self._slots = append_rows(self._slots, np.zeros((more, self._slots.shape[1]), dtype=np.int32))
        self._slots[row] = slots


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

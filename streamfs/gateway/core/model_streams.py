"""The streams that one model follows."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.report import Policy, split_channel
from streamfs.base.growable_array import grown, spare
from streamfs.engine.engine import DECIDED, OPEN, WAITING, Engine
from streamfs.gateway.core._grid import FOREVER, NONE
from streamfs.gateway.core.joiner import Joiner
from streamfs.procedure.procedure import Decision, Procedure

Slots = npt.NDArray[np.int32]


class Ticked(NamedTuple):
    """What has come of a tick.

    Parameters
    ----------
    decisions : list of Decision
        Of the episodes that have ended.
    released : list of set of int
        The slots that streams ask for no more, a set a stream; those of a decided one that it still asked for are
        not among them.
    """

    decisions: list[Decision]
    released: list[set[int]]


class ModelStreams:
    """An engine, and which slots of the joiner feed the columns of its streams.

    Parameters
    ----------
    procedure : Procedure
        What its streams are followed through.

    Attributes
    ----------
    engine : Engine
        Where they stand.
    slots : array of shape (n_rows, n_columns)
        The slot of each column, by the engine's rows.
    """

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure
        self.engine = Engine(procedure)
        self.slots = np.zeros((0, len(procedure.channels)), dtype=np.int32)
        self._max_ages = np.array([_max_age(channel, procedure) for channel in procedure.channels], dtype=np.int64)

    def admit(self, stream: str, slots: Sequence[int]) -> int:
        """Follow a stream, and return its row."""
        return self._place(self.engine.row(stream), slots)

    def adopt(self, stream: str, slots: Sequence[int], episode: int, decided_at: float | None) -> int:
        """Follow a stream that another model has followed, and return its row."""
        return self._place(self.engine.adopt(stream, episode, decided_at=decided_at), slots)

    def slots_of(self, row: int) -> list[int]:
        """The slots that feed a stream."""
        slots: list[int] = self.slots[row].tolist()
        return slots

    def asked_slots(self, rows: npt.NDArray[np.int64]) -> Slots:
        """Slots of the channels that streams ask for, a row each; -1 in the place of others."""
        return np.where(self.engine.asked(rows), self.slots[rows], np.int32(NONE))

    def asked_slots_of(self, row: int) -> set[int]:
        """The slots of the channels that a stream asks for."""
        if not self.engine.releases:
            return set(self.slots_of(row))
        return _slots_in(self.asked_slots(np.array([row]))[0])

    def tick(self, joiner: Joiner, tick: int) -> Ticked:
        """Show every undecided stream what its channels have at a tick."""
        rows = self.engine.rows(WAITING, OPEN)
        if not len(rows):
            return Ticked([], [])
        samples = joiner.show(tick, self.slots, rows, self._max_ages)
        time = tick * self.procedure.period
        if not self.engine.releases:
            return Ticked(self.engine.push_rows(rows, time, samples), [])
        before = self.asked_slots(rows)
        decisions = self.engine.push_rows(rows, time, samples)
        after = self.asked_slots(rows)
        changed = (before != after).any(axis=1)
        pairs = zip(before[changed], after[changed], strict=True)
        return Ticked(decisions, [_slots_in(old) - _slots_in(new) for old, new in pairs])

    def due_again(self, before: float) -> list[str]:
        """Streams that were decided at an event time, in seconds, or before it."""
        rows = self.engine.rows(DECIDED)
        return [self.engine.name(row) for row in rows[self.engine.decided_at(rows) <= before].tolist()]

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy the whole state: a header of what JSON can hold, and arrays."""
        header, arrays = self.engine.freeze()
        return header, {**arrays, "slots": self.slots.copy()}

    @classmethod
    def from_state(
        cls, procedure: Procedure, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Self:
        """Go on from what `to_state` has copied."""
        model = cls(procedure)
        model.engine = Engine.thaw(procedure, header, arrays)
        model.slots = arrays["slots"].copy()
        return model

    def _place(self, row: int, slots: Sequence[int]) -> int:
        if row >= len(self.slots):
            more = max(spare(len(self.slots)), row + 1 - len(self.slots))
            self.slots = grown(self.slots, np.zeros((more, self.slots.shape[1]), dtype=np.int32))
        self.slots[row] = slots
        return row


def _slots_in(row: Slots) -> set[int]:
    return set(row.tolist()) - {NONE}


def _max_age(channel: str, procedure: Procedure) -> int:
    """Ticks for which a value on this channel is held."""
    _, policy = split_channel(channel)
    if not policy.holds:
        return 0
    if procedure.max_silence is None:
        return FOREVER
    return max(floor(procedure.max_silence / procedure.period + 1e-9), _ticks_between(policy))


def _ticks_between(policy: Policy) -> int:
    """Ticks between two transmissions, if the policy counts them."""
    return int(policy.value) if policy.kind in ("every", "mean") else 1

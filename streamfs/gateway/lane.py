"""The streams that one model follows."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.report import Policy, split_channel
from streamfs.engine import DECIDED, OPEN, WAITING, Engine
from streamfs.gateway._grid import FOREVER
from streamfs.gateway.joiner import Joiner
from streamfs.growth import grown, spare
from streamfs.procedure import Decision, Procedure


class Lane:
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
        """Follow a stream that another lane has followed, and return its row."""
        return self._place(self.engine.adopt(stream, episode, decided_at=decided_at), slots)

    def slots_of(self, row: int) -> list[int]:
        """The slots that feed a stream."""
        slots: list[int] = self.slots[row].tolist()
        return slots

    def tick(self, joiner: Joiner, tick: int) -> list[Decision]:
        """Show every undecided stream what its channels have at a tick."""
        rows = self.engine.rows(WAITING, OPEN)
        if not len(rows):
            return []
        samples = joiner.show(tick, self.slots, rows, self._max_ages)
        return self.engine.push_rows(rows, tick * self.procedure.period, samples)

    def due_again(self, before: float) -> list[str]:
        """Streams that were decided at an event time, in seconds, or before it."""
        rows = self.engine.rows(DECIDED)
        return [self.engine.name(row) for row in rows[self.engine.decided_at(rows) <= before].tolist()]

    def freeze(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy the whole state: a header of what JSON can hold, and arrays."""
        header, arrays = self.engine.freeze()
        return header, {**arrays, "slots": self.slots.copy()}

    @classmethod
    def thaw(cls, procedure: Procedure, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Go on from what `freeze` has copied."""
        lane = cls(procedure)
        lane.engine = Engine.thaw(procedure, header, arrays)
        lane.slots = arrays["slots"].copy()
        return lane

    def _place(self, row: int, slots: Sequence[int]) -> int:
        if row >= len(self.slots):
            more = max(spare(len(self.slots)), row + 1 - len(self.slots))
            self.slots = grown(self.slots, np.zeros((more, self.slots.shape[1]), dtype=np.int32))
        self.slots[row] = slots
        return row


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

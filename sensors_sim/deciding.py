"""Nodes that run an exported model: they send nothing but its decision, or the features that it computes."""

import ctypes
from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from feature_extractors.arrays import Array
from sensors_sim.nodes import Node, Transmission

WAIT = -1
"""The answer of a model that goes on; other negative ones are ends without a label."""


class ExportedModel:
    """A model of `streamfs export` in double precision, compiled as a shared library on this machine.

    Parameters
    ----------
    library : Path
        The library.
    columns, classes : sequence of str
        Those of the model, in its order.
    n_bytes : int
        Memory of a stream.
    name : str
        Prefix of what the model declares.
    """

    def __init__(
        self, library: Path, columns: Sequence[str], classes: Sequence[str], n_bytes: int, name: str = "model"
    ) -> None:
        self.columns = tuple(columns)
        self.classes = tuple(classes)
        loaded = ctypes.CDLL(str(library))
        self._begin, self._take = getattr(loaded, f"{name}_begin"), getattr(loaded, f"{name}_take")
        self._n_bytes = n_bytes

    def begin(self) -> ctypes.Array[ctypes.c_double]:
        """Return the memory of a stream, at the beginning of an episode."""
        stream = (ctypes.c_double * -(-self._n_bytes // 8))()
        self._begin(stream)
        return stream

    def take(
        self,
        stream: ctypes.Array[ctypes.c_double],
        readings: Sequence[float],
        written: ctypes.Array[ctypes.c_double] | None = None,
    ) -> int:
        """Take the readings of a tick, in the order of columns; return the answer. A model may write more."""
        answer: int = self._take(stream, (ctypes.c_double * len(readings))(*readings), written)
        return answer


class SplitModel:
    """The node's half of a split model.

    Parameters
    ----------
    exported : ExportedModel
        What computes the channels; it has no classes.
    channels : sequence of str
        Those of the gateway's half, in its order.
    """

    def __init__(self, exported: ExportedModel, channels: Sequence[str]) -> None:
        self._exported, self.columns, self.channels = exported, exported.columns, tuple(channels)

    def sent(self, readings: Array) -> dict[str, Array]:
        """Return what an episode sends of each channel at each tick, given readings of shape (n_ticks, n_columns).

        NaN is no message.
        """
        stream, messages = self._exported.begin(), (ctypes.c_double * len(self.channels))()
        sent = np.empty((len(readings), len(self.channels)))
        for tick, row in enumerate(readings.tolist()):
            self._exported.take(stream, row, messages)
            sent[tick] = messages
        return dict(zip(self.channels, sent.T, strict=True))


class ComputingNode(Node):
    """A node that computes the channels of a split model, from the tick at which it is asked for them.

    It is made as any `Node`, and then given its model.
    """

    _model: SplitModel

    def run_model(self, model: SplitModel) -> None:
        """Compute channels by a model; raise a ValueError if the node lacks a column of it."""
        self._require(model.columns)
        self._model = model

    def _sent(self, channel: str, tick: int) -> Array:
        if channel not in self._model.channels:
            raise ValueError(f"node {self.name} has no channel {channel}, only {', '.join(self._model.channels)}")
        readings = np.full((max(self.n_ticks - tick, 0), len(self._model.columns)), nan)
        for k, column in enumerate(self._model.columns):
            known = self._columns[column][tick:]
            readings[: len(known), k] = known
        return self._model.sent(readings)[channel]


class DecidingNode(Node):
    """A node that runs a model on its own readings, and sends one message: the label, or none, and the tick.

    It is made as any `Node`, and then given its model. Control messages do not concern it.
    """

    _model: ExportedModel

    def run_model(self, model: ExportedModel) -> None:
        """Begin an episode of a model.

        Raises
        ------
        ValueError
            If the node lacks a column of the model.
        """
        self._require(model.columns)
        self._model, self._stream, self._answer = model, model.begin(), WAIT

    @property
    def is_done(self) -> bool:
        """Whether the node is dead, or has decided."""
        return not self.alive or self._answer != WAIT

    @property
    def label(self) -> str | None:
        """What it has decided; None before, and without a label."""
        return self._model.classes[self._answer] if self._answer >= 0 else None

    def set_channels(self, channels: Iterable[str], tick: int, n_ticks: int | None = None) -> None:
        """Do nothing: the node sends no readings."""

    def transmit(self, tick: int, time: float) -> list[Transmission]:
        """Return the decision at the tick at which it is made; it is paid and counted."""
        if self.is_done:
            return []
        values = (self._columns[column] for column in self._model.columns)
        self._answer = self._model.take(self._stream, [float(x[tick]) if tick < len(x) else nan for x in values])
        if self._answer == WAIT:
            return []
        payload = orjson.dumps({"label": self.label, "time": time})
        self.alive = self.battery.spend(self._meter.message_joules(len(payload)))
        if not self.alive:
            return []
        self._meter.count(self.name, len(payload))
        return [Transmission("decision", payload, delivered=True)]


def node_of(model: ExportedModel | SplitModel | None, *arguments: Any, **options: Any) -> Node:
    """Make a node that runs a model, or none, from the arguments of `Node`."""
    if model is None:
        return Node(*arguments, **options)
    if isinstance(model, SplitModel):
        computing = ComputingNode(*arguments, **options)
        computing.run_model(model)
        return computing
    deciding = DecidingNode(*arguments, **options)
    deciding.run_model(model)
    return deciding

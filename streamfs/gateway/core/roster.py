"""Who is there: the nodes, the streams they feed, the models that follow these, and what each node is to send."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.engine.engine import DECIDED, FREE, OPEN, WAITING
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.control import Control
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.options import Options
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Procedure

STOP_AFTER = 2.0
"""Time limits after which a node that hears nothing new stops by itself."""


class Roster:
    """Keeps account of nodes and streams.

    Parameters
    ----------
    procedure : Procedure
        What new episodes follow.
    bindings : Bindings
        Which node feeds which stream.
    options : Options
        Event time, and the topics' prefix.

    Attributes
    ----------
    bindings : Bindings
        For the newest model's channels.
    routes : Bindings
        The same for the channels of all models that were followed when the newest came.
    joiner : Joiner
        The nodes' readings.
    models : list of ModelStreams
        The streams by the model that they follow, the newest last.
    nodes : dict of str to int
        The nodes' numbers.
    retired : Counter of str
        What the models counted that follow no stream any more.
    """

    def __init__(self, procedure: Procedure, bindings: Bindings, options: Options) -> None:
        self.bindings = bindings.with_channels(procedure.channels)
        self.routes = self.bindings
        timing = options.timing(procedure.period, procedure.time_limit)
        self.joiner = Joiner(self.bindings.node_channels, timing, options.max_pending)
        self.models = [ModelStreams(procedure)]
        self.nodes: dict[str, int] = {}
        self.retired: Counter[str] = Counter()
        self._names: list[str] = []
        self._prefix = options.prefix
        self._control = self._new_control()

    @property
    def newest(self) -> ModelStreams:
        """The model of new episodes."""
        return self.models[-1]

    @property
    def streams(self) -> list[str]:
        """Names of the streams that are known."""
        return [stream for model in self.models for stream in model.engine.streams]

    @property
    def n_streams(self) -> int:
        """Streams that are known."""
        return sum(model.engine.n_streams for model in self.models)

    @property
    def n_open(self) -> dict[str, int]:
        """Streams that are followed, by the digests of their models."""
        n_open = Counter(dict.fromkeys((model.procedure.digest for model in self.models), 0))
        for model in self.models:
            n_open[model.procedure.digest] += model.engine.n_open
        return n_open

    @property
    def n_undecided(self) -> int:
        """Streams that are followed, or wait for their first complete sample."""
        return sum(len(model.engine.rows(WAITING, OPEN)) for model in self.models)

    def name(self, node: int) -> str:
        """The name of a node."""
        return self._names[node]

    def admit_bound(self) -> int:
        """Follow the streams that are bound by name; return how many are let go that are bound otherwise now."""
        n_released = 0
        self._widen(self.bindings.node_channels)
        for model in self.models:
            bindings = self.bindings.with_channels(model.procedure.channels)
            for stream in model.engine.streams:
                row = model.engine.row(stream)
                if self._slots_of(stream, bindings) != model.slots_of(row):
                    if not model.engine.is_decided(stream):
                        self._control.release(model.asked_slots_of(row))
                    self.newest.engine.remember(stream, model.engine.release(stream))
                    n_released += 1
        for stream in self.bindings.streams:
            if self.model_of(stream) is None:
                self.admit(stream)
        return n_released

    def admit(self, stream: str) -> None:
        """Follow a stream that is new."""
        slots = self._slots_of(stream, self.bindings)
        self.newest.admit(stream, slots)
        self._ask(slots)

    def model_of(self, stream: str) -> ModelStreams | None:
        """The model that follows a stream; None for an unknown one."""
        return next((model for model in self.models if model.engine.status(stream) != FREE), None)

    def nodes_of(self, slots: Iterable[int]) -> list[int]:
        """The nodes of some slots, each once."""
        return list(dict.fromkeys(slot // len(self.joiner.channels) for slot in slots))

    def release(self, slots: Iterable[int]) -> None:
        """Note that one undecided stream less asks for these slots."""
        self._control.release(slots)

    def update(self, nodes: Iterable[int]) -> list[Publication]:
        """Tell nodes what to send, those for which that has changed."""
        return [message for node in nodes for message in self._control.update(node, self._names[node])]

    def update_all(self) -> list[Publication]:
        """Tell all nodes what to send, those for which that has changed."""
        return self.update(self._control.outdated())

    def control_states(self) -> list[Publication]:
        """Tell every node where it stands, for a broker that has forgotten."""
        return [self._control.state(node, name) for name, node in self.nodes.items()]

    def renew(self, now: float) -> list[Publication]:
        """Tell those nodes again what to send, at an event time in seconds, that would soon stop by themselves."""
        return [self._control.state(node, self._names[node]) for node in self._control.renewals(now)]

    def reopen(self, stream: str) -> list[Publication]:
        """Let a decided stream begin its next episode; tell its nodes to send again."""
        model = self.newest
        model.engine.reopen(stream)
        slots = model.slots_of(model.engine.row(stream))
        self._ask(slots)
        return self.update(self.nodes_of(slots))

    def _ask(self, slots: Sequence[int]) -> None:
        """Note that a stream's episode is to begin that reads these slots.

        Where streams let channels go by their values, an old value must not let one go again before its node,
        which has been silent, has said what it is now.
        """
        if self.newest.engine.releases:
            self.joiner.hold_no_more(self._control.silent(slots))
        self._control.use(slots)

    def unused(self) -> list[str]:
        """Nodes that feed no stream any more, after others were bound."""
        slots = [model.slots[model.engine.rows(WAITING, OPEN, DECIDED)].ravel() for model in self.models]
        used = set(np.unique(np.concatenate(slots) // len(self.joiner.channels)).tolist())
        return [name for name, node in self.nodes.items() if node not in used]

    def forget_node(self, name: str) -> None:
        """Forget a node that feeds no stream any more."""
        node = self.nodes.pop(name)
        self._names[node] = ""
        self.joiner.remove_node(node)
        self._control.forget(node)

    def follow(self, procedure: Procedure) -> list[Publication]:
        """Let new episodes follow another model; those that are open end on theirs.

        Raises
        ------
        ValueError
            If its ticks are not those of the models before.
        """
        if procedure.period != self.newest.procedure.period:
            raise ValueError(
                f"model {procedure.digest} has a period of {procedure.period:g} s, "
                f"expected {self.newest.procedure.period:g} s, that of the model before"
            )
        old, bindings = self.newest, self.bindings.with_channels(procedure.channels)
        self.models.append(ModelStreams(procedure))
        self.joiner.allow_gap(procedure.time_limit)
        self._widen(bindings.node_channels)
        self.bindings = bindings
        self.newest.engine.inherit(old.engine)
        for status in (WAITING, DECIDED):
            for row in old.engine.rows(status).tolist():
                self.move(old.engine.name(row), old)
        self.drop_empty()
        self._find_routes()
        return self.update_all()

    def move(self, stream: str, old: ModelStreams) -> None:
        """Let a stream that is not open go on in the newest model."""
        row, decided_at = old.engine.row(stream), None
        slots = self._slots_of(stream, self.bindings)
        if old.engine.is_decided(stream):
            decided_at = float(old.engine.decided_at(np.array([row]))[0])
        else:
            self._control.release(old.asked_slots_of(row))
            self._control.use(slots)
        self.newest.adopt(stream, slots, old.engine.release(stream), decided_at)

    def drop_empty(self) -> None:
        """Let go of the older models that follow no stream any more."""
        for model in self.models[:-1]:
            if not model.engine.n_streams:
                self.models.remove(model)
                self.retired.update(model.engine.counters)

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy the whole state: a header of what JSON can hold, and arrays."""
        joiner, arrays = self.joiner.to_state()
        arrays = {f"joiner.{name}": array for name, array in arrays.items()}
        arrays["told_at"] = self._control.requested_at.copy()
        models = []
        for i, model in enumerate(self.models):
            header, part = model.to_state()
            models.append(header)
            arrays |= {f"lane{i}.{name}": array for name, array in part.items()}
        header = {
            "joiner": joiner,
            "lanes": models,
            "nodes": self.nodes.copy(),
            "retired": dict(self.retired),
            "channels": self.routes.channels,
        }
        return header, arrays

    def restore(
        self, procedures: Sequence[Procedure], header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
    ) -> None:
        """Go on from what `to_state` has copied, with the procedures of its models."""
        self.joiner.restore(header["joiner"], _part(arrays, "joiner"))
        self.models = [
            ModelStreams.from_state(procedure, model, _part(arrays, f"lane{i}"))
            for i, (procedure, model) in enumerate(zip(procedures, header["lanes"], strict=True))
        ]
        self.nodes = dict(header["nodes"])
        names = {node: name for name, node in self.nodes.items()}
        self._names = [names.get(node, "") for node in range(header["joiner"]["n_nodes"])]
        self.retired = Counter(header["retired"])
        self.routes = self.bindings.with_channels(tuple(header["channels"]))
        self._recount()
        self._control.restore(arrays["told_at"])

    def _slots_of(self, stream: str, bindings: Bindings) -> list[int]:
        slots = []
        for node, channel in bindings.sources(stream):
            if node not in self.nodes:
                self._add_node(node)
            slots.append(self.joiner.slot(self.nodes[node], channel))
        return slots

    def _find_routes(self) -> None:
        channels = (channel for model in self.models for channel in model.procedure.channels)
        self.routes = self.bindings.with_channels(tuple(dict.fromkeys(channels)))

    def _add_node(self, name: str) -> None:
        node = self.nodes[name] = self.joiner.add_node()
        if node == len(self._names):
            self._names.append(name)
        else:
            self._names[node] = name

    def _new_control(self) -> Control:
        procedure = self.newest.procedure
        stop_after = STOP_AFTER * procedure.time_limit * procedure.period
        return Control(self.joiner.channels, self._prefix, stop_after)

    def _recount(self) -> None:
        """Count anew how many undecided streams ask for each slot."""
        told = self._control
        self._control = self._new_control()
        self._control.take_over(told)
        for model in self.models:
            self._control.use_all(model.asked_slots(model.engine.rows(WAITING, OPEN)))

    def _widen(self, channels: Sequence[str]) -> None:
        """Make room for channels that no model has read so far; the numbers of slots change."""
        before = len(self.joiner.channels)
        self.joiner.widen(channels)
        after = len(self.joiner.channels)
        for model in self.models:
            model.slots = (model.slots // before * after + model.slots % before).astype(np.int32)
        self._recount()


def _part(arrays: dict[str, npt.NDArray[Any]], name: str) -> dict[str, npt.NDArray[Any]]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}

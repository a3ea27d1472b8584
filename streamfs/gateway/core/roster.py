"""The nodes, the streams that they feed, the models that these follow, and what each node is asked to send."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.report import silent_ticks
from streamfs.gateway.core._waiting import FOREVER, NONE
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.control import Control
from streamfs.gateway.core.grid_part import part_of, place_part
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.timing import longest_gap
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Procedure

STOP_AFTER = 2.0
"""Time limits after which a node that receives no control message stops on its own."""


_SHOWN = 3  # names in an error


class ZoneMembers(NamedTuple):
    """Streams and the nodes that feed them, and no others."""

    streams: list[str]
    nodes: list[str]


class Roster:
    """The known nodes and streams.

    `routes` bind the channels of all models that were followed when the newest came; `models` has the newest last;
    `retired` has the counters of the models that no stream follows any more.
    """

    def __init__(self, procedure: Procedure, bindings: Bindings, joiner: Joiner, options: Options) -> None:
        self.bindings = bindings
        self.routes = bindings
        self.models = [ModelStreams(procedure, joiner)]
        self.nodes: dict[str, int] = {}
        self.retired: Counter[str] = Counter()
        self._joiner = joiner
        self._names: list[str] = []
        self._options = options
        self.control = self._new_control()

    @property
    def newest(self) -> ModelStreams:
        """The streams of the newest model."""
        return self.models[-1]

    @property
    def streams(self) -> list[str]:
        """Names of all streams."""
        return [stream for model in self.models for stream in model.engine.streams]

    @property
    def n_streams(self) -> int:
        """Number of streams."""
        return sum(model.engine.n_streams for model in self.models)

    @property
    def n_open(self) -> dict[str, int]:
        """Number of open episodes by the digest of their model."""
        n_open = Counter(dict.fromkeys((model.procedure.digest for model in self.models), 0))
        for model in self.models:
            n_open[model.procedure.digest] += model.engine.n_open
        return n_open

    @property
    def n_undecided(self) -> int:
        """Number of streams that are waiting or open."""
        return sum(model.n_undecided for model in self.models)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, by their numbers; empty of a number that is free."""
        return tuple(self._names)

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return self._names[node]

    def model_of(self, stream: str) -> ModelStreams | None:
        """Return the model that a stream follows; None for an unknown stream."""
        return next((model for model in self.models if stream in model), None)

    def nodes_of(self, slots: Iterable[int]) -> list[int]:
        """Return the nodes of some slots, each once."""
        return list(dict.fromkeys(slot // len(self._joiner.channels) for slot in slots))

    def admit(self, stream: str) -> None:
        """Add a new stream."""
        slots = self._slots_of(stream, self.bindings)
        number = self._joiner.add_stream(dict(zip(self.bindings.channels, slots, strict=True)))
        self.newest.admit(stream, number, slots)
        self.use(self.newest, number, self.newest.requested_slots_of(stream))

    def admit_bound(self) -> list[str]:
        """Add the streams that are bound by name; return those that were bound otherwise and removed."""
        released = []
        self._widen(self.bindings)
        for model in self.models:
            bindings = self.bindings.with_channels(model.procedure.channels)
            for stream in model.engine.streams:
                if self._slots_of(stream, bindings) != model.slots_of(stream):
                    if not model.engine.is_decided(stream):
                        self.control.release(model.requested_slots_of(stream))
                    self._joiner.remove_stream(model.number(stream))
                    self.newest.engine.remember(stream, model.release(stream))
                    released.append(stream)
        for stream in self.bindings.streams:
            if self.model_of(stream) is None:
                self.admit(stream)
        return released

    def update(self, nodes: Iterable[int]) -> list[Publication]:
        """Return control messages for those of the nodes that are to send other channels than before."""
        return [message for node in nodes for message in self.control.update(node, self._names[node])]

    def update_all(self) -> list[Publication]:
        """Return control messages for all nodes that are to send other channels than before."""
        return self.update(self.control.outdated())

    def control_states(self) -> list[Publication]:
        """Return the control message of every node, for a broker that has lost its retained messages."""
        return [self.control.state(node, name) for name, node in self.nodes.items()]

    def renew(self, now: float) -> list[Publication]:
        """Return the control messages of nodes that would soon stop on their own, at a time since 1970."""
        return [self.control.state(node, self._names[node]) for node in self.control.renewals(now)]

    def request(self, stream: str, tick: int) -> list[Publication]:
        """Request the channels of a stream that awaits an episode from a tick on; return control messages."""
        slots = self.newest.requested_slots_of(stream)
        self.use(self.newest, self.newest.number(stream), slots, tick)
        return self.update(self.nodes_of(slots))

    def use(self, model: ModelStreams, number: int, slots: Iterable[int], tick: int | None = None) -> None:
        """Note that an undecided stream, given its number in the joiner, requests these slots from a tick on.

        Where requests change within an episode, an old value must neither release a channel nor count as the first
        of one that opens: not before its node, which has been silent, has sent a new one.
        """
        if model.engine.varies:
            silent, fed = set(self.control.silent(slots)), self._joiner.slots_of(number, model.columns)
            for column, slot in zip(model.columns.tolist(), fed, strict=True):
                if slot in silent:
                    self._joiner.hide(number, column, tick)
        self.control.use(slots)

    def requested(self, name: str) -> list[str]:
        """Return the channels that undecided streams request of a node."""
        node, used = self.nodes.get(name), self.control.is_used
        if node is None or node >= len(used):
            return []
        return [channel for channel, is_used in zip(self._joiner.channels, used[node], strict=True) if is_used]

    def unused(self) -> list[str]:
        """Return the names of the nodes that feed no stream, after others were bound."""
        slots = np.concatenate([model.all_slots() for model in self.models])
        used = set((slots // len(self._joiner.channels)).tolist())
        return [name for name, node in self.nodes.items() if node not in used]

    def forget_node(self, name: str) -> None:
        """Forget a node that feeds no stream."""
        node = self.nodes.pop(name)
        self._names[node] = ""
        self._joiner.remove_node(node)
        self.control.forget(node)

    def part_of(self, members: ZoneMembers) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy what is held of streams and nodes into a JSON header and arrays, for another's `place_part`."""
        nodes = [self.nodes[name] for name in members.nodes]
        followed = [(model, [name for name in members.streams if name in model]) for model in self.models]
        followed = [(model, names) for model, names in followed if names]
        streams = [name for _, names in followed for name in names]
        numbers = [model.number(name) for model, names in followed for name in names]
        part = part_of(self._joiner, nodes, numbers)
        places = [None if slot == NONE else self._joiner.place(slot) for slot in part["cells"]["slot"].tolist()]
        header = {
            "nodes": members.nodes,
            "streams": streams,
            "channels": self._joiner.channels,
            "columns": self._joiner.columns,
            "sources": [None if place is None else (self.name(place[0]), place[1]) for place in places],
            "models": [[model.procedure.digest, names] for model, names in followed],
        }
        arrays = {f"joiner.{name}": array for name, array in part.items()}
        for number, (model, names) in enumerate(followed):
            arrays |= {f"model{number}.{name}": array for name, array in model.engine.part_of(names).items()}
        arrays["requested_at"] = self.control.requested_at[nodes]
        arrays["request_numbers"] = self.control.numbers[nodes]
        return header, arrays

    def place_part(self, header: Mapping[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Go on with streams and nodes that are new here, as another roster held them; see `part_of`.

        Raise a ValueError, and do nothing, if they are not new, or follow a model that is not followed here.
        """
        models = {model.procedure.digest: model for model in self.models}
        for digest, names in header["models"]:
            if digest not in models:
                raise ValueError(f"streams such as {names[0]} follow model {digest}, which is not followed here")
        known = [name for name in header["streams"] if self.model_of(name)]
        known += [name for name in header["nodes"] if name in self.nodes]
        if known:
            raise ValueError(f"{', '.join(known[:_SHOWN])} is here already")
        for name in header["nodes"]:
            self._add_node(name)
        nodes = [self.nodes[name] for name in header["nodes"]]
        columns, numbers = header["columns"], []
        for index in range(len(header["streams"])):
            sources = header["sources"][index * len(columns) : (index + 1) * len(columns)]
            numbers.append(self._joiner.add_stream(self._slots_from(columns, sources)))
        names = header["channels"], columns
        place_part(self._joiner, _part(arrays, "joiner"), names, nodes, numbers)
        of_streams = dict(zip(header["streams"], numbers, strict=True))
        for i, (digest, streams) in enumerate(header["models"]):
            models[digest].place_part(streams, [of_streams[name] for name in streams], _part(arrays, f"model{i}"))
            for stream in streams:
                if not models[digest].engine.is_decided(stream):
                    self.control.use(models[digest].requested_slots_of(stream))
        told = arrays["request_numbers"].tolist(), arrays["requested_at"].tolist()
        for node, number, at in zip(nodes, *told, strict=True):
            self.control.place(node, number, at)

    def drop_part(self, members: ZoneMembers) -> None:
        """Forget streams and nodes that another gateway goes on with; nobody is told."""
        for stream in members.streams:
            model = self.model_of(stream)
            if model is not None:
                if not model.engine.is_decided(stream):
                    self.control.release(model.requested_slots_of(stream))
                self._joiner.remove_stream(model.number(stream))
                self.newest.engine.remember(stream, model.release(stream))
        for node in members.nodes:
            if node in self.nodes:
                self.forget_node(node)
        self.drop_empty()

    def _slots_from(self, columns: Sequence[str], sources: Sequence[Sequence[str] | None]) -> dict[str, int]:
        """Return the slots of columns that are known here, given their nodes and channels."""
        slots = {}
        for column, source in zip(columns, sources, strict=True):
            slot = NONE if source is None else self._joiner.slot(self.nodes[source[0]], source[1])
            if slot != NONE and column in self._joiner.columns:
                slots[column] = slot
        return slots

    def follow(self, procedure: Procedure) -> list[Publication]:
        """Let new episodes follow another model with the same period; open ones stay with theirs."""
        if procedure.period != self.newest.procedure.period:
            raise ValueError(
                f"model {procedure.digest} has a period of {procedure.period:g} s, "
                f"expected {self.newest.procedure.period:g} s, that of the previous model"
            )
        old, bindings = self.newest, self.bindings.with_channels(procedure.channels)
        self.models.append(ModelStreams(procedure, self._joiner))
        self._joiner.allow_gap(longest_gap(procedure))
        silent = silent_ticks(procedure.max_silence, procedure.period)
        self._joiner.repeat_within(FOREVER if silent is None else silent)
        self._widen(bindings)
        self._recount()
        self.bindings = bindings
        for model in self.models:
            for stream in model.engine.streams:
                slots = self._slots_of(stream, bindings)
                self._joiner.feed_columns(model.number(stream), dict(zip(bindings.channels, slots, strict=True)))
        self.newest.engine.inherit(old.engine)
        for stream in (*old.waiting, *old.decided):
            self.move(stream, old)
        self.drop_empty()
        read = (channel for model in self.models for channel in model.procedure.channels)
        self.routes = bindings.with_channels(tuple(dict.fromkeys(read)))
        return self.update_all()

    def move(self, stream: str, old: ModelStreams) -> None:
        """Move a stream that is not open to the newest model."""
        decided_at, number = old.decided_at(stream), old.number(stream)
        slots = self._slots_of(stream, self.bindings)
        if decided_at is None:
            self.control.release(old.requested_slots_of(stream))
        self.newest.adopt(stream, number, slots, old.release(stream), decided_at)
        if decided_at is None:
            self.control.use(self.newest.requested_slots_of(stream))

    def drop_empty(self) -> None:
        """Drop the older models that no stream follows any more."""
        for model in self.models[:-1]:
            if not model.engine.n_streams:
                self.models.remove(model)
                self.retired.update(model.counters)

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy the state, the joiner's included, into a JSON header and arrays."""
        joiner, arrays = self._joiner.to_state()
        arrays = {f"joiner.{name}": array for name, array in arrays.items()}
        arrays |= {
            "requested_at": self.control.requested_at.copy(),
            "request_numbers": self.control.numbers.copy(),
        }
        models = []
        for i, model in enumerate(self.models):
            header, part = model.to_state()
            models.append(header)
            arrays |= {f"model{i}.{name}": array for name, array in part.items()}
        header = {
            "joiner": joiner,
            "models": models,
            "nodes": self.nodes.copy(),
            "retired": dict(self.retired),
            "newest_number": self.control.newest_number,
            "channels": self.routes.channels,
        }
        return header, arrays

    def restore(
        self, procedures: Sequence[Procedure], header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
    ) -> None:
        """Restore what `to_state` has copied, given the procedures of its models, of which the newest is here."""
        self._joiner.restore(header["joiner"], _part(arrays, "joiner"))
        self.models = [*(ModelStreams(procedure, self._joiner) for procedure in procedures[:-1]), self.newest]
        for i, (model, said) in enumerate(zip(self.models, header["models"], strict=True)):
            model.restore(said, _part(arrays, f"model{i}"))
        self.nodes = dict(header["nodes"])
        names = {node: name for name, node in self.nodes.items()}
        self._names = [names.get(node, "") for node in range(header["joiner"]["n_nodes"])]
        self.retired = Counter(header["retired"])
        self.routes = self.bindings.with_channels(tuple(header["channels"]))
        self._recount()
        self.control.restore(arrays["requested_at"], arrays["request_numbers"], header["newest_number"])

    def _slots_of(self, stream: str, bindings: Bindings) -> list[int]:
        slots = []
        for node, channel in bindings.sources(stream):
            if node not in self.nodes:
                self._add_node(node)
            slots.append(self._joiner.slot(self.nodes[node], channel))
        return slots

    def _add_node(self, name: str) -> None:
        node = self.nodes[name] = self._joiner.add_node()
        if node == len(self._names):
            self._names.append(name)
        else:
            self._names[node] = name

    def _new_control(self) -> Control:
        procedure = self.newest.procedure
        stop_after = STOP_AFTER * procedure.time_limit * procedure.period
        silent_for = self._options.streams.expire_after  # after which streams are forgotten, and nodes may send
        prefix, later = self._options.prefix, self.newest.opening_later
        return Control(self._joiner.channels, prefix, stop_after, silent_for, later)

    def _recount(self) -> None:
        """Count again how many undecided streams request each slot."""
        before = self.control
        self.control = self._new_control()
        self.control.take_over(before)
        for model in self.models:
            self.control.use_all(model.requested_slots())

    def _widen(self, bindings: Bindings) -> None:
        """Add channels that no model has read so far; the slots are renumbered."""
        before = len(self._joiner.channels)
        self._joiner.widen(bindings.node_channels, bindings.channels)
        if len(self._joiner.channels) > before:
            for model in self.models:
                model.renumber(before, len(self._joiner.channels))
            self._recount()


def _part(arrays: dict[str, npt.NDArray[Any]], name: str) -> dict[str, npt.NDArray[Any]]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}

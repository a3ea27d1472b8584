"""Section ``[streams]`` of ``gateway.toml``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Self

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.option_declaration import Option, OptionSection
from streamfs.gateway.core.options import StreamTimes
from streamfs.gateway.core.pairs import group_pairs
from streamfs.gateway.messages.topics import check_name
from streamfs.gateway.settings.pairs_file import read_pairs
from streamfs.gateway.settings.toml_section import Section

_check_node, _check_stream = partial(check_name, "node"), partial(check_name, "stream")


@dataclass(frozen=True)
class Group(OptionSection):
    """A section ``[[streams.group]]``: every pair of its nodes is a stream."""

    nodes: Annotated[tuple[str, ...], Option("At least two nodes", check=_check_node)]
    roles: Annotated[tuple[str, ...], Option("Roles of the node listed first, and of the other")] = ("a", "b")

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        try:
            group_pairs(self.nodes[:2], self.roles)
        except ValueError as error:
            yield "", f"cannot be: {error}"


@dataclass(frozen=True)
class Streams(StreamTimes):
    """Section ``[streams]``: the streams; with ``pairs``, nodes by stream and role, and ``groups`` of nodes."""

    nodes: Annotated[tuple[str, ...], Option("Nodes of which each is a stream", check=_check_node)] = ()
    any_node: Annotated[
        bool, Option("Every node that sends readings is a stream; true unless streams are named")
    ] = True
    pairs_file: Annotated[Path | None, Option("CSV file of streams and their nodes by role")] = None
    pairs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        is_named = any(key in section for key in ("nodes", "pairs_file", "pairs", "group"))
        return section.read(
            cls,
            any_node=not is_named,
            pairs=section.section("pairs").texts_of_tables(_check_stream, _check_node),
            groups=tuple(group.read(Group) for group in section.sections("group")),
        )

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        yield from super().contradictions()
        values = {"nodes": self.nodes, "pairs_file": self.pairs_file, "pairs": self.pairs, "group": self.groups}
        named = [key for key, value in values.items() if value]
        if self.any_node and named:
            yield "any_node", f"is true besides {named[0]}, expected one of them"
        elif not (self.any_node or named):
            yield "any_node", "is false, expected nodes, pairs_file, pairs or group"
        if self.nodes and len(named) > 1:
            yield "nodes", f"is set besides {named[1]}: the model's streams are nodes or pairs, not both"
        if named and self.expire_after is not None:
            yield "expire_after", f"is set besides {named[0]}: streams that are named are never forgotten"

    def bindings(self, channels: Sequence[str], routes: tuple[Route, ...], limit: int) -> Bindings:
        """Bind at most ``limit`` streams for a model's channels.

        Raise a DataError if the file of pairs cannot be read, and a ValueError if there are too many streams, one
        is defined twice, or the channels do not fit.
        """
        if self.any_node or self.nodes:
            _check_number(len(self.nodes), limit)
            return Bindings.single(channels, self.nodes, routes)
        return Bindings.pairs(channels, self._pairs(limit), routes)

    def _pairs(self, limit: int) -> dict[str, Mapping[str, str]]:
        """Return all streams and their nodes by role."""
        parts = [self.pairs, {} if self.pairs_file is None else read_pairs(self.pairs_file)]
        n_grouped = sum(len(group.nodes) * (len(group.nodes) - 1) // 2 for group in self.groups)
        _check_number(n_grouped + sum(map(len, parts)), limit)
        parts += [group_pairs(group.nodes, group.roles, limit) for group in self.groups]
        n_times = Counter(stream for part in parts for stream in part)
        if not n_times:
            raise ValueError(f"{self.pairs_file} names no stream")
        ((stream, most),) = n_times.most_common(1)
        if most > 1:
            raise ValueError(f"stream {stream!r} is defined {most} times, expected once")
        return {stream: nodes for part in parts for stream, nodes in part.items()}


def _check_number(n_streams: int, limit: int) -> None:
    if n_streams > limit:
        raise ValueError(f"there are {n_streams} streams, expected at most {limit} (limits.streams)")

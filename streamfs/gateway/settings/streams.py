"""Section ``[streams]`` of ``gateway.toml``: who the streams are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.pairs import group_pairs
from streamfs.gateway.messages.topics import check_name
from streamfs.gateway.settings.pairs_file import read_pairs
from streamfs.gateway.settings.toml_section import Section


@dataclass(frozen=True)
class Group:
    """Nodes of which every pair is a stream.

    Parameters
    ----------
    nodes : tuple of str
        At least two.
    roles : tuple of str
        Two: of the node that comes first, and of the other.
    """

    nodes: tuple[str, ...]
    roles: tuple[str, ...] = ("a", "b")

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read one table of ``[[streams.group]]``."""
        group = cls(_names(section, "nodes"), section.texts("roles") or cls.roles)
        try:
            group_pairs(group.nodes[:2], group.roles)
        except ValueError as error:
            section.note("", f"cannot be: {error}")
        section.finish()
        return group


@dataclass(frozen=True)
class Streams:
    """Who the streams are.

    Parameters
    ----------
    nodes : tuple of str
        Nodes of which each is a stream.
    any_node : bool
        Whether every node that is heard is a stream.
    pairs_file : pathlib.Path, optional
        CSV file of streams and their nodes by role; see `read_pairs`.
    pairs : mapping of str to mapping of str to str
        Streams and their nodes by role.
    groups : tuple of Group
        Nodes of which every pair is a stream.
    expire_after : float, optional
        Seconds of event time after which a stream that is not heard is forgotten; None keeps it.
    reopen_after : float, optional
        Seconds of event time from a decision to the stream's next episode; None waits for a command.
    """

    nodes: tuple[str, ...] = ()
    any_node: bool = True
    pairs_file: Path | None = None
    pairs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    expire_after: float | None = None
    reopen_after: float | None = None

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        named = [key for key in ("nodes", "pairs_file", "pairs", "group") if key in section]
        any_node = section.flag("any_node", default=not named)
        if any_node and named:
            section.note("any_node", f"is true beside {named[0]}, expected one of them")
        elif not any_node and not named:
            section.note("any_node", "is false, expected nodes, pairs_file, pairs or group")
        if "nodes" in named and len(named) > 1:
            section.note("nodes", f"is there beside {named[1]}: the model's streams are nodes or pairs, not both")
        if named and "expire_after" in section:
            section.note("expire_after", f"is there beside {named[0]}: streams that are named are never forgotten")
        expire_after = section.number("expire_after", None, above=0)
        reopen_after = section.number("reopen_after", None, least=0)
        if expire_after is not None and expire_after <= (reopen_after or 0.0):
            section.note("expire_after", f"is {expire_after}, expected more than reopen_after, {reopen_after}")
        pairs = section.section("pairs")
        return cls(
            _names(section, "nodes"),
            any_node,
            section.path("pairs_file"),
            {stream: _roles(pairs, stream) for stream in pairs.keys()},  # noqa: SIM118 - a section is no mapping
            tuple(Group.read(group) for group in section.sections("group")),
            expire_after,
            reopen_after,
        )

    def bindings(self, channels: Sequence[str], routes: tuple[Route, ...], limit: int) -> Bindings:
        """Bind the streams for a model's channels.

        Parameters
        ----------
        channels : sequence of str
            The model's.
        routes : tuple of Route
            Where the readings come.
        limit : int
            Streams that there may be at most.

        Raises
        ------
        DataError
            If the file of pairs cannot be read.
        ValueError
            If there are too many streams, one is there twice, or the channels do not suit them.
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
            raise ValueError(f"stream {stream!r} is there {most} times, expected once")
        return {stream: nodes for part in parts for stream, nodes in part.items()}


def _check_number(n_streams: int, limit: int) -> None:
    if n_streams > limit:
        raise ValueError(f"there are {n_streams} streams, expected at most {limit} (limits.streams)")


def _names(section: Section, key: str) -> tuple[str, ...]:
    """Return an array of nodes."""
    names = section.texts(key)
    for name in names:
        _check(section, key, "node", name)
    return names


def _roles(pairs: Section, stream: str) -> dict[str, str]:
    """Return the nodes of a stream by role."""
    nodes = pairs.mapping(stream)
    _check(pairs, stream, "stream", stream)
    for node in nodes.values():
        _check(pairs, stream, "node", node)
    return nodes


def _check(section: Section, key: str, what: str, name: str) -> None:
    try:
        check_name(what, name)
    except ValueError as error:
        section.note(key, f"cannot be: {error}")

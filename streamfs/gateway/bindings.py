"""Which channel of which node feeds which column of which stream."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import NamedTuple, Self

from feature_extractors.report import split_channel
from streamfs.errors import DataError

_ALONE = ""  # the role of a stream's only node
_NOT_IN_TOPICS = "/+#\0"
_NOT_IN_ROLES = '.@"'


class Source(NamedTuple):
    """Where a stream's column comes from: a node, and the channel as that node knows it."""

    node: str
    channel: str


@dataclass(frozen=True)
class Bindings:
    """Which node plays which role in which stream.

    A channel of a pair, ``a.light@flag:300``, is the channel ``light@flag:300`` of the node in role ``a``; the
    channels of a stream of one node have no role. Nodes publish to ``sensors/{node}/{channel}``.

    Parameters
    ----------
    channels : tuple of str
        The procedure's channels, in the order of a sample's columns.
    nodes_of : mapping of str to mapping of str to str
        Each stream's nodes by role; the role of a stream's only node is the empty text.
    discovers : bool
        Whether any other node that publishes on a wanted topic is a stream too.

    Raises
    ------
    ValueError
        If a name cannot stand in a topic, a channel cannot be read, or no node has a channel's role.

    Examples
    --------
    >>> bindings = Bindings.pairs(["a.light@flag:300", "b.light@flag:300"], {"desk": {"a": "n1", "b": "n2"}})
    >>> bindings.topics
    ('sensors/+/light@flag:300',)
    >>> bindings.sources("desk")[1]
    Source(node='n2', channel='light@flag:300')
    >>> bindings.parse("sensors/n1/light@flag:300")
    Source(node='n1', channel='light@flag:300')
    """

    channels: tuple[str, ...]
    nodes_of: Mapping[str, Mapping[str, str]]
    discovers: bool = False

    def __post_init__(self) -> None:
        if not self.channels:
            raise ValueError("channels are (), expected at least one")
        for channel in self.channels:
            _check_name("channel", channel, _NOT_IN_TOPICS)
            split_channel(channel)
        for stream, nodes in self.nodes_of.items():
            _check_name("stream", stream, _NOT_IN_TOPICS)
            for role, node in nodes.items():
                _check_name("node", node, _NOT_IN_TOPICS)
                if role != _ALONE:
                    _check_name("role", role, _NOT_IN_ROLES)
        _ = self._sources

    @classmethod
    def single(cls, channels: Sequence[str], nodes: Iterable[str] = ()) -> Self:
        """Bind each node to a stream of its own name; without nodes, every node that publishes is a stream."""
        nodes_of = {node: {_ALONE: node} for node in nodes}
        return cls(tuple(channels), nodes_of, discovers=not nodes_of)

    @classmethod
    def pairs(cls, channels: Sequence[str], pairs: Mapping[str, Mapping[str, str]]) -> Self:
        """Bind each stream to its nodes, given by role."""
        alone = next((channel for channel in channels if not _split_role(channel)[0]), None)
        if alone is not None:
            raise ValueError(f"channel {alone} has no role: a stream of this model is one node, not a pair")
        return cls(tuple(channels), {stream: dict(nodes) for stream, nodes in pairs.items()})

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics to subscribe to: one a distinct channel, for all nodes."""
        if self.discovers:
            return tuple(f"sensors/+/{channel}" for channel in dict.fromkeys(self.channels))
        wanted = dict.fromkeys(source.channel for sources in self._sources.values() for source in sources)
        return tuple(f"sensors/+/{channel}" for channel in wanted)

    @property
    def streams(self) -> tuple[str, ...]:
        """Streams that are bound by name."""
        return tuple(self._sources)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes that are bound by name."""
        return tuple(self._streams_of)

    def sources(self, stream: str) -> tuple[Source, ...]:
        """Return where each column of a stream comes from; nowhere for an unknown one."""
        if stream in self._sources or not self.discovers:
            return self._sources.get(stream, ())
        return tuple(Source(stream, channel) for channel in self.channels)

    def streams_of(self, node: str) -> tuple[str, ...]:
        """Return the streams that a node feeds; none for an unknown node."""
        if node in self._streams_of or not self.discovers:
            return self._streams_of.get(node, ())
        return (node,)

    def channels_of(self, node: str) -> tuple[str, ...]:
        """Return the channels that a node shall send."""
        wanted = (
            source.channel
            for stream in self.streams_of(node)
            for source in self.sources(stream)
            if source.node == node
        )
        return tuple(dict.fromkeys(wanted))

    def parse(self, topic: str) -> Source | None:
        """Return the node and the channel that a topic names; None if it feeds no stream."""
        levels = topic.split("/")
        if len(levels) != 3 or levels[0] != "sensors" or not all(levels) or not self.streams_of(levels[1]):
            return None
        return Source(levels[1], levels[2])

    @cached_property
    def _sources(self) -> dict[str, tuple[Source, ...]]:
        roles = [_split_role(channel) for channel in self.channels]
        return {
            stream: tuple(
                _source(stream, nodes, channel, role) for channel, role in zip(self.channels, roles, strict=True)
            )
            for stream, nodes in self.nodes_of.items()
        }

    @cached_property
    def _streams_of(self) -> dict[str, tuple[str, ...]]:
        streams_of: dict[str, dict[str, None]] = {}
        for stream, sources in self._sources.items():
            for source in sources:
                streams_of.setdefault(source.node, {})[stream] = None
        return {node: tuple(streams) for node, streams in streams_of.items()}


def read_pairs(path: str | PathLike[str]) -> dict[str, dict[str, str]]:
    """Read which nodes make up which stream from a CSV file.

    The header is ``stream`` and then the roles, ``stream,a,b``; each line names a stream and its nodes.

    Parameters
    ----------
    path : path
        The file, in UTF-8.

    Returns
    -------
    dict of str to dict of str to str
        Each stream's nodes by role, for `Bindings.pairs`.

    Raises
    ------
    DataError
        If the file cannot be read as such, naming the line and the value.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - any path-like
            reader = csv.reader(file, strict=True)
            roles = _roles(path, next(reader, []))
            pairs: dict[str, dict[str, str]] = {}
            for cells in reader:
                if cells:
                    _add_pair(pairs, roles, cells, f"{path}, line {reader.line_num}")
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return pairs


def _roles(path: str | PathLike[str], header: list[str]) -> list[str]:
    roles = header[1:]
    if header[:1] != ["stream"] or not roles or not all(roles) or len(set(roles)) < len(roles):
        raise DataError(f"{path}, line 1: header is {','.join(header)!r}, expected stream and then distinct roles")
    return roles


def _add_pair(pairs: dict[str, dict[str, str]], roles: list[str], cells: list[str], place: str) -> None:
    if len(cells) != len(roles) + 1:
        raise DataError(f"{place}: {','.join(cells)!r} has {len(cells)} values, expected {len(roles) + 1}")
    stream, *nodes = cells
    try:
        _check_name("stream", stream, _NOT_IN_TOPICS)
        for node in nodes:
            _check_name("node", node, _NOT_IN_TOPICS)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error
    if stream in pairs:
        raise DataError(f"{place}: stream {stream!r} is there twice")
    pairs[stream] = dict(zip(roles, nodes, strict=True))


def _check_name(what: str, name: str, unfit: str) -> None:
    if not name or any(character in name for character in unfit):
        raise ValueError(f"{what} is {name!r}, expected a name without any of {unfit!r}")


def _split_role(channel: str) -> tuple[str, str]:
    """Return a channel's role, empty if it has none, and the channel without it."""
    column, _ = split_channel(channel)
    role, dot, _ = column.partition(".")
    if not dot:
        return _ALONE, channel
    quote = '"' if channel.startswith('"') else ""
    return role, quote + channel.removeprefix(f"{quote}{role}.")


def _source(stream: str, nodes: Mapping[str, str], channel: str, role: tuple[str, str]) -> Source:
    if _ALONE in nodes:
        return Source(nodes[_ALONE], channel)
    if role[0] not in nodes:
        raise ValueError(f"channel {channel!r} has role {role[0]!r}, stream {stream!r} has {', '.join(nodes)}")
    return Source(nodes[role[0]], role[1])

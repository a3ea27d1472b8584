"""Bindings: which channel of which node feeds which column of which stream, and on which topics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

from feature_extractors.report import split_channel, split_column, split_opening
from streamfs.base.newest import MOST_NAMES
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.feeds import Feed, feeds_of
from streamfs.gateway.core.pairs import MAX_PAIRS, group_pairs
from streamfs.gateway.core.routes import STANDARD, Addressed, Route, Routed, by_sender, level_of, senders_of
from streamfs.gateway.core.shards import Share, zone_by_node
from streamfs.gateway.messages.senders import Sender
from streamfs.gateway.messages.topics import LONGEST_TOPIC, check_name

__all__ = ["STANDARD", "Bindings", "NodeChannel", "Route", "quantity_sent"]

PAIR = ("a", "b")
"""Default roles of the columns of pairs; a model with both is not one of single nodes."""

NONE = -1
"""The number of no route."""

_ALONE = ""  # the role of a stream's only node
_NOT_IN_ROLES = '.@"'


class NodeChannel(NamedTuple):
    """The node of a stream's column, and the channel as that node knows it."""

    node: str
    channel: str


AS_MEASURED = ("every", "delta")
"""Report policies whose messages carry the reading itself."""


def quantity_sent(channel: str) -> str:
    """Return what the messages of a channel carry: a quantity, or the channel itself, if it is a flag or a mean.

    Examples
    --------
    >>> quantity_sent("light@delta:40"), quantity_sent("light@flag:300")
    ('light', 'light@flag:300')
    """
    try:
        column, policy = split_channel(channel)
    except ValueError:
        return channel
    return column if policy.kind in AS_MEASURED else channel


@dataclass(frozen=True)
class Bindings:
    """Which node plays which role in which stream, and on which topics nodes publish.

    The channel ``a.light@flag:300`` is ``light@flag:300`` of the node in role ``a``; the only node of a stream has
    the role "". Nodes know nothing of the ticks at which channels open in an episode. With `discovers`, any other
    node on a wanted topic is a stream too. The first route that fits counts. `aliases` are names of nodes by the
    names under which they are heard, `devices` the profiles that routes name, `zones` the time zones of nodes that
    have their own. With a `share`, streams are divided among gateways; `elsewhere` are the nodes that others
    serve, and `streams_elsewhere` theirs.

    >>> bindings = Bindings.pairs(["a.light@flag:300", "b.light@flag:300"], {"desk": {"a": "n1", "b": "n2"}})
    >>> bindings.topics, bindings.sources("desk")[1]
    (('sensors/+/light@flag:300',), NodeChannel(node='n2', channel='light@flag:300'))
    """

    channels: tuple[str, ...]
    nodes_of: Mapping[str, Mapping[str, str]]
    discovers: bool = False
    routes: tuple[Route, ...] = (STANDARD,)
    aliases: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, DeviceProfile] = field(default_factory=dict)
    zones: Mapping[str, str] = field(default_factory=dict)
    share: Share | None = None
    elsewhere: frozenset[str] = frozenset()
    streams_elsewhere: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.channels:
            raise ValueError("channels are (), expected at least one")
        if not self.routes:
            raise ValueError("routes are (), expected at least one")
        for channel in self.channels:
            check_name("channel", channel)
            split_channel(channel)
        for stream, nodes in self.nodes_of.items():
            check_name("stream", stream)
            for role, node in nodes.items():
                check_name("node", node)
                if role != _ALONE:
                    check_name("role", role, _NOT_IN_ROLES)
        is_alone = self.discovers or any(_ALONE in nodes for nodes in self.nodes_of.values())
        if is_alone and {split_role(channel)[0] for channel in self.channels} == set(PAIR):
            a, b = PAIR
            raise ValueError(
                f"channels have the roles {a} and {b}, as {self.channels[0]}: the model follows pairs of nodes, "
                f"expected the names of these"
            )
        _ = self._sources

    @classmethod
    def single(
        cls, channels: Sequence[str], nodes: Iterable[str] = (), routes: tuple[Route, ...] = (STANDARD,)
    ) -> Self:
        """Bind each node to a stream of its name; without nodes, every node that publishes is a stream."""
        nodes_of = {node: {_ALONE: node} for node in nodes}
        return cls(tuple(channels), nodes_of, discovers=not nodes_of, routes=routes)

    @classmethod
    def pairs(
        cls,
        channels: Sequence[str],
        pairs: Mapping[str, Mapping[str, str]],
        routes: tuple[Route, ...] = (STANDARD,),
    ) -> Self:
        """Bind each stream to its nodes, given by role."""
        alone = next((channel for channel in channels if not split_role(channel)[0]), None)
        if alone is not None:
            raise ValueError(f"channel {alone} has no role: a stream of this model is one node, not a pair")
        nodes_of = {stream: dict(nodes) for stream, nodes in pairs.items()}
        return cls(tuple(channels), nodes_of, routes=routes)

    @classmethod
    def group(
        cls,
        channels: Sequence[str],
        nodes: Sequence[str],
        roles: Sequence[str] = PAIR,
        limit: int = MAX_PAIRS,
        routes: tuple[Route, ...] = (STANDARD,),
    ) -> Self:
        """Bind each pair of a group of nodes to a stream; see `group_pairs`."""
        return cls.pairs(channels, group_pairs(nodes, roles, limit), routes)

    def with_channels(self, channels: Sequence[str]) -> Self:
        """Return the same nodes, bound for another procedure's channels."""
        return self if tuple(channels) == self.channels else replace(self, channels=tuple(channels))

    def of_share(self, share: Share) -> Self:
        """Return the part of these bindings that a gateway with a share of them serves."""
        zones = zone_by_node(self.nodes_of)
        nodes_of = {
            stream: nodes
            for stream, nodes in self.nodes_of.items()
            if share.has(zones[next(iter(nodes.values()))])
        }
        elsewhere = frozenset(node for node, zone in zones.items() if not share.has(zone))
        streams = frozenset(self.nodes_of.keys() - nodes_of.keys())
        return replace(self, nodes_of=nodes_of, share=share, elsewhere=elsewhere, streams_elsewhere=streams)

    def is_foreign(self, topic: str) -> bool:
        """Return whether messages on a topic are those of a node that another gateway serves."""
        if self.share is None:
            return False
        _, found = self._found(topic)
        if found is None or found.node in self._streams_of:
            return False
        return found.node in self.elsewhere or not self.share.has(found.node)

    def has_moved(self, topic: str) -> bool:
        """Return whether the node that publishes on a topic was served by another gateway before."""
        if self.share is None or not self.share.came:
            return False
        node = self.node_of(topic)
        return node is not None and self._zones.get(node, node) in self.share.came

    def node_of(self, topic: str) -> str | None:
        """Return the node that publishes on a topic, whether it is bound or not; None if no route fits."""
        _, found = self._found(topic)
        return None if found is None else found.node

    def is_stream_elsewhere(self, stream: str) -> bool:
        """Return whether another gateway serves a stream."""
        if self.share is None or stream in self._sources:
            return False
        return stream in self.streams_elsewhere or (self.discovers and not self.share.has(stream))

    @cached_property
    def node_channels(self) -> tuple[str, ...]:
        """Distinct channels, as nodes know them, that nodes are to send."""
        if self.discovers:
            return tuple(dict.fromkeys(map(sent_as, self.channels)))
        return tuple(dict.fromkeys(source.channel for sources in self._sources.values() for source in sources))

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """Topic filters for all nodes: one for each distinct channel if topics name the channel."""
        wanted = self.node_channels
        return tuple(dict.fromkeys(topic for route in self.routes for topic in route.filters(wanted)))

    @property
    def streams(self) -> tuple[str, ...]:
        """Streams that are bound by name."""
        return tuple(self._sources)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes that are bound by name."""
        return tuple(self._streams_of)

    def sources(self, stream: str) -> tuple[NodeChannel, ...]:
        """Return the node and channel of each column of a stream; empty for an unknown stream."""
        if stream in self._sources or not self.discovers:
            return self._sources.get(stream, ())
        return tuple(NodeChannel(stream, sent_as(channel)) for channel in self.channels)

    def streams_of(self, node: str) -> tuple[str, ...]:
        """Return the streams that a node feeds; empty for an unknown node."""
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

    def route(self, topic: str) -> Routed | None:
        """Return a topic's node, channel (None if the payload names it) and codec; None if it feeds no stream."""
        number, found = self._found(topic)
        if found is None or not self._feeds(found):
            return None
        if found.node in self.zones:
            found = (self._zoned(number, self.zones[found.node]).find(topic) or found)._replace(node=found.node)
        return found

    def _found(self, topic: str) -> tuple[int, Routed | None]:
        """Return the first route that fits a topic, by its number, and what it says, with the node's own name."""
        for number, route in enumerate(self.routes):
            found = None if route.ignored and route.ignores(topic) else route.find(topic)
            if found is not None:
                node = self.aliases.get(found.node) or level_of(found.node)
                return number, found if node == found.node else found._replace(node=node)
        return NONE, None

    def _zoned(self, number: int, zone: str) -> Route:
        """Return a route, by its number, for nodes in a zone."""
        key = number, zone
        if key not in self._routes_in_zones:
            self._routes_in_zones[key] = self.routes[number].in_zone(zone)
        return self._routes_in_zones[key]

    def addressed(self, topic: str, payload: bytes) -> list[Addressed]:
        """Return the parts of a message, with the nodes that its payload names: see `routes.addressed`."""
        senders = self._senders.get(topic)
        if senders is None:
            if len(self._senders) >= MOST_NAMES:
                self._senders.clear()
            senders = senders_of(self.routes, topic)
            if len(topic) <= LONGEST_TOPIC:
                self._senders[topic] = senders
        return by_sender(senders, topic, payload)

    def ignores(self, topic: str) -> bool:
        """Return whether a topic is known to have no readings."""
        return any(route.ignores(topic) for route in self.routes)

    def fed_by(self, name: str, *, thins: bool = True) -> tuple[Feed, ...]:
        """Return the channels, of those that nodes are to send, that a channel or quantity of a source feeds."""
        key = name, thins
        fed = self._fed.get(key)
        if fed is None:
            fed = feeds_of(name, self.node_channels, thins=thins)
            if len(self._fed) >= MOST_NAMES:
                self._fed.clear()
            if len(name) <= LONGEST_TOPIC:
                self._fed[key] = fed
        return fed

    def _feeds(self, found: Routed) -> bool:
        """Return whether a node feeds a stream, on a channel if that is known."""
        node, channel, *_ = found
        is_new = self.discovers and node not in self._streams_of
        if channel is None:
            return is_new or node in self._streams_of
        fed = self.fed_by(channel, thins=found.thins)
        return any(is_new or NodeChannel(node, feed.channel) in self._wanted for feed in fed)

    @cached_property
    def _senders(self) -> dict[str, tuple[Sender, ...]]:
        return {}

    @cached_property
    def has_senders(self) -> bool:
        """Whether payloads of some source name the node."""
        return any(route.sender is not None for route in self.routes)

    @cached_property
    def _zones(self) -> dict[str, str]:
        return zone_by_node(self.nodes_of)

    @cached_property
    def _fed(self) -> dict[tuple[str, bool], tuple[Feed, ...]]:
        return {}

    @cached_property
    def _routes_in_zones(self) -> dict[tuple[int, str], Route]:
        return {}

    @cached_property
    def _wanted(self) -> frozenset[NodeChannel]:
        return frozenset(source for sources in self._sources.values() for source in sources)

    @cached_property
    def _sources(self) -> dict[str, tuple[NodeChannel, ...]]:
        roles = [split_role(sent_as(channel)) for channel in self.channels]
        return {
            stream: tuple(
                _node_channel(stream, nodes, channel, role)
                for channel, role in zip(self.channels, roles, strict=True)
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


def sent_as(channel: str) -> str:
    """Return a channel as nodes know it: when it opens in an episode is not their concern."""
    return split_opening(channel)[0]


def split_role(channel: str) -> tuple[str, str]:
    """Return a channel's role, empty if it has none, and the channel without it."""
    column, _ = split_channel(channel)
    role, _ = split_column(column)
    if not role:
        return _ALONE, channel
    quote = '"' if channel.startswith('"') else ""
    return role, quote + channel.removeprefix(f"{quote}{role}.")


def _node_channel(stream: str, nodes: Mapping[str, str], channel: str, role: tuple[str, str]) -> NodeChannel:
    if _ALONE in nodes:
        return NodeChannel(nodes[_ALONE], sent_as(channel))
    if role[0] not in nodes:
        raise ValueError(f"channel {channel!r} has role {role[0]!r}, stream {stream!r} has {', '.join(nodes)}")
    return NodeChannel(nodes[role[0]], role[1])

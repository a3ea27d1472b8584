"""Streams divided among gateways: by the zones that share no node, so that no stream is torn apart."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

MAX_SHARDS = 4096
"""Most shards that streams are divided into."""

_MULTIPLIER = 2862933555777941757  # of the linear congruential generator of Lamping and Veach
_TEXT = re.compile(r"(\d{1,9})/(\d{1,9})")


@dataclass(frozen=True)
class Shard:
    """One of several parts of all streams: its number, from 1, of how many.

    Examples
    --------
    >>> shard = Shard.parse("3/8")
    >>> shard, str(shard), shard.has("room2")
    (Shard(number=3, of=8), '3/8', True)
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a shard, such as ``3/8``; raise a ValueError for anything else."""
        found = _TEXT.fullmatch(text)
        number, of = (int(part) for part in found.groups()) if found else (0, 0)
        if not 1 <= number <= of <= MAX_SHARDS:
            raise ValueError(f"shard is {text!r}, expected one such as 3/8, of at most {MAX_SHARDS}")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, zone: str) -> bool:
        """Return whether a zone belongs to this shard."""
        return shard_of(zone, self.of) == self.number


def shard_of(zone: str, of: int) -> int:
    """Return the number of a zone's shard, from 1, of some.

    With one shard more, of n, one zone of n moves, and only to the new shard.

    Notes
    -----
    Lamping and Veach, A Fast, Minimal Memory, Consistent Hash Algorithm, 2014.
    """
    key = int.from_bytes(blake2b(zone.encode(), digest_size=8).digest(), "little")
    number, following = 0, 0.0
    while following < of:
        number = int(following)
        key = (key * _MULTIPLIER + 1) & 0xFFFF_FFFF_FFFF_FFFF
        following = int((number + 1) * (2.0**31 / ((key >> 33) + 1)))
    return number + 1


@dataclass(frozen=True)
class Share:
    """What a gateway serves: the zones of its shard but those that have left it, and those that have come."""

    shard: Shard
    came: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()

    def has(self, zone: str) -> bool:
        """Return whether a zone is served here."""
        return zone in self.came or (zone not in self.left and self.shard.has(zone))


def zone_by_node(nodes_of: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the zone of each node, given the nodes of each stream by role.

    Nodes that feed one stream are of one zone, and so are those that are connected by several. A zone is named
    after the least of its nodes.

    Examples
    --------
    >>> zone_by_node({"p": {"a": "n2", "b": "n1"}, "q": {"a": "n2", "b": "n3"}, "r": {"": "n4"}})
    {'n2': 'n1', 'n1': 'n1', 'n3': 'n1', 'n4': 'n4'}
    """
    least: dict[str, str] = {}
    for nodes in nodes_of.values():
        _join(least, nodes.values())
    return {node: _least_of(least, node) for node in least}


def _join(least: dict[str, str], nodes: Iterable[str]) -> None:
    """Let nodes be of one zone: each points to a lesser one of its zone, and the least to itself."""
    found = [_least_of(least, node) for node in nodes]
    for each in found:
        least[each] = min(found)


def _least_of(least: dict[str, str], node: str) -> str:
    """Return the least known node of a node's zone, and let what lies on the way there point to it."""
    way = [node]
    while (following := least.setdefault(way[-1], way[-1])) != way[-1]:
        way.append(following)
    least.update(dict.fromkeys(way, way[-1]))
    return way[-1]

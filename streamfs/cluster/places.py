"""Where streams go: each to a shard, and each shard to a partition of Spark's."""

from functools import cached_property

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import MESSAGE, Record
from streamfs.gateway.core.shards import Shard, Share, shard_of, zone_by_node

MAX_KNOWN = 1_000_000
"""Names whose places are remembered."""

EVERYWHERE = 0
"""The place of what concerns all shards."""

_SEED = 42  # of Spark's hash
_LOW = 0xFFFF_FFFF


def keys_of(n_shards: int, n_partitions: int) -> tuple[int, ...]:
    """Return a key for each shard, so that Spark deals the shards to the partitions in turn.

    Spark's own hash of the numbers of few shards would leave some partitions empty.

    Examples
    --------
    >>> keys_of(4, 2)
    (2, 0, 4, 1)
    """
    for name, number in (("n_shards", n_shards), ("n_partitions", n_partitions)):
        if number < 1:
            raise ValueError(f"{name} is {number}, expected at least 1")
    keys: list[int] = []
    free: dict[int, list[int]] = {partition: [] for partition in range(n_partitions)}
    following = 0
    for shard in range(n_shards):
        wanted = shard % n_partitions
        while not free[wanted]:
            free[_partition_of(following, n_partitions)].append(following)
            following += 1
        keys.append(free[wanted].pop(0))
    return tuple(keys)


def _partition_of(key: int, n_partitions: int) -> int:
    """Return the partition of a whole number: Murmur3 for 32 bits, as Spark's `hash`, and the remainder."""
    mixed = _SEED ^ _times(_turned(_times(key, 0xCC9E_2D51), 15), 0x1B87_3593)
    mixed = (_times(_turned(mixed, 13), 5) + 0xE654_6B64) & _LOW
    mixed ^= 4  # bytes
    mixed = _times(mixed ^ mixed >> 16, 0x85EB_CA6B)
    mixed = _times(mixed ^ mixed >> 13, 0xC2B2_AE35)
    mixed ^= mixed >> 16
    return (mixed - (mixed >> 31 << 32)) % n_partitions  # of a signed number


def _times(number: int, factor: int) -> int:
    return number * factor & _LOW


def _turned(number: int, n_bits: int) -> int:
    return (number << n_bits | number >> 32 - n_bits) & _LOW


class StreamPlaces:
    """The shard of each stream that stands alone, from 1 on, by its name."""

    def __init__(self, n_shards: int) -> None:
        self.shards = range(1, n_shards + 1)
        self._known: dict[str, int] = {}

    def of(self, stream: str) -> int:
        """Return the number of a stream's shard."""
        found = self._known.get(stream)
        if found is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            found = self._known[stream] = shard_of(stream, len(self.shards))
        return found


class RecordPlaces:
    """The shard of each record of a gateway, from 1 on: that of the zone of the node that has sent it.

    Labels go to the shard of their stream; time, commands and what no source fits concern all.
    """

    def __init__(self, bindings: Bindings, n_shards: int, options: Options) -> None:
        self.shards = range(1, n_shards + 1)
        self._bindings, self._zones = bindings, StreamPlaces(n_shards)
        self._labels, self._commands = f"{options.prefix}/label/", f"{options.prefix}/command/"
        self._max_payload = options.limits.payload_bytes
        self._known: dict[str, int] = {}

    def of(self, record: Record) -> int:
        """Return the number of a record's shard, or `EVERYWHERE`."""
        if record.kind != MESSAGE:
            return EVERYWHERE
        found = self._known.get(record.topic)
        if found is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            found = self._known[record.topic] = self._of_topic(record.topic)
        return found

    def addressed(self, record: Record) -> list[Record]:
        """Return the parts of a record, with the nodes that its payload names, if a source says where.

        What is beyond the limit is not even looked at.
        """
        is_reading = record.kind == MESSAGE and not record.topic.startswith((self._labels, self._commands))
        is_read = is_reading and len(record.payload) <= self._max_payload
        if not (self._bindings.has_senders and is_read):
            return [record]
        parts = self._bindings.addressed(record.topic, record.payload)
        return [record._replace(topic=topic, payload=payload) for topic, payload in parts]

    def part_of(self, shard: int) -> Bindings:
        """Return the bindings of a shard."""
        return self._bindings.of_share(Share(Shard(shard, len(self.shards))))

    def _of_topic(self, topic: str) -> int:
        if topic.startswith(self._commands):
            return EVERYWHERE
        if topic.startswith(self._labels):
            stream = topic.removeprefix(self._labels)
            node: str | None = next(iter(self._bindings.nodes_of.get(stream, {"": stream}).values()))
        else:
            node = self._bindings.node_of(topic)
        return EVERYWHERE if node is None else self._zones.of(self._zone_by_node.get(node, node))

    @cached_property
    def _zone_by_node(self) -> dict[str, str]:
        return zone_by_node(self._bindings.nodes_of)

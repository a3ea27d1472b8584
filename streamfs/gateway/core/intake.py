"""From messages to readings: routed, decoded and priced, or rejected."""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from streamfs.errors import PayloadError
from streamfs.gateway.core._waiting import NONE
from streamfs.gateway.core.energy_account import EnergyAccount
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.reading_buffer import ReadingBuffer
from streamfs.gateway.core.records import Record
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.messages.codecs import Codec, Reading, Reported, Several

MAX_ROUTES = 32_768
MAX_ORPHANS = 1000

_SHOWN = 200  # bytes of a payload in a dead letter


class _Target(NamedTuple):
    """Where the messages of a topic belong."""

    node: int
    slot: int
    has_channel: bool
    codec: Codec


class Intake:
    """Turn messages into readings; `node_of` returns a node's number, given its name and the time, or NONE.

    `rejected` has topic, cause, error, size and beginning of each message rejected since this was last emptied.
    `orphans` counts messages that feed no stream by their topics, of which it knows `MAX_ORPHANS`.
    """

    def __init__(
        self,
        roster: Roster,
        joiner: Joiner,
        energy: EnergyAccount,
        node_of: Callable[[str, float], int],
        options: Options,
    ) -> None:
        self.counters = Counter(messages=0, own=0, unbound=0, malformed=0, oversize=0, refused=0)
        self.rejected: list[dict[str, Any]] = []
        self.orphans: Counter[str] = Counter()
        self._roster = roster
        self._joiner = joiner
        self._energy = energy
        self._node_of = node_of
        self._max_payload = options.limits.payload_bytes
        self._own = f"{options.prefix}/"
        self._targets: dict[str, _Target] = {}
        self._readings = ReadingBuffer()
        self._n_messages = 0

    def add(self, record: Record) -> None:
        """Take a message."""
        _, arrival, topic, payload, content_type = record
        self.counters["messages"] += 1
        target = self._targets.get(topic) or self._find(topic, arrival)
        if target is None:
            return
        node, slot, has_channel, codec = target
        size = len(payload)
        try:
            if size > self._max_payload:
                self.counters["oversize"] += 1
                raise PayloadError(f"payload has {size} bytes, expected at most {self._max_payload}", "size")  # noqa: TRY301
            decoded = codec.decode(payload, arrival, content_type)
            if isinstance(decoded, Several) or not has_channel:
                self._add_parts(record, target, decoded)
            else:
                joules = self._energy.joules(size)
                self._readings.add(decoded, node, slot, self._n_messages, arrival, size, joules)
        except PayloadError as error:
            self.reject(record, error)
            self._pay(record, node)
        self._n_messages += 1

    def has_come(self, record: Record) -> bool:
        """Return whether all readings of a message would be duplicates; single values of known channels may be."""
        target = self._targets.get(record.topic) or self._known(record.topic)
        if target is None or len(record.payload) > self._max_payload:
            return False
        try:
            decoded = target.codec.decode(record.payload, record.arrival, record.content_type)
        except PayloadError:
            return False
        parts = decoded.parts if isinstance(decoded, Several) else ((None, decoded),)
        return bool(parts) and all(self._part_has_come(record, target, *part) for part in parts)

    def _part_has_come(self, record: Record, target: _Target, channel: str | None, part: Reported) -> bool:
        slot = target.slot if channel is None else self._joiner.slot(target.node, channel)
        return slot != NONE and isinstance(part, Reading) and self._joiner.has_come(slot, part, record.arrival)

    @property
    def n_samples(self) -> int:
        """Samples in the readings so far."""
        return self._readings.n_samples

    def readings(self) -> ReadingBuffer:
        """Return the readings of the messages since the last call, in order."""
        readings, self._readings = self._readings, ReadingBuffer()
        self._n_messages = 0
        return readings

    def forget_targets(self) -> None:
        """Resolve topics again, since nodes or slots are renumbered."""
        self._targets.clear()

    def _find(self, topic: str, arrival: float) -> _Target | None:
        """Resolve a topic; None, and counted, if its messages belong nowhere.

        What the gateway itself publishes is never a reading: a dead letter would cause the next.
        """
        if topic.startswith(self._own):
            self.counters["own"] += 1
            return None
        route = self._route(topic)
        if route is None:
            self._leave_out(topic)
            return None
        name, channel, codec = route
        node = self._node_of(name, arrival)
        if node == NONE:
            self.counters["refused"] += 1
            return None
        if len(self._targets) >= MAX_ROUTES:
            self._targets.clear()
        target = self._targets[topic] = self._aim(node, channel, codec)
        return target

    def _known(self, topic: str) -> _Target | None:
        """Resolve a topic of a node that is known; None for another."""
        route = None if topic.startswith(self._own) else self._route(topic)
        if route is None or route[0] not in self._roster.nodes:
            return None
        name, channel, codec = route
        return self._aim(self._roster.nodes[name], channel, codec)

    def _route(self, topic: str) -> tuple[str, str | None, Codec] | None:
        """Return a topic's node, channel and codec; None if its messages feed no stream."""
        route = self._roster.routes.route(topic)
        is_read = route is not None and (route[1] is None or route[1] in self._joiner.channels)
        return route if is_read else None

    def _aim(self, node: int, channel: str | None, codec: Codec) -> _Target:
        slot = NONE if channel is None else self._joiner.slot(node, channel)
        return _Target(node, slot, channel is not None, codec)

    def _leave_out(self, topic: str) -> None:
        """Count a message that feeds no stream."""
        self.counters["unbound"] += 1
        if topic in self.orphans or len(self.orphans) < MAX_ORPHANS:
            self.orphans[topic] += 1

    def _add_parts(self, record: Record, target: _Target, decoded: Reported | Several) -> None:
        """Add the readings of a message that names its channels."""
        if not isinstance(decoded, Several):
            raise PayloadError("neither topic nor payload names a channel", "channel")
        wanted, joiner = self._roster.routes.node_channels, self._joiner
        slots = [joiner.slot(target.node, name) if name in wanted else NONE for name, _ in decoded.parts]
        size, factor = len(record.payload), decoded.spreading_factor
        message = self._n_messages, record.arrival, size, self._energy.joules(size, factor)
        if all(slot == NONE for slot in slots):
            self.counters["unbound"] += 1
            self._readings.add(None, target.node, NONE, *message)
        for slot, (_, part) in zip(slots, decoded.parts, strict=True):
            if slot != NONE:
                self._readings.add(part, target.node, slot, *message)

    def _pay(self, record: Record, node: int) -> None:
        """Charge a node for a message without readings."""
        size = len(record.payload)
        self._readings.add(None, node, NONE, self._n_messages, record.arrival, size, self._energy.joules(size))

    def reject(self, record: Record, error: PayloadError, cause: str = "") -> None:
        """Count a message that cannot be decoded, and add it to `rejected`, by default with the error's cause."""
        self.counters["malformed"] += 1
        size = len(record.payload)
        shown = record.payload[:_SHOWN].decode("utf-8", errors="backslashreplace")
        rejected = {"topic": record.topic, "cause": cause or error.cause, "error": str(error), "bytes": size}
        self.rejected.append({**rejected, "payload": shown})

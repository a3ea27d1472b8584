"""From messages to readings: routed, decoded and priced, or rejected."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from streamfs.base.newest import MOST_NAMES, keep_newest
from streamfs.errors import PayloadError
from streamfs.gateway.core._waiting import NONE
from streamfs.gateway.core.energy_account import EnergyAccount
from streamfs.gateway.core.feeds import AS_SENT
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.reading_buffer import ReadingBuffer
from streamfs.gateway.core.records import Record
from streamfs.gateway.core.repeated import Repeated
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.core.routes import Routed
from streamfs.gateway.messages.codecs import Codec, Reading, Reported, Several
from streamfs.gateway.messages.codecs.sparkplug import Aliases, NamedCodec, SparkplugCodec
from streamfs.gateway.messages.codecs.units import ConvertedCodec
from streamfs.gateway.messages.topics import LONGEST_TOPIC, shown_topic

BATTERY = "battery"
"""The channel by which a device says how full its battery is, which is shown to people."""

MAX_ORPHANS = 1000

COUNTERS = ("messages", "own", "unbound", "ignored", "repeated", "malformed", "oversize", "refused")

_SHOWN = 200  # bytes of a payload in a dead letter


Numbers = dict[str, tuple[tuple[int, int], ...]]
"""Channels, by their numbers, and how they are fed, by what feeds them."""

Heard = tuple[tuple[str, str, str, str], int | None]
"""A device that can be asked: node, own name, profile and topic; and the spreading factor, if it is said."""


class _Target(NamedTuple):
    """Where the messages of a topic belong."""

    node: int
    slot: int  # of the only channel, which it feeds as it is; else NONE
    codec: Codec
    is_plain: bool  # whether nothing of the following matters before it is decoded
    channel: str | None
    repeats: str
    thins: bool
    heard: tuple[str, str, str, str] | None  # node, device, its profile, topic, if the device can be asked


class Intake:
    """Turn messages into readings; `node_of` returns a node's number, given its name and the time, or NONE.

    `rejected` has topic, cause, error, size and beginning of each message rejected since this was last emptied.
    `heard` are devices that can be asked, and have sent a message: node, own name, profile, topic; and the
    spreading factor of a LoRa frame. `orphans` counts messages that feed no stream by their topics, of which it
    knows `MAX_ORPHANS`. `batteries` has what nodes, by their numbers, have last said of their batteries since the
    start.
    """

    def __init__(
        self,
        roster: Roster,
        joiner: Joiner,
        energy: EnergyAccount,
        node_of: Callable[[str, float], int],
        options: Options,
    ) -> None:
        self.counters = Counter(dict.fromkeys(COUNTERS, 0))
        self.rejected: list[dict[str, Any]] = []
        self.orphans: Counter[str] = Counter()
        self.aliases: dict[str, Aliases] = {}  # of metrics, by device
        self.heard: list[Heard] = []
        self.batteries: dict[int, float] = {}
        self._roster = roster
        self._joiner = joiner
        self._energy = energy
        self._node_of = node_of
        self._max_payload = options.limits.payload_bytes
        self._own = f"{options.prefix}/"
        self._targets: dict[str, _Target] = {}
        self._numbers: tuple[Numbers, Numbers] = ({}, {})  # by whether what comes may be thinned
        self.repeated = Repeated()
        self._readings = ReadingBuffer()
        self._n_messages = 0

    def add(self, record: Record) -> None:
        """Take a message."""
        _, arrival, topic, payload, content_type = record
        self.counters["messages"] += 1
        target = self._targets.get(topic) or self._find(record)
        if target is None:
            return
        node, slot, codec, is_plain, _, _, _, _ = target
        size = len(payload)
        try:
            if size > self._max_payload:
                self.counters["oversize"] += 1
                raise self._oversize(size)
            if not is_plain:
                if target.repeats == "held" and self.repeated.is_repeated(topic, payload):
                    self._leave_out_repeated(record, node)
                    return
                if target.heard is not None:
                    self.heard.append((target.heard, None))
            decoded = codec.decode(payload, arrival, content_type)
            if slot == NONE or isinstance(decoded, Several):
                self._add_parts(record, target, _named(target.channel, decoded))
            else:
                joules = self._energy.joules(size)
                self._readings.add(decoded, node, slot, self._n_messages, arrival, size, joules)
        except PayloadError as error:
            self.reject(record, error)
            self._pay(record, node)
        self._n_messages += 1

    def has_come(self, record: Record, *, is_known: bool = False) -> bool:
        """Return whether all readings of a message would be duplicates; single values of known channels may be.

        So would be all that have a number and no stamp, if the message `is_known`, byte for byte.
        """
        target = self._known(record.topic)
        if target is None or len(record.payload) > self._max_payload:
            return False
        try:
            decoded = target.codec.decode(record.payload, record.arrival, record.content_type)
            if target.slot != NONE and not isinstance(decoded, Several):
                return self._part_has_come(target.slot, decoded, record, is_known)
            parts = _named(target.channel, decoded).parts
        except PayloadError:
            return False
        slots = [
            (slot, part)
            for name, part in parts
            for slot, _ in self._slots(target.node, name, thins=target.thins) or [(NONE, AS_SENT)]
        ]
        return bool(slots) and all(self._part_has_come(slot, part, record, is_known) for slot, part in slots)

    def _part_has_come(self, slot: int, part: Reported, record: Record, is_known: bool) -> bool:
        if slot == NONE or not isinstance(part, Reading):
            return False
        is_named = is_known and part.time is None and part.sequence is not None
        return is_named or self._joiner.has_come(slot, part, record.arrival)

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
        self.batteries.clear()
        self._numbers = ({}, {})

    def _find(self, record: Record) -> _Target | None:
        """Resolve a topic; None, and counted, if its messages belong nowhere.

        What the gateway itself publishes is never a reading: a dead letter would cause the next.
        """
        topic = record.topic
        if topic.startswith(self._own):
            self.counters["own"] += 1
            return None
        routed = self._route(topic)
        is_oversize = len(record.payload) > self._max_payload
        if is_oversize and not (routed and routed.node in self._roster.nodes):  # nobody's, and not even looked at
            self._leave_out_oversize(record)
            return None
        try:
            is_of_use = routed is not None and self._is_of_use(record, routed)
        except PayloadError as error:
            self.reject(record, error)
            return None
        if routed is None or not is_of_use:
            self._leave_out(topic)
            return None
        node = self._node_of(routed.node, record.arrival)
        if node == NONE:
            self.counters["refused"] += 1
            return None
        if len(self._targets) >= MOST_NAMES:
            self._targets.clear()
        target = self._targets[topic] = self._aim(node, routed, topic, partial(self._aliases_of, routed.called))
        return target

    def _is_of_use(self, record: Record, routed: Routed) -> bool:
        """Return whether a node may be admitted: it is known, or sends a channel that a model reads.

        A PayloadError says that what an unknown one sends cannot be read.
        """
        if routed.channel is not None or routed.node in self._roster.nodes:
            return True
        decoded = routed.codec.decode(record.payload, record.arrival, record.content_type)
        if not isinstance(decoded, Several):
            return True
        return any(self._roster.routes.fed_by(name, thins=routed.thins) for name, _ in decoded.parts)

    def _known(self, topic: str) -> _Target | None:
        """Resolve a topic of a node that is known; None for another. Reading by it leaves aliases as they are."""
        routed = None if topic.startswith(self._own) else self._route(topic)
        if routed is None or routed.node not in self._roster.nodes:
            return None
        held = dict(self.aliases.get(routed.called, {}))
        return self._aim(self._roster.nodes[routed.node], routed, topic, lambda: held)

    def _route(self, topic: str) -> Routed | None:
        """Return where a topic's messages belong; None if they feed no stream, or the topic is too long."""
        routed = None if len(topic) > LONGEST_TOPIC else self._roster.routes.route(topic)
        is_read = routed is not None and (
            routed.channel is None or bool(self._slots(0, routed.channel, thins=routed.thins))
        )
        return routed if is_read else None

    def _aim(self, node: int, routed: Routed, topic: str, aliases: Callable[[], Aliases]) -> _Target:
        slots = [] if routed.channel is None else self._slots(node, routed.channel, thins=routed.thins)
        slot = slots[0][0] if len(slots) == 1 and slots[0][1] == AS_SENT else NONE
        heard = (routed.node, routed.called, routed.device, topic) if routed.device else None
        codec = _with_aliases(routed.codec, aliases)
        is_plain = heard is None and routed.repeats != "held"
        return _Target(node, slot, codec, is_plain, routed.channel, routed.repeats, routed.thins, heard)

    def _aliases_of(self, device: str) -> Aliases:
        """Return the aliases of a device that is read; of too many, the one silent for longest loses its."""
        known = self.aliases.get(device, {})
        keep_newest(self.aliases, device, known, MOST_NAMES)
        return known

    def _slots(self, node: int, name: str, *, thins: bool) -> list[tuple[int, int]]:
        """Return the slots of a node that a channel or quantity feeds, and how."""
        first = node * len(self._joiner.channels)
        numbers = self._numbers[thins].get(name)
        return [
            (first + number, how) for number, how in (self._resolved(name, thins) if numbers is None else numbers)
        ]

    def _resolved(self, name: str, thins: bool) -> tuple[tuple[int, int], ...]:
        """Return the numbers of the channels that a channel or quantity feeds, and how, and remember them."""
        fed = self._roster.routes.fed_by(name, thins=thins)
        found = tuple((self._joiner.slot(0, channel), how) for channel, how in fed)
        numbers = tuple((number, how) for number, how in found if number != NONE)
        if len(self._numbers[thins]) >= MOST_NAMES:
            self._numbers[thins].clear()
        if len(name) <= LONGEST_TOPIC:
            self._numbers[thins][name] = numbers
        return numbers

    def _leave_out(self, topic: str) -> None:
        """Count a message that feeds no stream."""
        if self._roster.routes.ignores(topic):
            self.counters["ignored"] += 1
            return
        self.counters["unbound"] += 1
        shown = shown_topic(topic)
        if shown in self.orphans or len(self.orphans) < MAX_ORPHANS:
            self.orphans[shown] += 1

    def _leave_out_oversize(self, record: Record) -> None:
        """Reject a message that is too large, of a node that is not known."""
        if self._roster.routes.ignores(record.topic):
            self.counters["ignored"] += 1
            return
        self.counters["oversize"] += 1
        self.reject(record, self._oversize(len(record.payload)))

    def _oversize(self, size: int) -> PayloadError:
        return PayloadError(f"payload has {size} bytes, expected at most {self._max_payload}", "size")

    def _leave_out_repeated(self, record: Record, node: int) -> None:
        """Count a message that says again what its node has said, and says nothing of now."""
        self.counters["repeated"] += 1
        self._pay(record, node)
        self._n_messages += 1

    def _add_parts(self, record: Record, target: _Target, decoded: Several) -> None:
        """Add the readings of a message that names its channels, or feeds several."""
        if decoded.refused is not None:
            self.reject(record, decoded.refused)
        parts = decoded.parts
        if target.repeats == "ignored":
            parts = self.repeated.news(record.topic, parts)
            self.counters["repeated"] += parts != decoded.parts
        size, factor = len(record.payload), decoded.spreading_factor
        message = self._n_messages, record.arrival, size, self._energy.joules(size, factor)
        if factor is not None and target.heard is not None:
            self.heard[-1] = target.heard, factor
        is_fed, first, thins = False, target.node * len(self._joiner.channels), target.thins
        known, add = self._numbers[thins], self._readings.add
        for name, part in parts:
            numbers = known.get(name)
            for number, how in self._resolved(name, thins) if numbers is None else numbers:
                add(part, target.node, first + number, *message, how)
                is_fed = True
            if name == BATTERY and isinstance(part, Reading):
                self.batteries[target.node] = part.value
        if decoded.number is not None:
            for slot in range(first, first + len(self._joiner.channels)):
                add(decoded.number, target.node, slot, *message)
        if not is_fed:
            self.counters["unbound"] += bool(parts) or not decoded.parts
            self._readings.add(None, target.node, NONE, *message)

    def _pay(self, record: Record, node: int) -> None:
        """Charge a node for a message without readings."""
        size = len(record.payload)
        self._readings.add(None, node, NONE, self._n_messages, record.arrival, size, self._energy.joules(size))

    def reject(self, record: Record, error: PayloadError, cause: str = "") -> None:
        """Count a message that cannot be decoded, and add it to `rejected`, by default with the error's cause."""
        self.counters["malformed"] += 1
        size = len(record.payload)
        shown = record.payload[:_SHOWN].decode("utf-8", errors="backslashreplace")
        topic = shown_topic(record.topic)
        rejected = {"topic": topic, "cause": cause or error.cause, "error": str(error), "bytes": size}
        self.rejected.append({**rejected, "payload": shown})


def _named(channel: str | None, decoded: Reported | Several) -> Several:
    """Return what a message reports, by channel."""
    if isinstance(decoded, Several):
        return decoded
    if channel is None:
        raise PayloadError("neither topic nor payload names a channel", "channel")
    return Several(((channel, decoded),))


def _with_aliases(codec: Codec, aliases: Callable[[], Aliases]) -> Codec:
    """Return a codec that knows the aliases of its device, if it is one that reads them."""
    if isinstance(codec, ConvertedCodec):
        return ConvertedCodec(_with_aliases(codec.codec, aliases), codec.conversions)
    return NamedCodec(codec, aliases) if isinstance(codec, SparkplugCodec) else codec

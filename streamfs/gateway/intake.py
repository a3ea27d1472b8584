"""From messages to readings: routed, decoded and priced, or rejected."""

from collections import Counter
from collections.abc import Callable, Mapping
from math import nan
from typing import Any, NamedTuple

import numpy as np
import orjson

from streamfs.errors import PayloadError
from streamfs.gateway._grid import NONE, READING
from streamfs.gateway.codecs import Batch, Codec, Reading, Several
from streamfs.gateway.joiner import Table
from streamfs.gateway.ledger import Ledger
from streamfs.gateway.log import Record
from streamfs.gateway.publication import Publication
from streamfs.gateway.roster import Roster

MAX_ROUTES = 32_768

_NOTHING = Reading(None, nan, None)

_SHOWN = 200  # bytes of a payload in a dead letter


class _Way(NamedTuple):
    """Where the messages of a topic go."""

    node: int
    slot: int
    has_channel: bool
    codec: Codec


class Intake:
    """Turns messages into readings, batch by batch.

    Parameters
    ----------
    roster : Roster
        What the topics mean, and which numbers the slots have.
    ledger : Ledger
        What a message costs.
    meet : callable
        Gives the number of a node of that name; NONE for one that is refused.
    max_payload : int
        Bytes; a longer message is rejected.

    Attributes
    ----------
    counters : Counter of str
        ``messages`` taken; ``unbound`` ones that feed nothing, ``malformed`` and ``oversize`` ones that are
        rejected, ``refused`` ones of a stream too many.
    rejected : list of dict
        What is to be told of the rejected ones, since this was last emptied.
    """

    def __init__(
        self,
        roster: Roster,
        ledger: Ledger,
        meet: Callable[[str], int],
        max_payload: int,
    ) -> None:
        self.counters = Counter(messages=0, unbound=0, malformed=0, oversize=0, refused=0)
        self.rejected: list[dict[str, Any]] = []
        self._roster = roster
        self._ledger = ledger
        self._meet = meet
        self._max_payload = max_payload
        self._ways: dict[str, _Way] = {}
        self._rows: list[tuple[float, ...]] = []
        self._arrays: dict[int, Batch] = {}  # by the index of their row
        self._n_messages = 0

    def add(self, record: Record) -> None:
        """Take a message into the batch."""
        _, arrival, topic, payload, content_type = record
        self.counters["messages"] += 1
        way = self._ways.get(topic) or self._find(topic)
        if way is None:
            return
        node, slot, has_channel, codec = way
        size = len(payload)
        try:
            if size > self._max_payload:
                self.counters["oversize"] += 1
                raise PayloadError(f"payload has {size} bytes, expected at most {self._max_payload}")  # noqa: TRY301
            decoded = codec.decode(payload, arrival, content_type)
            if isinstance(decoded, Several) or not has_channel:
                self._add_parts(record, way, decoded)
            else:
                self._add_part(record, node, slot, decoded, self._ledger.joules(size))
        except PayloadError as error:
            self.reject(record, error)
            self._pay(record, node)
        self._n_messages += 1

    def batch(self) -> Table:
        """Return the readings of the messages since the last batch, in order."""
        batch: Table = np.array(self._rows, dtype=READING)
        if self._arrays:
            batch = _unfolded(batch, self._arrays)
            self._arrays = {}
        self._rows = []
        self._n_messages = 0
        return batch

    def forget_ways(self) -> None:
        """Look topics up anew, since numbers have changed."""
        self._ways.clear()

    def _find(self, topic: str) -> _Way | None:
        """Find where a topic goes; None, and counted, if nowhere."""
        route = self._roster.routes.route(topic)
        if route is None:
            self.counters["unbound"] += 1
            return None
        name, channel, codec = route
        has_channel = channel is not None
        if has_channel and channel not in self._roster.joiner.channels:
            self.counters["unbound"] += 1
            return None
        node = self._meet(name)
        if node == NONE:
            self.counters["refused"] += 1
            return None
        slot = self._roster.joiner.slot(node, channel) if channel is not None else NONE
        if len(self._ways) >= MAX_ROUTES:
            self._ways.clear()
        way = self._ways[topic] = _Way(node, slot, has_channel, codec)
        return way

    def _add_parts(self, record: Record, way: _Way, decoded: Reading | Batch | Several) -> None:
        """Take the readings of a message that names its channels."""
        if not isinstance(decoded, Several):
            raise PayloadError("neither topic nor payload names a channel")
        slots = [self._roster.joiner.slot(way.node, channel) for channel, _ in decoded.parts]
        joules = self._ledger.joules(len(record.payload), decoded.spreading_factor)
        if all(slot == NONE for slot in slots):
            self.counters["unbound"] += 1
            self._add_part(record, way.node, NONE, _NOTHING, joules)
        for slot, (_, part) in zip(slots, decoded.parts, strict=True):
            if slot != NONE:
                self._add_part(record, way.node, slot, part, joules)

    def _add_part(self, record: Record, node: int, slot: int, part: Reading | Batch, joules: float) -> None:
        """Take the readings of one channel in a message; arrays are put in later."""
        stamps, values, sequence = part
        if type(part) is Batch:
            self._arrays[len(self._rows)] = part
            stamps = values = nan
        row = (
            nan if stamps is None else stamps,
            record.arrival,
            values,
            NONE if sequence is None else sequence,
            joules,
            len(record.payload),
            node,
            slot,
            self._n_messages,
        )
        self._rows.append(row)  # type: ignore[arg-type]  # floats, by now

    def _pay(self, record: Record, node: int) -> None:
        """Let a node pay for a message that brings no reading."""
        self._add_part(record, node, NONE, _NOTHING, self._ledger.joules(len(record.payload)))

    def reject(self, record: Record, error: PayloadError) -> None:
        """Count and tell of a message that cannot be read."""
        self.counters["malformed"] += 1
        size = len(record.payload)
        shown = record.payload[:_SHOWN].decode("utf-8", errors="backslashreplace")
        self.rejected.append({"topic": record.topic, "error": str(error), "bytes": size, "payload": shown})


def _unfolded(rows: Table, arrays: Mapping[int, Batch]) -> Table:
    """Put the samples of batches in the places of their rows; those that are missing are left out.

    A batch of which all are missing leaves one row without a slot: it is to be paid all the same.
    """
    counts = np.ones(len(rows), dtype=np.int64)
    for index, part in arrays.items():
        counts[index] = len(part.values)
    table: Table = np.repeat(rows, counts)
    starts = np.cumsum(counts) - counts
    is_batch = np.zeros(len(rows), dtype=np.bool_)
    is_batch[list(arrays)] = True
    inside = np.repeat(is_batch, counts)
    table["stamp"][inside] = np.concatenate([part.times for part in arrays.values()])
    table["value"][inside] = np.concatenate([part.values for part in arrays.values()])
    is_known = np.isfinite(table["value"]) | ~inside
    empty = starts[~np.logical_or.reduceat(is_known, starts)]
    table["slot"][empty] = NONE
    is_known[empty] = True
    return table if is_known.all() else table[is_known]


def dead_letter(rejected: dict[str, Any], prefix: str, gateway: str) -> Publication:
    """Tell of a rejected message."""
    return Publication(f"{prefix}/deadletter/{gateway}", orjson.dumps(rejected), retain=False)

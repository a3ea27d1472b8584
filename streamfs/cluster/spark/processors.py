"""What Spark calls for each shard and batch."""

from collections.abc import Iterator
from operator import methodcaller
from secrets import token_hex
from typing import Any

import orjson
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from streamfs.cluster.jobs import Deciding, Job
from streamfs.cluster.keeping import BODY, HEAD, Keeping
from streamfs.cluster.parcels import RecordParcel, SampleParcel
from streamfs.gateway.core.effects import Effects

DECISIONS = (
    "id string, stream string, episode long, label string, confidence double, tick long, cost double, "
    "reason string, time double"
)
EFFECTS = f"kind string, topic string, body binary, retain boolean, expiry long, {DECISIONS}"

DECISION, PUBLICATION, ENERGY, REJECTED = "decision", "publication", "energy", "rejected"
"""Kinds of effects."""

_NOTHING = dict.fromkeys(column.split()[0] for column in EFFECTS.split(", "))


class _Shards(StatefulProcessor):
    """The shards of a job; those of one run of it are told from those of another in the same process by a name."""

    def __init__(self, job: Job) -> None:
        self._job, self._run = job, token_hex(8)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Prepare for a partition of a batch."""
        shards = self._job.shards
        values = handle.getValueState("head", HEAD), handle.getValueState("body", BODY)
        self._kept = Keeping(self._run, *values, shards.begin, shards.restore, methodcaller("pack"))

    def close(self) -> None:
        """Do nothing: what counts is written."""


class Engines(_Shards):
    """An engine for each shard."""

    def __init__(self, job: Deciding) -> None:
        super().__init__(job)
        self._lateness = job.lateness

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: ARG002, N802
        """Take a shard's parcels of a batch; if there are no samples and nothing is due, leave it as it is."""
        parcels = [SampleParcel(row.shard, row.newest, bytes(row.samples)) for row in rows]
        now = max(parcel.newest for parcel in parcels) - self._lateness
        if now < self._kept.due() and not any(parcel.samples for parcel in parcels):
            return
        shard = self._kept.take(parcels[0].shard)
        decisions = shard.take(parcels)
        self._kept.put(parcels[0].shard, shard, shard.due)
        yield from (Row(**decision.to_json()) for decision in decisions)


class Cores(_Shards):
    """A core for each shard."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: ARG002, N802
        """Take a shard's parcels of a batch."""
        parcels = [RecordParcel(row.shard, row.source, row.first, bytes(row.frame)) for row in rows]
        shard = self._kept.take(parcels[0].shard)
        effects = shard.take(parcels)
        self._kept.put(parcels[0].shard, shard, 0.0)
        yield from (Row(**_NOTHING | effect) for effect in _told(effects))


def _told(effects: Effects) -> Iterator[dict[str, Any]]:
    """Yield each effect, by columns of `EFFECTS`."""
    for decision in effects.decisions:
        yield {"kind": DECISION, **decision.to_json()}
    for publication in effects.publications:
        topic, payload, retain, expiry = publication
        yield {"kind": PUBLICATION, "topic": topic, "body": payload, "retain": retain, "expiry": expiry}
    for kind, lines in ((ENERGY, effects.energy), (REJECTED, effects.rejected)):
        yield from ({"kind": kind, "body": orjson.dumps(line)} for line in lines)

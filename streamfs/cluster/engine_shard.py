"""A shard of recorded streams: an engine, and the samples that wait for earlier ones."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa

from streamfs.base import container
from streamfs.cluster.parcels import TIME, SampleParcel, in_order, pack_samples, unpack_samples
from streamfs.engine.engine import Engine
from streamfs.procedure.procedure import Decision, Procedure

KIND, VERSION = "shard", 1


class EngineShard:
    """Decide the streams of a shard.

    Samples are taken by time. Those less than `lateness` seconds before the newest of all shards wait, so that how
    samples are divided among batches makes no difference. One that comes too late counts unless its stream has
    taken a later one, or has been timed out.
    """

    def __init__(self, procedure: Procedure, lateness: float, engine: Engine | None = None) -> None:
        self.engine = Engine(procedure) if engine is None else engine
        self.newest = -np.inf
        self._lateness = lateness
        self._waiting: pa.Table | None = None

    @property
    def due(self) -> float:
        """The time to which all samples must have come for anything to be done without further ones, seconds."""
        first = np.inf if self._waiting is None else self._waiting.column(TIME).to_numpy().min()
        return min(self.engine.next_deadline(), float(first))

    def take(self, parcels: Sequence[SampleParcel]) -> list[Decision]:
        """Take the parcels of a batch, in any order, and return the decisions that are due."""
        parcels = sorted(parcels)  # Spark hands them over in any order
        self.newest = max(self.newest, *(parcel.newest for parcel in parcels))
        now = self.newest - self._lateness
        ready = self._ready(unpack_samples(parcel.samples for parcel in parcels), now)
        decisions = [] if ready is None else self._push(ready)
        return decisions + self.engine.expire(now)

    def pack(self) -> bytes:
        """Pack the shard: the engine's arrays as they are."""
        waiting = b"" if self._waiting is None else pack_samples(self._waiting)
        header, arrays = self.engine.to_state()
        said = {"newest": self.newest if np.isfinite(self.newest) else None, "engine": header}
        return container.pack(KIND, VERSION, said, arrays, compress=False, waiting=waiting)

    @classmethod
    def unpack(cls, packed: bytes, procedure: Procedure, lateness: float) -> Self:
        """Return the shard that `pack` has packed; raise a ModelError if it is damaged, or of another model."""
        said, arrays, sealed = container.unpack(packed, KIND, VERSION, "the state of a shard")
        shard = cls(procedure, lateness, Engine.from_state(procedure, said["engine"], arrays))
        shard.newest = -np.inf if said["newest"] is None else said["newest"]
        shard._waiting = unpack_samples([sealed["waiting"]])
        return shard

    def _ready(self, came: pa.Table | None, now: float) -> pa.Table | None:
        """Return the samples that are to be taken, and let the others wait."""
        known = [table for table in (self._waiting, came) if table is not None]
        if not known:
            return None
        samples = pa.concat_tables(known)
        is_ready = samples.column(TIME).to_numpy() <= now
        waiting = samples.filter(pa.array(~is_ready))
        self._waiting = waiting if waiting.num_rows else None
        return samples.filter(pa.array(is_ready)) if is_ready.any() else None

    def _push(self, samples: pa.Table) -> list[Decision]:
        names, streams, times, values = in_order(samples, self.engine.procedure.channels)
        rows = np.array([self.engine.row(name) for name in names], np.int64)
        return self.engine.push_rows(rows[streams], times, values)


class EngineShards:
    """Make and restore the engines of shards, as `CoreShards` does cores."""

    def __init__(self, procedure: Procedure, lateness: float) -> None:
        self._procedure, self._lateness = procedure, lateness

    def begin(self, shard: int) -> EngineShard:  # noqa: ARG002 - all begin alike
        """Return a new one."""
        return EngineShard(self._procedure, self._lateness)

    def restore(self, shard: int, packed: bytes) -> EngineShard:  # noqa: ARG002 - the same
        """Return what was packed; raise a ModelError if it is damaged, or of another model."""
        return EngineShard.unpack(packed, self._procedure, self._lateness)

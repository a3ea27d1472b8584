"""A shard of live streams: a gateway's core for the nodes of some zones."""

from collections.abc import Iterable

from streamfs.cluster.parcels import RecordParcel, records_of
from streamfs.cluster.places import RecordPlaces
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import CLOCK, MESSAGE, RETAINED, START, STOP, Record, start_record
from streamfs.procedure.procedure import Procedure

TAKEN = (MESSAGE, CLOCK, START, RETAINED, STOP)
"""Kinds of records that concern the model here; the others tell of models, settings and zones of the gateway."""


class CoreShard:
    """A core, and what its start has brought about, which is to be said with the first records."""

    def __init__(self, core: Core, unsaid: Effects | None = None) -> None:
        self.core = core
        self._unsaid = Effects() if unsaid is None else unsaid

    def take(self, parcels: Iterable[RecordParcel]) -> Effects:
        """Take the parcels of a batch, in any order."""
        digest, effects = self.core.procedure.digest, self._unsaid.take()
        taken = [_for_model(record, digest) for record in records_of(parcels) if record.kind in TAKEN]
        effects.add(self.core.take(taken))
        return effects

    def pack(self) -> bytes:
        """Pack the core: its arrays as they are."""
        return self.core.to_state(compress=False)()


class CoreShards:
    """Make and restore the cores of shards.

    Parameters
    ----------
    procedure : Procedure
        The model.
    places : RecordPlaces
        Which nodes each shard has.
    options : Options
        Of the core.
    begun : float
        When the job has begun, seconds since 1970: control messages are numbered from there.
    """

    def __init__(self, procedure: Procedure, places: RecordPlaces, options: Options, begun: float) -> None:
        self._procedure, self._places, self._options, self._begun = procedure, places, options, begun

    def begin(self, shard: int) -> CoreShard:
        """Return a new one."""
        core = Core(self._procedure, self._places.part_of(shard), self._options)
        return CoreShard(core, core.take([start_record(self._procedure.digest, self._begun)]))

    def restore(self, shard: int, packed: bytes) -> CoreShard:
        """Return what was packed; raise a ModelError if it is damaged, or of another model."""
        of_digest = {self._procedure.digest: self._procedure}
        bindings = self._places.part_of(shard)
        return CoreShard(Core.from_state(packed, of_digest.__getitem__, bindings, self._options))


def _for_model(record: Record, digest: str) -> Record:
    """Return a record as if the gateway had this model."""
    return start_record(digest, record.arrival) if record.kind == START else record

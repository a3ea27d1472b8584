"""Runs of a gateway on a state folder, without its loop."""

import orjson
from helpers.records import make_options

from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.records import MODEL, START
from streamfs.gateway.recovery import recover
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.state import State

SEGMENT_BYTES = 600


class Run:
    """A run of a gateway on a state folder, from its start on: what loop and committer do, step by step."""

    def __init__(self, folder, models, bindings, **options):
        self.state = State(folder, segment_bytes=SEGMENT_BYTES, spool=f"{folder}/spool")
        self.releases = True
        self._models = models
        try:
            recovered = recover(self.state, models.first, bindings, make_options(**options))
        except BaseException:
            self.state.close()
            raise
        self.core, self.effects, self.n_replayed, _ = recovered

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.state.close()

    def take(self, records, *, snapshot=False):
        """Store records and their effects; return the effects."""
        for _ in self.steps(records, snapshot=snapshot):
            pass
        return self.taken

    def steps(self, records, *, snapshot=False):
        """The same, and yield after each step."""
        log, journal = self.state.log, self.state.journal
        for record in records:
            if record.kind in (MODEL, START):
                self.state.models.keep_model(self._models(record.topic).packed)
        self.taken = self.core.take(records)
        self.effects.add(self.taken)
        made, self.effects = self.effects, Effects()
        entry = Entry(log.append(records), made.decisions, made.publications, made.energy)
        if snapshot:
            entry.snapshot, entry.marks = self.core.to_state(), self.core.marks()
        yield "appended"
        log.sync()
        yield "synced"
        if not entry.is_empty:
            journal.commit(entry)
        yield "committed"
        if self.releases:
            log.release(journal.oldest_snapshot_position)
            if snapshot:
                self.state.forget_models(self.core.roster.n_open)
        yield "released"


def kept(journal):
    """Return all effects of the records, as the journal has them."""
    publications = [publication for _, publication in journal.outbox(limit=10**6)]
    return {"decisions": journal.decisions(), "publications": publications, "energy": journal.energy()}


def come_of(effects):
    """The same of a gateway that has no journal."""
    return {
        "decisions": [decision.to_json() for decision in effects.decisions],
        "publications": effects.publications,
        "energy": [orjson.loads(orjson.dumps(line)) for line in effects.energy],
    }

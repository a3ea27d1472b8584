"""From effects to the outside: batched, committed to the store, then acknowledged and published."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic, sleep
from typing import Any

from streamfs.errors import StreamfsError
from streamfs.gateway.batch import CommitBatch
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.options import Commits
from streamfs.gateway.core.records import Record
from streamfs.gateway.outbox import Outbox
from streamfs.gateway.storage.committer import Done
from streamfs.gateway.storage.energy_log import EnergyLog
from streamfs.gateway.storage.store import Store
from streamfs.gateway.transport.transport import Transport
from streamfs.gateway.view_writer import ViewWriter
from streamfs.procedure.procedure import Decision

_log = logging.getLogger(__name__)

_IMMEDIATELY = Commits(messages=1, seconds=0.0, snapshot_seconds=inf)
_FLUSH_POLL = 0.01  # seconds that flushing waits for the broker before it looks at the store again


class CommitCycle:
    """Commits effects one batch at a time; what is safe is acknowledged, published, logged and passed on.

    Without a state, every batch is committed at once. The counter ``energy_log_failures`` appears with the first.
    """

    def __init__(
        self,
        core: Core,
        store: Store,
        transport: Transport,
        outbox: Outbox,
        commits: Commits,
        on_decision: Callable[[Decision], None] | None,
        view: ViewWriter | None = None,
    ) -> None:
        self.outbox = outbox
        self.energy_file: EnergyLog | None = None  # gets the lines of the energy log
        self.counters: Counter[str] = Counter()
        self.core = core
        self._store = store
        self._transport = transport
        self._on_decision = on_decision
        self._view = view
        self._batch = CommitBatch(commits if store.keeps else _IMMEDIATELY)
        self._submitted_since: float | None = None  # arrival of the oldest effects that are being committed
        self._submitted_at = -inf  # when the last batch was
        self._is_committing = False

    @property
    def n_messages(self) -> int:
        """Number of messages that wait for their commit."""
        return len(self._batch)

    @property
    def n_publications(self) -> int:
        """Number of publications that are not confirmed by the broker."""
        return len(self.outbox) + self._batch.n_publications

    @property
    def wait(self) -> float | None:
        """Seconds until the next commit is due; None if none can be or nothing waits for it."""
        return None if self._is_committing else self._batch.wait

    @property
    def lag(self) -> float:
        """Seconds since the oldest effects that are not safe."""
        oldest = self._submitted_since or self._batch.oldest
        return 0.0 if oldest is None else monotonic() - oldest

    def add(self, records: Sequence[Record], n_messages: int, effects: Effects) -> None:
        """Add records and their effects to the batch."""
        self._batch.add(records, n_messages, effects)

    def want_snapshot(self) -> None:
        """Have a snapshot with the next commit."""
        self._batch.want_snapshot()

    def advance(self) -> None:
        """Release what is safe, commit the batch if it is due, and publish."""
        self._release_done()
        if self._batch.wait == 0 and self._may_commit:
            self._submit()
            self._release_done()
        self.outbox.pump()

    def commit_concluded(self, rest: float) -> None:
        """Commit the batch if publications were concluded, so that the store forgets them, or let it wait.

        As long as there are commits, at most `rest` seconds apart, the next one will do.
        """
        if self.outbox.has_concluded and self._may_commit and monotonic() >= self._submitted_at + rest:
            self._submit()

    def flush(self, deadline: float) -> None:
        """Commit all and publish it, as far as disk and broker manage before the deadline."""
        self._flush_batch(deadline)
        if self.outbox.has_concluded:
            self._flush_batch(deadline)

    def _flush_batch(self, deadline: float) -> None:
        is_submitted = False
        while monotonic() < deadline and not (is_submitted and self._is_idle):
            if self._may_commit and not is_submitted:
                self._submit()
                is_submitted = True
            self._release_done()
            self.outbox.pump()
            if self._transport.is_connected:
                self._transport.poll(_FLUSH_POLL, 0)
            else:
                sleep(_FLUSH_POLL)  # a poll might wait for a connection that is no longer useful

    @property
    def _may_commit(self) -> bool:
        return not (self._is_committing or self._store.is_busy)

    @property
    def _is_idle(self) -> bool:
        """Whether nothing is on its way to the disk, or to a broker that is connected."""
        return not self._is_committing and (not len(self.outbox) or not self._transport.is_connected)

    def _submit(self) -> None:
        self._submitted_since, self._submitted_at = self._batch.oldest, monotonic()
        self._is_committing = True
        confirmed = self.outbox.take_concluded()
        self._store.submit(self._batch.commit(confirmed, self.core.to_state, self.core.marks))

    def _release_done(self) -> None:
        for done in self._store.done():
            self._submitted_since = None
            self._is_committing = False
            self._release(done)

    def _release(self, done: Done) -> None:
        self._transport.acknowledge(done.n_messages)
        entry = done.commit.entry
        self.outbox.add(done.numbers, entry.publications)
        if entry.snapshot is not None:
            self._store.forget_models(self.core.models_in_use)
        if self.energy_file is not None:
            self._log_energy(self.energy_file, entry.energy)
        if self._view is not None:
            self._view.note_decisions(entry.decisions)
        if self._on_decision is not None:
            for decision in entry.decisions:
                self._on_decision(decision)

    def _log_energy(self, log: EnergyLog, lines: list[dict[str, Any]]) -> None:
        try:
            log.write(lines)
        except StreamfsError as error:
            self.counters["energy_log_failures"] += 1
            if self.counters["energy_log_failures"] == 1:
                _log.warning("%s (further failures are only counted)", error)

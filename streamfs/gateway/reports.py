"""What a gateway says of itself: statistics, health, warnings, and notes in its log."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamfs.gateway.all_warnings import AllWarnings
from streamfs.gateway.commit_cycle import CommitCycle
from streamfs.gateway.dead_letters import DeadLetters
from streamfs.gateway.model_file import ModelFile
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.left_out_notes import LeftOutNotes
from streamfs.gateway.operations.log_notes import LogNotes
from streamfs.gateway.storage.store import Store
from streamfs.gateway.transport.transport import Transport

if TYPE_CHECKING:
    from streamfs.gateway.lease import Lease

_EVERY = 1.0  # seconds from one look to the next


class Reports:
    """Looks at the parts of a gateway; `statistics` are those of the last look, and the next is `due` then.

    Parameters
    ----------
    cycle, store, transport, dead_letters, model_file
        The parts of the gateway.
    counters : callable
        Returns the counters of all its parts.
    """

    statistics: Statistics

    def __init__(
        self,
        cycle: CommitCycle,
        store: Store,
        transport: Transport,
        dead_letters: DeadLetters,
        model_file: ModelFile,
        counters: Callable[[], Counter[str]],
    ) -> None:
        self.due = 0.0  # monotonic
        self._cycle = cycle
        self._store = store
        self._transport = transport
        self._dead_letters = dead_letters
        self._model_file = model_file
        self._counters = counters
        self._notes = LogNotes()
        self._left_out = LeftOutNotes(cycle.core.left_out())
        self._warnings = AllWarnings(cycle.core.options.prefix)

    def count(self, now: float) -> None:
        """Renew the statistics, at a monotonic time."""
        self.statistics = self._counted()
        self.due = now + _EVERY

    def look(self, now: float, lease: "Lease | None") -> None:
        """Renew statistics and warnings, at a monotonic time, and log what is new."""
        core = self._cycle.core
        self._left_out.update(core.left_out(), core.roster.name, now)
        self.count(now)
        self._warnings.update(now, core, self.statistics, self._dead_letters, self._transport, lease)
        self._notes.update(self.statistics.counters)

    def health(self, loop_age: float) -> Health:
        """Return the state of health, given the age of the loop's last iteration; for any thread."""
        return Health(
            connected=self._transport.is_connected,
            subscribed=self._transport.is_subscribed,
            storing=self._store.is_storing,
            loop_age=loop_age,
            lag=self._cycle.lag,
            trouble=self._transport.trouble,
            refused_model=self._model_file.refused,
            refused_publications=self._cycle.outbox.refused,
            clocks=self._warnings.clocks,
            data=[*self._warnings.others, *self._left_out.warnings],
            outbox_fullness=self._cycle.outbox.fullness,
            unanswered=self._cycle.outbox.seconds_without_answer,
        )

    def _counted(self) -> Statistics:
        core = self._cycle.core
        return Statistics(
            counters={**self._counters(), "fsync_seconds": self._store.fsync_seconds},
            gauges={
                "streams_known": core.roster.n_streams,
                "streams_undecided": core.roster.n_undecided,
                "pending_readings": core.joiner.n_pending,
                "queue": self._cycle.n_messages,
                "outbox": len(self._cycle.outbox),
                "lag_seconds": self._cycle.lag,
                "devices_offline": core.conduct.n_offline,
                **self._store.gauges,
            },
            decisions=dict(core.decided),
            models=core.roster.n_open,
            energy=core.joules,
            unit=core.unit,
            alerts=dict(core.feedback.alerts),
            rejected={cause: last.number for cause, last in self._dead_letters.last.items()},
            left_out=self._left_out.counts,
            promise=None if core.feedback.monitor is None else core.feedback.monitor.to_json(),
        )

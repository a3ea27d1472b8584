"""The gateway's loop: messages in, decisions and control messages out."""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from math import inf
from os import PathLike
from threading import Event
from time import monotonic, sleep, time
from typing import Any, NamedTuple

from streamfs.errors import StreamfsError
from streamfs.gateway.batch import CommitBatch
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.energy_account import Spent
from streamfs.gateway.core.options import Commits, Options
from streamfs.gateway.core.records import MESSAGE, Record, clock_record, model_record, start_record
from streamfs.gateway.dead_letters import DeadLetters
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.model_file import ModelFile
from streamfs.gateway.operations.announcer import Announcer
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.log_notes import LogNotes
from streamfs.gateway.outbox import Outbox
from streamfs.gateway.recovery import recover
from streamfs.gateway.storage.committer import Done
from streamfs.gateway.storage.energy_log import EnergyLog
from streamfs.gateway.storage.state import State
from streamfs.gateway.storage.store import Disk, Nowhere, Store
from streamfs.gateway.transport.transport import Message, Transport
from streamfs.gateway.wall_clock import WallClock
from streamfs.procedure.procedure import Decision, Procedure

_log = logging.getLogger(__name__)

_ROUND = 0.05  # seconds that the loop waits for a message at most
_END = 2.8  # seconds for all that is to be done in the end, but for ...
_GOODBYE = 0.8  # ... a commit that is under way then, and for parting from the broker: seconds for each
_QUIET = 0.5  # seconds without a message after which, in the end, no more are waited for
_AT_ONCE = Commits(messages=1, seconds=0.0, snapshot_seconds=inf)  # where nothing is kept
_STATISTICS = 1.0  # seconds from one to the next


class Summary(NamedTuple):
    """What a run of the gateway has come to.

    Parameters
    ----------
    counters : Counter of str
        Those of all parts.
    decided : Counter of (str, str)
        Decisions by reason and label, empty for none.
    spent : Spent
        What the nodes have spent.
    """

    counters: Counter[str]
    decided: Counter[tuple[str, str]]
    spent: Spent


class Gateway:
    """Runs a procedure on the streams of a broker.

    Each decision is published, retained, to ``{prefix}/decision/{stream}``; nodes are told under
    ``{prefix}/control/{node}`` which channels to send. A message is acknowledged once it is safe.

    Parameters
    ----------
    procedure : Procedure
        What to run.
    bindings : Bindings
        Which node feeds which stream.
    transport : Transport
        The connection to the broker; the gateway connects and closes it.
    options : Options, optional
        How streams are followed.
    state : State, optional
        Where all is kept; without it nothing outlives the run, and streams that are open in the end are closed.
    commits : Commits
        How often it is kept.
    max_queue : int
        Messages that may wait for their commit; beyond it no more are taken from the transport.
    energy_log : path, optional
        A file for the lines of the energy log; with a state, its journal has them too.
    trust : bool
        Whether pickled River models in the state may be loaded.
    model_file : ModelFile, optional
        Gives the procedure anew when `request_reload` was called; by default that is the same one.
    homeassistant : str, optional
        Prefix under which streams are announced to Home Assistant.
    goodbye : Publication, optional
        What is said last.
    on_decision : callable, optional
        Called with each decision once it is safe.

    Attributes
    ----------
    ready : threading.Event
        Set once the gateway has subscribed and told the nodes what to send.
    turned : float
        When its loop last went round, by the monotonic clock.

    Raises
    ------
    ValueError
        If the bindings are not for the procedure's channels, or an option is out of its range.
    StateError, LogError, ModelError
        If what was kept cannot be gone on from.
    """

    def __init__(
        self,
        procedure: Procedure,
        bindings: Bindings,
        transport: Transport,
        options: Options | None = None,
        *,
        state: State | None = None,
        commits: Commits | None = None,
        max_queue: int = 10_000,
        energy_log: str | PathLike[str] | None = None,
        trust: bool = False,
        model_file: ModelFile | None = None,
        homeassistant: str | None = None,
        goodbye: Publication | None = None,
        on_decision: Callable[[Decision], None] | None = None,
    ) -> None:
        self.ready = Event()
        self._options = Options() if options is None else options
        self._transport = transport
        self._max_queue = max_queue
        self._energy_log = energy_log
        self._model_file = ModelFile(lambda: procedure) if model_file is None else model_file
        self._goodbye = goodbye
        self._on_decision = on_decision
        self._state = state
        self._batch = CommitBatch(_AT_ONCE if state is None else commits or Commits())
        self._counters = Counter(retained=0)
        self._is_new = state is None or state.log.end == 0  # then all that nodes are to be told is told anyway
        self._models: dict[str, Procedure] = {}
        if state is None:
            self._models[procedure.digest] = procedure
            self._core = Core(procedure, bindings, self._options, self._models.__getitem__)
            self._store: Store = Nowhere()
        else:
            recovered = recover(state, procedure, bindings, self._options, trust=trust)
            self._core = recovered.core
            procedure = self._model_file.accepted(procedure, self._core.roster)
            self._counters["replayed"] = recovered.n_replayed
            self._batch.add([], 0, recovered.effects)
            self._store = Disk(state, transport.wake)
        self._outbox = Outbox(transport, self._store.waiting())
        self._dead_letters = DeadLetters(self._outbox, self._options)
        self._announcer = Announcer(self._options, homeassistant)
        self._clock = WallClock(self._options.time.grace)
        self._energy_file: EnergyLog | None = None
        self._under_way_since: float | None = None
        self._is_committing = False
        self.turned = monotonic()
        self._notes = LogNotes()
        self._statistics = self._new_statistics()
        self._statistics_due = 0.0
        self._take([start_record(procedure.digest, time(), self._core.configuration)], 0)
        self._n_first = len(self._outbox) + self._batch.n_publications

    @property
    def core(self) -> Core:
        """Where the streams stand; not while the gateway runs."""
        return self._core

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of readings that are subscribed to."""
        return self._core.roster.routes.topics

    @property
    def discovers(self) -> bool:
        """Whether every node that is heard is a stream."""
        return self._core.roster.bindings.discovers

    def wake(self) -> None:
        """Let the loop go round at once; to be called from any thread, and from a signal handler."""
        self._transport.wake()

    def request_reload(self) -> None:
        """Have the model loaded anew; to be called from any thread, and from a signal handler."""
        self._model_file.request()
        self._transport.wake()

    def statistics(self) -> Statistics:
        """What was counted up to a second ago; to be called from any thread."""
        return self._statistics

    def health(self) -> Health:
        """Whether the gateway does its work; to be called from any thread."""
        now, oldest = monotonic(), self._under_way_since or self._batch.oldest
        return Health(
            connected=self._transport.is_connected,
            subscribed=self._transport.is_subscribed,
            storing=self._store.is_storing,
            loop_age=now - self.turned,
            lag=0.0 if oldest is None else now - oldest,
            refused_model=self._model_file.refused,
        )

    def run(
        self,
        stop: Event,
        idle_timeout: float | None = None,
        *,
        until_decided: bool = False,
        patience: float | None = None,
        on_turn: Callable[[], object] | None = None,
    ) -> Summary:
        """Follow the streams until told to stop.

        While no message brings event time forward, it is taken to run on with the wall clock after a grace, so
        that the streams of nodes that have fallen silent time out. In the end streams that are open are closed,
        and messages that are still under way are taken so that the account is whole; with a state, they stay open
        for the next run instead.

        Parameters
        ----------
        stop : threading.Event
            Ends the run once it is set; `Transport.wake` makes that noticed at once.
        idle_timeout : float, optional
            Seconds without a message after which the run ends.
        until_decided : bool
            Whether the run ends when every stream known so far is decided.
        patience : float, optional
            Seconds within which the broker must accept at first; None tries for ever.
        on_turn : callable, optional
            Called each time the loop goes round, and once it has ended.

        Returns
        -------
        Summary
            Of this run; a gateway runs once.

        Raises
        ------
        TransportError
            If the broker cannot be reached within the patience, or refuses.
        """
        log = nullcontext() if self._energy_log is None else EnergyLog(self._energy_log)
        with log as self._energy_file:
            try:
                self._transport.subscribe((*self._core.topics, *self._announcer.topics))
                if patience is not None:
                    self._transport.connect(patience)
                    self._transport.check_subscribed(patience)
                self._follow(stop, idle_timeout, until_decided=until_decided, on_turn=on_turn)
                if on_turn is not None:
                    on_turn()  # the stop may have come after it was called in the last round
                self._end()
            finally:
                self._store.stop(_GOODBYE)
                self._transport.close(_GOODBYE, self._goodbye)
        return Summary(self._all_counters(), self._core.decided, self._core.spent)

    def _follow(
        self,
        stop: Event,
        idle_timeout: float | None,
        *,
        until_decided: bool,
        on_turn: Callable[[], object] | None,
    ) -> None:
        quiet_since = monotonic()
        while not (stop.is_set() or (until_decided and self._is_all_decided())):
            if self._turn(_ROUND):
                quiet_since = monotonic()
            elif idle_timeout is not None and monotonic() - quiet_since > idle_timeout:
                return
            if on_turn is not None:
                on_turn()

    def _turn(self, timeout: float) -> bool:
        """Go round once, and say whether there was a message."""
        wait = None if self._is_committing else self._batch.wait
        messages = self._transport.poll(
            timeout if wait is None else min(wait, timeout), max(0, self._max_queue - len(self._batch))
        )
        if messages:
            self._hear(messages)
        self._let_time_pass()
        if self._model_file.take_request():
            self._change_model()
        if self._transport.session_lost:  # and so, perhaps, all that was retained
            if not self._is_new:
                self._batch.add([], 0, Effects(publications=self._core.roster.control_states()))
            self._is_new = False
        self._commit()
        self.turned = monotonic()
        if self.turned >= self._statistics_due:
            self._statistics = self._new_statistics()
            self._notes.look(self._statistics.counters)
            self._statistics_due = self.turned + _STATISTICS
            self._outbox.say(self._announcer.news(self._core.roster.streams))
            if self._outbox.has_confirmed and self._may_commit:
                self._submit()
        return bool(messages)

    def _hear(self, messages: list[Message]) -> None:
        records = [
            Record(MESSAGE, arrival, topic, payload, content_type)
            for topic, payload, retained, arrival, content_type in messages
            if not (retained or topic in self._announcer.topics)
        ]
        if len(records) < len(messages):
            for message in messages:
                if not self._announcer.hears(message.topic, message.payload):
                    self._counters["retained"] += message.retained
        self._take(records, len(messages))

    def _take(self, records: list[Record], n_messages: int) -> None:
        effects = self._core.take(records)
        self._batch.add(records, n_messages, effects)
        self._dead_letters.tell(effects.rejected)

    def _let_time_pass(self) -> None:
        idle = self._clock.idle(self._core.joiner.newest, is_connected=self._transport.is_connected)
        watermark = self._core.idle_watermark(idle) if idle else None
        if watermark is not None:
            self._take([clock_record(watermark, time())], 0)

    def _commit(self) -> None:
        """Let what is safe have its way, and hand over what is to be made safe next."""
        self._let_out_done()
        if self._batch.wait == 0 and self._may_commit:
            self._submit()
            self._let_out_done()
        self._outbox.pump()
        if not self.ready.is_set() and self._is_begun():
            self.ready.set()

    def _is_begun(self) -> bool:
        """Whether the broker has the subscriptions, and what there was to say at the start."""
        return self._transport.is_subscribed and self._outbox.counters["confirmed"] >= self._n_first

    def _submit(self) -> None:
        self._under_way_since = self._batch.oldest
        self._is_committing = True
        self._store.submit(
            self._batch.commit(self._outbox.take_confirmed(), self._core.to_state, self._core.marks)
        )

    def _let_out_done(self) -> None:
        for done in self._store.done():
            self._under_way_since = None
            self._is_committing = False
            self._let_out(done)

    def _let_out(self, done: Done) -> None:
        self._transport.acknowledge(done.n_messages)
        entry = done.commit.entry
        self._outbox.add(done.numbers, entry.publications)
        if entry.snapshot is not None:
            self._store.forget_models(self._core.roster.n_open)
        if self._energy_file is not None:
            self._log_energy(self._energy_file, entry.energy)
        if self._on_decision is not None:
            for decision in entry.decisions:
                self._on_decision(decision)

    def _log_energy(self, log: EnergyLog, lines: list[dict[str, Any]]) -> None:
        try:
            log.write(lines)
        except StreamfsError as error:
            self._counters["energy_log_failures"] += 1
            if self._counters["energy_log_failures"] == 1:
                _log.warning("%s (further times are only counted)", error)

    def _change_model(self) -> None:
        """Follow the model that is there now; if it is no good, go on with the old one."""
        procedure = self._model_file.newest(self._core.roster, self._keep_model)
        if procedure is None:
            return
        self._take([model_record(procedure.digest, time())], 0)
        self._transport.subscribe((*self._core.topics, *self._announcer.topics))
        _log.info("new episodes follow model %s", procedure.digest)

    def _keep_model(self, procedure: Procedure) -> None:
        if self._state is None:
            self._models[procedure.digest] = procedure
        else:
            self._state.models.keep_model(procedure.packed)

    def _end(self) -> None:
        """Leave nothing undone: what was taken is made safe, what is safe is published."""
        last = monotonic() + _END
        if self._store.keeps:
            self._batch.want_snapshot()
        else:
            self._settle(last - _END / 2)
            self._batch.add([], 0, self._core.finish())
        self._flush(last)
        if self._outbox.has_confirmed:
            self._flush(last)

    @property
    def _may_commit(self) -> bool:
        return not (self._is_committing or self._store.is_busy)

    @property
    def _is_idle(self) -> bool:
        """Whether nothing is under way to the disk, or can be to the broker."""
        return not self._is_committing and (not len(self._outbox) or not self._transport.is_connected)

    def _settle(self, last: float) -> None:
        """Take what has been sent already, so that no transmission is left out of the account."""
        self._transport.drain(last - monotonic())
        quiet_since = monotonic()
        while self._transport.is_connected and quiet_since + _QUIET > monotonic() < last:
            if self._turn(_ROUND):
                quiet_since = monotonic()

    def _flush(self, last: float) -> None:
        """Commit what waits, and publish what comes of it, as far as disk and broker take it in time."""
        is_submitted = False
        while monotonic() < last and not (is_submitted and self._is_idle):
            if self._may_commit and not is_submitted:
                self._submit()
                is_submitted = True
            self._let_out_done()
            self._outbox.pump()
            if self._transport.is_connected:
                self._transport.poll(_ROUND / 5, 0)
            else:
                sleep(_ROUND / 5)  # a poll might wait for a connection that is of no use any more

    def _is_all_decided(self) -> bool:
        return bool(self._core.decided) and self._core.roster.n_undecided == 0

    def _all_counters(self) -> Counter[str]:
        counters = self._core.counters
        counters.update(self._counters)
        for part in (self._transport, self._store, self._outbox, self._dead_letters, self._model_file):
            counters.update(part.counters)
        return counters

    def _new_statistics(self) -> Statistics:
        roster = self._core.roster
        return Statistics(
            counters={**self._all_counters(), "fsync_seconds": self._store.fsync_seconds},
            gauges={
                "streams_known": roster.n_streams,
                "streams_undecided": roster.n_undecided,
                "pending_readings": self._core.joiner.n_pending,
                "queue": len(self._batch),
                "outbox": len(self._outbox),
                "lag_seconds": self.health().lag,
                **self._store.gauges,
            },
            decisions=dict(self._core.decided),
            models=roster.n_open,
            energy=self._core.joules,
            unit=self._core.unit,
            alerts=dict(self._core.feedback.alerts),
        )

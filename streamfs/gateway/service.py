"""The gateway's loop: messages in, decisions and control messages out."""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from os import PathLike
from queue import SimpleQueue
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from streamfs.base.counters import summed
from streamfs.gateway.arrivals import Arrivals
from streamfs.gateway.commit_cycle import CommitCycle
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.energy_account import Spent
from streamfs.gateway.core.options import Commits, Options
from streamfs.gateway.core.records import (
    MESSAGE,
    Record,
    anew_record,
    clock_record,
    model_record,
    settings_record,
    start_record,
    stop_record,
)
from streamfs.gateway.dead_letters import DeadLetters
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.model_file import ModelFile
from streamfs.gateway.operations.announcer import Announcer
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.outbox import Outbox
from streamfs.gateway.recovery import recover
from streamfs.gateway.reports import Reports
from streamfs.gateway.storage.energy_log import EnergyLog
from streamfs.gateway.storage.state import State
from streamfs.gateway.storage.store import Disk, Nowhere, Store
from streamfs.gateway.transport.transport import Message, Transport
from streamfs.gateway.view_writer import ViewWriter
from streamfs.procedure.procedure import Decision, Procedure

if TYPE_CHECKING:
    from streamfs.gateway.lease import Lease
    from streamfs.gateway.recertifier import Recertifier

_log = logging.getLogger(__name__)

_REST = 1.0  # seconds from one question, whether there is silence, to the next, or a tick if that is longer
_POLL = 0.05  # seconds that the loop waits for a message at most
_END = 2.8  # seconds for finishing, except for ...
_GOODBYE = 0.8  # ... a commit in progress, and disconnecting: seconds for each
_QUIET = 0.5  # seconds without a message after which, at the end, none is waited for


class Summary(NamedTuple):
    """Counters, decisions by reason and label (empty if there is none), and the nodes' energy of a run."""

    counters: Counter[str]
    decided: Counter[tuple[str, str]]
    spent: Spent


class Gateway:
    """Runs a procedure on the streams of a broker.

    Each decision is published, retained, to ``{prefix}/decision/{stream}``, and the channels that a node is to
    send to ``{prefix}/control/{node}``. A message is acknowledged once its effects are safe.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    bindings : Bindings
        Which node feeds which stream.
    transport : Transport
        The connection to the broker; the gateway connects and closes it.
    options : Options, optional
        The options of the core.
    state : State, optional
        The state folder; without it nothing outlives the run, and open streams are closed at its end.
    commits : Commits
        When effects are committed to the state.
    max_queue : int
        Most messages that wait for their commit; when they do, no more are taken from the transport.
    energy_log : path, optional
        File of the energy log; with a state, the journal has its lines too.
    trust : bool
        Whether pickled models of River and scikit-learn in the state may be loaded.
    model_file : ModelFile, optional
        Loads the model after `request_reload`; by default that is the same procedure.
    homeassistant : str, optional
        Prefix of Home Assistant's topics; None does not announce streams to it.
    goodbye : Publication, optional
        The last publication.
    on_decision : callable, optional
        Called with each safe decision.
    view : ViewWriter, optional
        Writes what `streamfs page` shows.

    Attributes
    ----------
    ready : threading.Event
        Set once the gateway has subscribed and the broker has confirmed the first publications.
    lease : Lease or None
        What ends the run if another gateway serves the same; to be set before the run.
    recertifier : Recertifier or None
        Certifies the model anew, if the options say so; to be set before the run.
    turned : float
        Monotonic time of the end of the loop's last iteration.

    Raises
    ------
    ValueError
        If the bindings are not for the procedure's channels, or an option is out of its range.
    StateError, LogError, ModelError
        If the state cannot be used.
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
        view: ViewWriter | None = None,
    ) -> None:
        self.ready = Event()
        self.turned = monotonic()
        self._options = Options() if options is None else options
        self._transport = transport
        self._max_queue = max_queue
        self._energy_log = energy_log
        self._model_file = ModelFile(lambda: procedure) if model_file is None else model_file
        self._goodbye = goodbye
        self.lease: Lease | None = None
        self.recertifier: Recertifier | None = None
        self._state = state
        self._counters = Counter(lost_sessions=0)
        self._models: dict[str, Procedure] = {procedure.digest: procedure}  # without a state
        self._former_topics: tuple[str, ...] = ()  # of the last run
        effects = Effects()
        if state is None:
            self._core = Core(procedure, bindings, self._options, self._models.__getitem__)
            self._store: Store = Nowhere()
        else:
            self._core, effects, self._counters["replayed"], self._former_topics = recover(
                state, procedure, bindings, self._options, trust=trust
            )
            procedure = self._model_file.accepted(procedure, self._core.roster)
            self._store = Disk(state, transport.wake)
        bound, dear = self._options.limits.outbox, f"{self._options.prefix}/decision/"
        outbox = Outbox(transport, self._store.waiting(), bound, dear)
        self._cycle = CommitCycle(
            self._core, self._store, transport, outbox, commits or Commits(), on_decision, view
        )
        self._cycle.add([], 0, effects)
        self._view = view
        self._asked: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        self._dead_letters = DeadLetters(self._cycle.outbox, self._options)
        self._announcer = Announcer(self._options, homeassistant)
        self._arrivals = Arrivals(self._core, bindings, self._announcer)
        self._clock = transport.clock
        self._clock.start_after(self._core.joiner.latest)
        self._ask_at = 0.0  # monotonic time of the next question whether there is silence, and ...
        self._pass_at = monotonic() + self._rest  # ... of its next record, at the earliest
        self._reports = Reports(
            self._cycle, self._store, transport, self._dead_letters, self._model_file, self._all_counters
        )
        self._continues = state is not None and state.log.end > 0  # else starting publishes all control messages
        self._take([start_record(procedure.digest, self._clock.now(), self._core.configuration)], 0)
        if self._continues:
            self._publish_control()
        self._first_model = procedure
        self._n_first = self._cycle.n_publications
        self._reports.count(self.turned)

    @property
    def core(self) -> Core:
        """The core; not to be used while the gateway runs."""
        return self._core

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of readings that the gateway subscribes to."""
        return self._core.roster.routes.topics

    @property
    def discovers(self) -> bool:
        """Whether every node that sends readings is a stream."""
        return self._core.roster.bindings.discovers

    def wake(self) -> None:
        """Start the loop's next iteration at once; may be called from any thread, and from a signal handler."""
        self._transport.wake()

    def request_reload(self, digest: str = "") -> None:
        """Read settings and model again, or follow a model that the state keeps, by its digest.

        May be called from any thread, and from a signal handler. An earlier model is followed until settings and
        model are read again, or the gateway starts again.
        """
        self._model_file.request(digest)
        self._transport.wake()

    def send(self, topic: str, payload: bytes) -> None:
        """Take what an operator asks for like a message on a topic; may be called from any thread."""
        self._asked.put((topic, payload))
        self._transport.wake()

    def statistics(self) -> Statistics:
        """Return statistics that are at most a second old; may be called from any thread."""
        return self._reports.statistics

    def health(self) -> Health:
        """Return the state of health; may be called from any thread."""
        return self._reports.health(monotonic() - self.turned)

    def run(
        self,
        stop: Event,
        idle_timeout: float | None = None,
        *,
        until_decided: bool = False,
        patience: float | None = None,
        on_turn: Callable[[], object] | None = None,
    ) -> Summary:
        """Follow the streams until stopped.

        While the broker answers, silence counts: the time of a silent node runs on, so that its streams time out.
        At the end, messages in flight are received, so that the energy account is complete, and open streams are
        closed; with a state, streams stay open for the next run instead.

        Parameters
        ----------
        stop : threading.Event
            Ends the run; call `wake` after setting it.
        idle_timeout : float, optional
            Seconds without a message after which the run ends.
        until_decided : bool
            Whether the run ends when every stream known so far is decided.
        patience : float, optional
            Seconds within which the broker must accept the connection; None retries forever.
        on_turn : callable, optional
            Called after each iteration of the loop, and once after the last.

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
        with log as self._cycle.energy_file:
            try:
                topics = *self._core.topics, *self._announcer.topics
                self._transport.subscribe(topics, self._former_topics)
                if patience is not None:
                    self._transport.connect(patience)
                    self._transport.check_subscribed(patience)
                self._begin_state()
                self._follow(stop, idle_timeout, until_decided=until_decided, on_turn=on_turn)
                if on_turn is not None:
                    on_turn()  # the stop may have come after the last call
                self._end()
            finally:
                if self.recertifier is not None:
                    self.recertifier.close()
                self._store.stop(_GOODBYE)
                self._transport.close(_GOODBYE, self._goodbye)
                if self._view is not None:
                    self._view.finish(self._core, self)
        return Summary(self._all_counters(), self._core.decided, self._core.spent)

    def stop_storing(self) -> None:
        """End the thread that stores, unless the run has done so."""
        self._store.stop(_GOODBYE)

    def _begin_state(self) -> None:
        """Change the state for the first time: nothing has refused this start."""
        if self._state is not None:
            self._state.begin()
            self._keep_model(self._first_model)

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
            if self._turn():
                quiet_since = monotonic()
            elif idle_timeout is not None and monotonic() - quiet_since > idle_timeout:
                return
            if on_turn is not None:
                on_turn()

    def _turn(self) -> bool:
        """Run one iteration of the loop; return whether there was a message."""
        wait = self._cycle.wait
        messages = self._transport.poll(
            _POLL if wait is None else min(wait, _POLL), max(0, self._max_queue - self._cycle.n_messages)
        )
        if self.lease is not None:
            self.lease.keep(self._transport)
        if messages:
            self._receive(messages)
        self._take_asked()
        self._let_time_pass()
        if self._model_file.take_request():
            self._change_model()
        self._heed_withdrawal()
        if self.recertifier is not None and self.recertifier.advance(
            self._core.feedback.recorder, self._core.procedure
        ):
            self.request_reload()
        self._heed_lost_session()
        self._cycle.advance()
        self._ask_for_silence()
        if not self.ready.is_set() and self._has_begun():
            self.ready.set()
        self.turned = monotonic()
        if self.turned >= self._reports.due:
            self._report()
        if self._view is not None:
            self._view.advance(self._core, self)
        return bool(messages)

    def _heed_lost_session(self) -> None:
        """Count a session that the broker was to keep, and say again what it may have forgotten in this run."""
        is_lost, is_in_doubt = self._transport.session_lost, self._transport.answer_lost
        is_reconnect = self._transport.counters["connections"] > 1
        self._counters["lost_sessions"] += is_lost and (is_reconnect or self._continues)
        if is_reconnect and (is_lost or is_in_doubt):
            self._publish_control()
            if self._core.conduct.asks:  # what was on its way to devices is lost
                self._take([anew_record(self._core.conduct.anew_topic, self._clock.now())], 0)

    def _receive(self, received: list[Message]) -> None:
        records = self._arrivals.records_of(received, self._transport.counters["connections"])
        self._take(records, len(received))

    def _take(self, records: list[Record], n_messages: int) -> None:
        effects = self._core.take(records)
        self._cycle.add(records, n_messages, effects)
        self._dead_letters.publish(effects.rejected)
        if self._view is not None:
            self._view.note_rejected(effects.rejected)

    def _take_asked(self) -> None:
        """Take what operators have asked for."""
        while not self._asked.empty():
            topic, payload = self._asked.get()
            self._take([Record(MESSAGE, self._clock.now(), topic, payload)], 0)

    @property
    def _rest(self) -> float:
        """Seconds in which a gateway without messages has no more than one question, record and commit."""
        return max(self._core.joiner.timing.period, _REST)

    def _let_time_pass(self) -> None:
        """Record silence that is proved, while what it leads to can be stored."""
        silence = self._transport.silence
        if (
            monotonic() >= self._pass_at
            and silence > self._core.joiner.silence
            and self._store.is_storing
            and self._core.waits_for_time
        ):
            self._pass_at = monotonic() + self._rest
            self._take([clock_record(silence)], 0)

    def _ask_for_silence(self) -> None:
        """Have silence proved, if it matters."""
        if monotonic() >= self._ask_at:
            self._ask_at = monotonic() + self._rest
            if self.lease is not None or self._core.waits_for_time:  # a look at every stream
                self._transport.prove_silence()

    def _publish_control(self) -> None:
        """Publish what each node is to send: the broker may have lost it, perhaps under an earlier run."""
        self._cycle.add([], 0, Effects(publications=self._core.control_states()))

    def _has_begun(self) -> bool:
        """Whether the broker has the subscriptions and the first publications."""
        return self._transport.is_subscribed and self._cycle.outbox.counters["confirmed"] >= self._n_first

    def _change_model(self) -> None:
        """Read settings and model again; new episodes follow its model unless it is refused."""
        renewed = self._model_file.newest(self._core.roster, self._keep_model)
        if renewed is None:
            return
        procedure, bindings, options, _ = renewed
        if bindings is None or options is None:
            self._begin_with(procedure)
        else:
            self._reconfigure(procedure, bindings, options)

    def _reconfigure(self, procedure: Procedure, bindings: Bindings, options: Options) -> None:
        """Go on with other settings; open episodes of streams that are fed as before stay open."""
        former, core = self._core.topics, self._core.reconfigured(bindings, options)
        if self.lease is not None:
            self.lease.follow(bindings, self._transport)
        self._core = self._cycle.core = core
        self._arrivals.follow(core, bindings)
        self._take([settings_record(procedure.digest, self._clock.now(), core.configuration)], 0)
        self._transport.subscribe((*core.topics, *self._announcer.topics), former)
        _log.info("other settings hold from now on, and model %s", procedure.digest)

    def _heed_withdrawal(self) -> None:
        """Follow another model if the newest one's promise is withdrawn, and the options say so."""
        successor = self._core.successor()
        if successor is not None:
            self._keep_model(successor)
            self._begin_with(successor)

    def _begin_with(self, procedure: Procedure) -> None:
        """Let new episodes follow a model that is kept."""
        self._take([model_record(procedure.digest, self._clock.now())], 0)
        self._transport.subscribe((*self._core.topics, *self._announcer.topics))
        _log.info("new episodes follow model %s", procedure.digest)

    def _keep_model(self, procedure: Procedure) -> None:
        if self._state is None:
            self._models[procedure.digest] = procedure
        else:
            self._state.models.keep_model(procedure.packed)

    def _end(self) -> None:
        """Commit all that was received, and publish all that is safe."""
        deadline = monotonic() + _END
        if not self._store.keeps:
            self._receive_rest(deadline - _END / 2)
        if self.lease is not None and self._transport.silence > self._core.joiner.silence:
            self._take([clock_record(self._transport.silence)], 0)  # for a zone that moves from here
        if self.lease is not None or self._core.conduct.asks:
            self._take([stop_record(self._clock.now())], 0)
        if self._store.keeps:
            self._cycle.want_snapshot()
        else:
            self._cycle.add([], 0, self._core.finish())
        self._cycle.flush(deadline)

    def _receive_rest(self, deadline: float) -> None:
        """Receive the messages in flight, so that the energy account has every transmission."""
        self._transport.drain(deadline - monotonic())
        quiet_since = monotonic()
        while self._transport.is_connected and quiet_since + _QUIET > monotonic() < deadline:
            if self._turn():
                quiet_since = monotonic()

    def _is_all_decided(self) -> bool:
        return bool(self._core.decided) and self._core.roster.n_undecided == 0

    def _report(self) -> None:
        """Look at what there is, and announce new streams."""
        self._reports.look(self.turned, self.lease)
        self._cycle.outbox.add_passing(self._announcer.news(self._core.roster.streams))
        self._cycle.commit_concluded(2 * self._rest)

    def _all_counters(self) -> Counter[str]:
        parts = (
            self._core,
            self._transport,
            self._store,
            self._cycle,
            self._cycle.outbox,
            self._dead_letters,
            self._arrivals,
            self._model_file,
        )
        return summed((self._counters, *(part.counters for part in parts)))

"""The gateway's loop: messages in, decisions and control messages out."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from os import PathLike
from threading import Event
from time import monotonic
from typing import NamedTuple

import numpy as np

from streamfs.energy import EnergyMeter
from streamfs.engine import Engine
from streamfs.errors import PayloadError
from streamfs.gateway.bindings import Bindings
from streamfs.gateway.codecs import decode, encode_decision
from streamfs.gateway.control import Control, Published
from streamfs.gateway.joiner import Joiner, Tick
from streamfs.gateway.ledger import Ledger
from streamfs.gateway.transport import Message, Transport
from streamfs.procedure import Decision, Procedure

_log = logging.getLogger(__name__)

_POLL = 0.05  # seconds to wait for a message
_DRAIN = 10.0  # seconds to wait until the broker has the first control messages
_MAX_LOGGED_TOPICS = 1000
_QUIET = 0.5  # seconds without a message after which, in the end, no more are waited for
_MAX_SETTLE = 5.0  # seconds for which they are waited for at most


class Summary(NamedTuple):
    """What a run of the gateway has come to.

    Parameters
    ----------
    decisions : list of Decision
        In the order in which they were made.
    counters : Counter of str
        Those of the gateway (``messages`` taken, ``retained``, ``unbound`` and ``malformed`` ones), the joiner,
        the engine and the transport.
    meter : EnergyMeter
        What the nodes have spent.
    """

    decisions: list[Decision]
    counters: Counter[str]
    meter: EnergyMeter


class Gateway:
    """Runs a procedure on the streams of a broker.

    Each decision is published, retained, to ``{prefix}/decision/{stream}``; nodes are told under
    ``{prefix}/control/{node}`` which channels to send.

    Parameters
    ----------
    procedure : Procedure
        What to run.
    bindings : Bindings
        Which node feeds which stream; its channels are those of the procedure.
    transport : Transport
        The connection to the broker; the gateway connects and closes it.
    lateness : float, optional
        Seconds that a reading may lag behind the newest; two periods by default.
    grace : float
        Seconds without news after which event time runs on with the wall clock: as long as a link may stall before
        its streams time out.
    overtaking : float
        Seconds by which a reading may overtake an earlier one of its own channel; see `Joiner`.
    profile : str
        The nodes' radio, a key of `streamfs.energy.PROFILES`.
    energy_log : path, optional
        Where the ledger is written.
    prefix : str
        First part of the topics that the gateway publishes to.
    on_decision : callable, optional
        Called with each decision after it was published.

    Attributes
    ----------
    ready : threading.Event
        Set once the gateway has subscribed and told the nodes what to send.

    Raises
    ------
    ValueError
        If the bindings are not for the procedure's channels, or an option is out of its range.
    """

    def __init__(
        self,
        procedure: Procedure,
        bindings: Bindings,
        transport: Transport,
        *,
        lateness: float | None = None,
        grace: float = 10.0,
        overtaking: float = 0.0,
        profile: str = "transmissions",
        energy_log: str | PathLike[str] | None = None,
        prefix: str = "streamfs",
        on_decision: Callable[[Decision], None] | None = None,
    ) -> None:
        if tuple(bindings.channels) != tuple(procedure.channels):
            raise ValueError(f"bindings have channels {bindings.channels}, expected {procedure.channels}")
        self.ready = Event()
        self._bindings = bindings
        self._transport = transport
        if not grace >= 0:
            raise ValueError(f"grace is {grace}, expected seconds, at least 0")
        self._grace = grace
        self._lateness = 2 * procedure.period if lateness is None else lateness
        self._joiner = Joiner(bindings, procedure.period, self._lateness, procedure.max_silence, overtaking)
        self._engine = Engine(procedure)
        self._control = Control(bindings, prefix)
        self._ledger = Ledger(profile, energy_log)
        self._prefix = prefix
        self._on_decision = on_decision
        self._decisions: list[Decision] = []
        self._counters = Counter(messages=0, retained=0, malformed=0)
        self._logged_topics: set[str] = set()

    def run(self, stop: Event, idle_timeout: float | None = None, *, until_decided: bool = False) -> Summary:
        """Follow the streams until told to stop, and then close those that are open.

        While no message brings event time forward, it is taken to run on with the wall clock after a grace, so
        that the streams of nodes that have fallen silent time out. In the end messages that are still under way
        are taken, so that the account is whole.

        Parameters
        ----------
        stop : threading.Event
            Ends the run once it is set.
        idle_timeout : float, optional
            Seconds without a message after which the run ends.
        until_decided : bool
            Whether the run ends when every stream known so far is decided.

        Returns
        -------
        Summary
            Of this run; a gateway runs once.

        Raises
        ------
        TransportError
            If the broker cannot be reached at first, or refuses.
        """
        with closing(self._transport), self._ledger:
            self._transport.connect()
            self._transport.subscribe(self._bindings.topics)
            self._publish(self._control.start())
            self._transport.drain(_DRAIN)
            self.ready.set()
            self._follow(stop, idle_timeout, until_decided=until_decided)
            self._settle()
            self._finish()
        return Summary(self._decisions, self._all_counters(), self._ledger.meter)

    def _follow(self, stop: Event, idle_timeout: float | None, *, until_decided: bool) -> None:
        quiet_since = idle_since = monotonic()
        n_reconnects = 0
        while not (stop.is_set() or (until_decided and self._is_all_decided())):
            message = self._transport.receive(_POLL)
            now, newest = monotonic(), self._joiner.newest
            if message is not None:
                self._take(message)
                for waiting in self._transport.receive_all():
                    self._take(waiting)
                quiet_since = now
            elif idle_timeout is not None and now - quiet_since > idle_timeout:
                return
            if self._joiner.newest != newest or not self._transport.is_connected:
                idle_since = now  # while there is no connection, messages of this time may still be delivered
            self._advance(max(0.0, now - idle_since - self._grace))
            if self._transport.counters["reconnects"] > n_reconnects:
                n_reconnects = self._transport.counters["reconnects"]
                self._publish(self._control.current())  # a broker that was restarted may have forgotten

    def _settle(self) -> None:
        """Take what has been sent already, so that no transmission is left out of the account."""
        last = monotonic() + _MAX_SETTLE
        self._transport.drain(_MAX_SETTLE)
        while monotonic() < last:
            message = self._transport.receive(_QUIET)
            if message is None:
                return
            self._take(message)

    def _take(self, message: Message) -> None:
        """Take one message: into the ledger, and on to the joiner."""
        self._counters["messages"] += 1
        if message.retained:
            self._counters["retained"] += 1
            return
        source = self._bindings.parse(message.topic)
        if source is None:
            self._counters["unbound"] += 1
            return
        self._publish(self._control.met(source.node))
        try:
            reading = decode(message.payload)
        except PayloadError as error:
            self._reject(message, error)
            is_news = True
        else:
            if reading.time is None:
                reading = reading._replace(time=message.arrival)
            is_news = self._joiner.add(*source, reading)
        if is_news:
            self._ledger.count(source.node, message.payload)

    def _reject(self, message: Message, error: PayloadError) -> None:
        self._counters["malformed"] += 1
        if message.topic not in self._logged_topics and len(self._logged_topics) < _MAX_LOGGED_TOPICS:
            self._logged_topics.add(message.topic)
            _log.warning("%s: %s (further ones on this topic are only counted)", message.topic, error)

    def _advance(self, idle: float) -> None:
        """Let event time reach so many seconds beyond the newest stamp, less the lateness."""
        if self._joiner.newest is None:
            return
        self._push(self._joiner.advance(self._joiner.newest + idle - self._lateness))
        if self._joiner.now is not None:
            self._announce(self._engine.expire(self._joiner.now))

    def _push(self, ticks: Iterable[Tick]) -> None:
        for time, streams, samples in ticks:
            self._announce(self._engine.push_batch(streams, np.full(len(streams), time), samples))

    def _announce(self, decisions: Iterable[Decision]) -> None:
        for decision in decisions:
            self._decisions.append(decision)
            self._joiner.drop(decision.stream)
            topic = f"{self._prefix}/decision/{decision.stream}"
            self._publish([(topic, encode_decision(decision)), *self._control.decided(decision.stream)])
            self._ledger.record(decision, {source.node for source in self._bindings.sources(decision.stream)})
            if self._on_decision is not None:
                self._on_decision(decision)

    def _publish(self, messages: Iterable[Published]) -> None:
        for topic, payload in messages:
            self._transport.publish(topic, payload, retain=True)

    def _finish(self) -> None:
        self._push(self._joiner.flush())
        for stream in self._bindings.streams:
            self._engine.admit(stream)
        undecided = [stream for stream in self._engine.streams if not self._engine.is_decided(stream)]
        closed = (self._engine.close(stream) for stream in undecided)
        self._announce(decision for decision in closed if decision is not None)

    def _is_all_decided(self) -> bool:
        return bool(self._decisions) and not self._joiner.streams

    def _all_counters(self) -> Counter[str]:
        counters = Counter(self._counters)
        for part in (self._joiner.counters, self._engine.counters, self._transport.counters):
            counters.update(part)
        return counters

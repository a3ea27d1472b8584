"""What messages, time and models do to the streams: the gateway without clock, threads, network and disk.

The same records in the same order always have the same effects, however they are divided: so a gateway that has
died goes on from a snapshot and the records since.
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Self

import orjson

from streamfs.base import container
from streamfs.costs.energy_meter import Account
from streamfs.engine.engine import DECIDED, OPEN, WAITING
from streamfs.errors import ModelError, PayloadError
from streamfs.gateway.core._grid import NONE
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.energy_account import NOTHING, EnergyAccount, Spent
from streamfs.gateway.core.feedback import Feedback
from streamfs.gateway.core.intake import Intake
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import CLOCK, MESSAGE, MODEL, START, Mark, Record
from streamfs.gateway.core.replay_configuration import described, understood
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.messages.codecs import encode_decision
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision, Procedure

KIND, VERSION = "gateway", 3

COUNTERS = ("evicted", "expired", "reopened", "models", "commands", "unknown_commands", "unbound_streams")

EVICTED_AT_ONCE = 100
"""One in so many streams gives way where they are too many."""

EXPIRY_CHECKS = 10
"""How often, in the time after which a stream is forgotten, it is looked for such streams, by the arrivals."""

FED_AT_ONCE = 250_000
"""Samples that are unpacked together, and those of a message: what comes together may have many times as many."""

_WATERMARK = struct.Struct("<d")


@dataclass
class Effects:
    """What has come of some records.

    Parameters
    ----------
    decisions : list of Decision
        In the order in which they were made.
    publications : list of Publication
        Decisions, control messages and alerts, in order; each is to be published at least once.
    energy : list of dict
        Lines of the energy log.
    rejected : list of dict
        Messages that could not be read.
    """

    decisions: list[Decision] = field(default_factory=list)
    publications: list[Publication] = field(default_factory=list)
    energy: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come of them."""
        return not (self.decisions or self.publications or self.energy or self.rejected)

    def add(self, other: Self) -> None:
        """Put the effects of later records behind these."""
        for name in vars(self):
            getattr(self, name).extend(getattr(other, name))


class UndescribedError(ModelError):
    """A snapshot was taken with bindings that cannot be kept."""


def clock_record(watermark: float, now: float) -> Record:
    """Record that event time has run on to a watermark without a reading; both in seconds."""
    return Record(CLOCK, now, "", _WATERMARK.pack(watermark))


def model_record(digest: str, now: float) -> Record:
    """Record that new episodes follow another model from now on."""
    return Record(MODEL, now, digest, b"")


def start_record(digest: str, now: float, configuration: bytes = b"") -> Record:
    """Record that a run has begun: the streams that are bound by name follow this model from now on.

    Parameters
    ----------
    digest : str
        Of the model.
    now : float
        Seconds since 1970.
    configuration : bytes
        What `described` has made of the run's bindings and options; a core has these already, but a recovery
        makes another by them.
    """
    return Record(START, now, digest, configuration)


class Core:
    """Follows the streams that are bound, or every node that is heard.

    Parameters
    ----------
    procedure : Procedure
        What new episodes follow.
    bindings : Bindings
        Which node feeds which stream.
    options : Options, optional
        Names, event time, bounds.
    load : callable, optional
        Gives the procedure of a digest, for records of other models; without it they are refused.

    Attributes
    ----------
    roster : Roster
        The nodes and streams.
    watch : Feedback
        Labels and drift.
    decided : Counter of (str, str)
        Decisions by reason and label, empty for none.

    Raises
    ------
    ValueError
        If the bindings have no node for a channel of the procedure.
    """

    def __init__(
        self,
        procedure: Procedure,
        bindings: Bindings,
        options: Options | None = None,
        load: Callable[[str], Procedure] | None = None,
    ) -> None:
        self.options = Options() if options is None else options
        self.roster = Roster(procedure, bindings, self.options)
        self.feedback = Feedback(procedure, self.options)
        self.decided: Counter[tuple[str, str]] = Counter()
        self._counters = Counter(dict.fromkeys(COUNTERS, 0))
        self._energy = EnergyAccount(self.options.profile)
        self._gone = NOTHING  # of nodes that were forgotten
        self._load = load
        expires = self.options.expire_after is not None and bindings.discovers
        self._expiry_step = (self.options.expire_after or 0.0) / EXPIRY_CHECKS if expires else inf
        self._expired_at = 0.0  # arrival of the record before which it was last looked
        self._effects = Effects()
        self._intake = Intake(self.roster, self._energy, self._meet, self.options.max_payload)
        self._labels = f"{self.options.prefix}/label/"
        self._commands = f"{self.options.prefix}/command/{self.options.name}"

    @property
    def procedure(self) -> Procedure:
        """What new episodes follow."""
        return self.roster.newest.procedure

    @property
    def configuration(self) -> bytes:
        """The bindings and options, for the record of a start."""
        return described(self.roster.bindings, self.options)

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics to subscribe to."""
        return (*self.roster.routes.topics, f"{self._labels}+", self._commands)

    @property
    def waits_for_time(self) -> bool:
        """Whether anything would come of event time that runs on without a reading."""
        roster, options = self.roster, self.options
        timed = (options.reopen_after, options.expire_after)
        return bool(roster.joiner.n_pending or roster.n_undecided) or timed != (None, None)

    @property
    def unit(self) -> str:
        """What the nodes' energy is counted in."""
        return self._energy.profile.unit

    def marks(self) -> list[Mark]:
        """The highest sequence number of each channel of each node that numbers its messages."""
        roster = self.roster
        return [
            (roster.name(node), channel, sequence, newest)
            for node, channel, sequence, newest in roster.joiner.marks()
            if roster.name(node)
        ]

    @property
    def spent(self) -> Spent:
        """What the nodes have spent."""
        return self._energy.spent(self.roster.nodes, self.roster.joiner.nodes, self._gone)

    @property
    def joules(self) -> float:
        """The same in joules, or whatever the unit is."""
        return float(self.roster.joiner.nodes["joules"].sum()) + self._gone.joules

    @property
    def counters(self) -> Counter[str]:
        """What was counted, in all parts."""
        counters = Counter(self._counters)
        of_parts = (
            self._intake.counters,
            self.roster.joiner.counters,
            self.feedback.counters,
            self.roster.retired,
        )
        for part in (*of_parts, *(model.engine.counters for model in self.roster.models)):
            counters.update(part)
        classifiers = (model.procedure.classifier for model in self.roster.models)
        counters["classifier_failures"] = sum(getattr(c, "n_failures", 0) for c in classifiers)
        return counters

    def take(self, records: Iterable[Record]) -> Effects:
        """Let records have their effects, in order."""
        for record in records:
            if record.kind != MESSAGE:
                self._feed()
                self._obey(record)
            elif record.topic.startswith(self._labels) or record.topic == self._commands:
                self._feed()
                self._hear(record)
            else:
                if abs(record.arrival - self._expired_at) >= self._expiry_step:
                    self._expire(record.arrival)
                self._intake.add(record)
                if self._intake.n_samples >= FED_AT_ONCE:
                    self._feed()
        self._feed()
        return self._take_effects()

    def finish(self) -> Effects:
        """Emit what waits, and close every stream that is not decided."""
        for tick in self.roster.joiner.flush():
            self._tick(tick)
        for model in self.roster.models:
            for row in model.engine.rows(WAITING, OPEN).tolist():
                self._close(model, model.engine.name(row))
        self._effects.energy += self._energy.totals(self.spent)
        return self._take_effects()

    def to_state(self) -> Callable[[], bytes]:
        """Copy the whole state, and return what packs it, in whatever thread."""
        header, arrays = self.roster.to_state()
        header |= {
            "counters": dict(self._counters),
            "intake": dict(self._intake.counters),
            "watch": [dict(self.feedback.counters), dict(self.feedback.alerts)],
            "decided": [[*what, n] for what, n in self.decided.items()],
            "expired_at": self._expired_at,
            "gone": list(self._gone),
            "configuration": self.configuration.decode(),
        }
        classifiers = [model.procedure.classifier for model in self.roster.models]
        sealed = {f"river{i}": c.dump() for i, c in enumerate(classifiers) if hasattr(c, "dump")}
        sealed["drift"] = self.feedback.to_state()
        return lambda: container.pack(KIND, VERSION, header, arrays, **sealed)

    @classmethod
    def from_state(
        cls,
        snapshot: bytes,
        load: Callable[[str], Procedure],
        bindings: Bindings | None = None,
        options: Options | None = None,
    ) -> Self:
        """Go on from a snapshot.

        Parameters
        ----------
        snapshot : bytes
            What `to_state` has packed.
        load : callable
            Gives the procedure of a digest.
        bindings, options : Bindings and Options, optional
            By default those that it was taken with.

        Raises
        ------
        ModelError
            If it is damaged, was taken under other versions of the features, or with bindings that cannot be
            kept where none are given.
        """
        header, arrays, sealed = container.unpack(snapshot, KIND, VERSION, "the snapshot")
        procedures = [load(model["procedure"]) for model in header["lanes"]]
        if bindings is None:
            if not header["configuration"]:
                raise UndescribedError("the snapshot does not have the bindings that it was taken with")
            bindings, options = understood(header["configuration"].encode(), procedures[-1].channels)
        for i, procedure in enumerate(procedures):
            if f"river{i}" in sealed:
                procedure.classifier.restore(sealed[f"river{i}"])  # type: ignore[attr-defined]
        core = cls(procedures[-1], bindings, options, load)
        core.roster.restore(procedures, header, arrays)
        core._counters = Counter(header["counters"])
        core._intake.counters = Counter(header["intake"])
        core.feedback.counters, core.feedback.alerts = (Counter(part) for part in header["watch"])
        core.feedback.restore(sealed["drift"])
        core.decided = Counter({(reason, label): n for reason, label, n in header["decided"]})
        core._expired_at = header["expired_at"]
        core._gone = Account(*header["gone"])
        return core

    def _take_effects(self) -> Effects:
        effects, self._effects = self._effects, Effects()
        effects.rejected, self._intake.rejected = self._intake.rejected, []
        return effects

    def _feed(self) -> None:
        """Give the joiner what the intake has, and let each tick happen where it falls due."""
        readings = self._intake.readings()
        while self.roster.joiner.take(readings):
            self._advance()

    def _obey(self, record: Record) -> None:
        """Begin a run, let time pass, or another model come."""
        if record.kind == CLOCK:
            self._advance(_WATERMARK.unpack(record.payload)[0])
            if abs(record.arrival - self._expired_at) >= self._expiry_step:
                self._expire(record.arrival)
        elif record.kind == MODEL:
            self._follow(record.topic)
        elif record.kind == START:
            self._follow(record.topic)
            self._counters["unbound_streams"] += self.roster.admit_bound()
            self._effects.publications += self.roster.update_all()
            if not self.roster.bindings.discovers:
                self._forget_unused()
            self._intake.forget_targets()
        else:
            raise ValueError(f"record has kind {record.kind}, expected {MESSAGE}, {CLOCK}, {MODEL} or {START}")

    def _follow(self, digest: str) -> None:
        if digest == self.procedure.digest:
            return
        if self._load is None:
            raise ModelError(f"there is no model {digest}")
        procedure = self._load(digest)
        self._effects.publications += self.roster.follow(procedure)
        self.feedback.begin(procedure)
        self._intake.forget_targets()
        self._counters["models"] += 1

    def _advance(self, watermark: float | None = None) -> None:
        """Let the ticks happen that the watermark has passed, and with each what depends on time."""
        joiner = self.roster.joiner
        seen = None
        for tick in joiner.ticks(watermark):
            self._tick(tick)
            seen = tick * joiner.timing.period
            self._let_pass(seen)
        now = joiner.now
        if now is None:
            return
        if now != seen:  # there was no tick, or the grid has jumped
            self._let_pass(now)
        self._effects.publications += self.roster.renew(now)

    def _let_pass(self, now: float) -> None:
        """Do what depends on time."""
        for model in tuple(self.roster.models):
            self._settle(model, model.engine.expire(now))
        if self.options.reopen_after is not None:
            self._reopen(self.roster.newest.due_again(now - self.options.reopen_after))

    def _tick(self, tick: int) -> None:
        for model in tuple(self.roster.models):
            decisions, released = model.tick(self.roster.joiner, tick)
            for slots in released:
                self.roster.release(slots)
            self._settle(model, decisions)
            for slots in released:
                self._effects.publications += self.roster.update(self.roster.nodes_of(slots))

    def _settle(self, model: ModelStreams, decisions: Sequence[Decision]) -> None:
        """Announce decisions; their streams' next episodes follow the newest model."""
        for decision in decisions:
            stream = decision.stream
            row = model.engine.row(stream)
            self._announce(decision, model.slots_of(row), model.asked_slots_of(row))
            values = model.engine.values(stream)
            self._effects.publications += self.feedback.decided(model.procedure, decision, values)
            if model is not self.roster.newest:
                self.roster.move(stream, model)
                self.roster.drop_empty()

    def _announce(self, decision: Decision, slots: list[int], asked: set[int]) -> None:
        """Tell the world, the energy, and the stream's nodes: what no other stream needs is sent no more.

        Of the stream's slots, these were asked for to the end.
        """
        roster, effects = self.roster, self._effects
        topic = f"{self.options.prefix}/decision/{decision.stream}"
        nodes = roster.nodes_of(slots)
        self.decided[decision.reason, decision.label or ""] += 1
        effects.decisions.append(decision)
        effects.publications.append(Publication(topic, encode_decision(decision)))
        effects.energy.append(self._energy.decision(decision, roster.joiner.nodes[nodes]))
        roster.release(asked)
        effects.publications += roster.update(nodes)

    def _meet(self, name: str) -> int:
        """The number of a node; a new one, where every node that is heard is a stream."""
        if name in self.roster.nodes:
            return self.roster.nodes[name]
        if not self.roster.bindings.discovers:  # it is bound by name, from the next start on
            return NONE
        self._feed()
        if self.roster.n_streams >= self.options.max_streams:
            if not self.options.evicts:
                return NONE
            self._evict()
        self.roster.admit(name)
        self._effects.publications += self.roster.update([self.roster.nodes[name]])
        return self.roster.nodes[name]

    def _expire(self, arrival: float) -> None:
        """Forget the streams that were not heard for too long: between messages, since their nodes' numbers go."""
        self._feed()
        self._expired_at = arrival
        now, heard = self.roster.joiner.now, self.roster.joiner.nodes["heard"]
        if now is None:
            return
        before = now - (self.options.expire_after or 0.0)
        for name in [name for name, node in self.roster.nodes.items() if not heard[node] >= before]:
            self._forget(name)
            topic = f"{self.options.prefix}/control/{name}"
            self._effects.publications.append(Publication(topic, b""))  # else it would stay silent for ever
            self._counters["expired"] += 1

    def _evict(self) -> None:
        """Make room: forget the streams that were heard longest ago."""
        heard = self.roster.joiner.nodes["heard"]
        eldest = sorted(self.roster.nodes, key=lambda name: _age(heard[self.roster.nodes[name]]))
        for name in eldest[: max(1, len(eldest) // EVICTED_AT_ONCE)]:
            self._forget(name)
            self._counters["evicted"] += 1

    def _forget(self, stream: str) -> None:
        """Close the stream of a node that nobody has named, and forget both."""
        model = self.roster.model_of(stream)
        if model is not None:
            self._close(model, stream)
            self.roster.drop_empty()
        self._settle_account(stream)
        self.roster.forget_node(stream)
        self._intake.forget_targets()

    def _forget_unused(self) -> None:
        """Forget the nodes that feed no stream any more."""
        for name in self.roster.unused():
            self._settle_account(name)
            self.roster.forget_node(name)

    def _settle_account(self, node: str) -> None:
        """Keep what a node has spent that is about to be forgotten."""
        spent = self._energy.spent({node: self.roster.nodes[node]}, self.roster.joiner.nodes)
        for account in spent.nodes.values():
            messages, n_bytes, joules = self._gone
            self._gone = Account(messages + account.messages, n_bytes + account.bytes, joules + account.joules)
            self._effects.energy.append(self._energy.node(node, account))

    def _close(self, model: ModelStreams, stream: str) -> None:
        row, episode = model.engine.row(stream), model.engine.episode(stream)
        slots, asked = model.slots_of(row), model.asked_slots_of(row)
        decision = model.engine.close(stream)
        self.roster.newest.engine.remember(stream, episode)
        if decision is not None:
            self._announce(decision, slots, asked)

    def _reopen(self, streams: Iterable[str]) -> None:
        for stream in streams:
            self._effects.publications += self.roster.reopen(stream)
            self._counters["reopened"] += 1

    def _hear(self, record: Record) -> None:
        """Take what people say: a label, or a command."""
        try:
            if record.topic == self._commands:
                self._command(record)
            else:
                stream = record.topic.removeprefix(self._labels)
                model = self.roster.model_of(stream)
                engine = None if model is None else model.engine
                self._effects.publications += self.feedback.labelled(engine, stream, record)
        except PayloadError as error:
            self._intake.reject(record, error)

    def _command(self, record: Record) -> None:
        """Obey a command: ``{"reopen": "desk"}``, with ``"*"`` for all decided streams."""
        try:
            stream = _reopened(record.payload)
        except PayloadError:
            self._counters["unknown_commands"] += 1
            raise
        engine = self.roster.newest.engine
        names = [engine.name(row) for row in engine.rows(DECIDED).tolist()]
        self._counters["commands"] += 1
        self._reopen(name for name in names if stream in ("*", name))


def _age(heard: float) -> float:
    """What streams are ordered by where the eldest give way: those that were never heard first."""
    return heard if heard == heard else float("-inf")  # noqa: PLR0124 - only NaN differs from itself


def _reopened(payload: bytes) -> str:
    try:
        command = orjson.loads(payload)
    except orjson.JSONDecodeError:
        command = None
    stream = command.get("reopen") if isinstance(command, dict) and len(command) == 1 else None
    if not isinstance(stream, str):
        raise PayloadError(f'command is {payload[:40]!r}, expected {{"reopen": "stream"}}, or "*" for all')
    return stream

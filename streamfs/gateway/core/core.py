"""The gateway without clock, threads, network and disk: the effects of messages, time and models on streams.

The same records in the same order always have the same effects, however they are divided: a gateway that has died
can continue from a snapshot and the records since.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Self

import orjson

from streamfs.base import container
from streamfs.base.counters import summed
from streamfs.costs.energy_meter import Account
from streamfs.errors import ModelError, PayloadError
from streamfs.gateway.core._waiting import NONE
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.conduct import Conduct
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.energy_account import EnergyAccount, Spent
from streamfs.gateway.core.episodes import Episodes
from streamfs.gateway.core.feedback import Feedback
from streamfs.gateway.core.guard_topics import GuardTopics
from streamfs.gateway.core.intake import Intake
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.left_out import Counts, left_out
from streamfs.gateway.core.membership import Membership
from streamfs.gateway.core.node_clocks import NodeClock, clocks_astray
from streamfs.gateway.core.numbering import Numbering, numbering
from streamfs.gateway.core.options import PREVIOUS, RAISE, RECERTIFY, SAFE, Options
from streamfs.gateway.core.records import (
    CAME,
    CLOCK,
    LEFT,
    MESSAGE,
    MODEL,
    RETAINED,
    SETTINGS,
    START,
    STOP,
    Mark,
    Record,
)
from streamfs.gateway.core.replay_configuration import described, understood
from streamfs.gateway.core.roster import Roster, ZoneMembers
from streamfs.gateway.core.timing import Timing
from streamfs.gateway.core.unheard import Unheard, unheard
from streamfs.gateway.core.wishes import Wishes
from streamfs.gateway.core.zone_parcel import Parts, adopt_zone, drop_zone, members_of, named_members, pack_zone
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.messages.senders import MARK
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.promise_monitor import raised

KIND, VERSION = "gateway", 12

COUNTERS = ("evicted", "expired", "reopened", "models", "commands", "unknown_commands", "unbound_streams")

_SMALL = 10**5  # bytes of arrays that are not compressed, which takes longer than to write them

FED_AT_ONCE = 250_000
"""Samples that are unpacked together, and those of one more message."""


class UndescribedError(ModelError):
    """A snapshot was taken with bindings that cannot be written."""


class Core:
    """Run a procedure on the streams that are bound, or on every node that publishes.

    `load` returns the procedure with a digest, for records of other models; without it they are refused.
    """

    def __init__(
        self,
        procedure: Procedure,
        bindings: Bindings,
        options: Options | None = None,
        load: Callable[[str], Procedure] | None = None,
    ) -> None:
        self.options = options = Options() if options is None else options
        bindings = bindings.with_channels(procedure.channels)
        timing = Timing.of(options, procedure)
        self.joiner = Joiner(bindings.node_channels, bindings.channels, timing, options.limits.pending)
        self.roster = Roster(procedure, bindings, self.joiner, options)
        self.feedback = Feedback(procedure, options)
        self._load = load
        self._effects = Effects()
        self._counters = counters = Counter(dict.fromkeys(COUNTERS, 0))
        self._energy = EnergyAccount(options.profile, timing.period)
        self._intake = Intake(self.roster, self.joiner, self._energy, self._node_of, options)
        parts = self.roster, self.joiner, self._energy
        self._episodes = Episodes(*parts, self.feedback, options, self._effects, counters)
        self._membership = Membership(*parts, self._episodes, self._intake, options, self._effects, counters)
        shared = GuardTopics.of(options.prefix, options.name)
        self.conduct = Conduct(
            bindings.devices,
            timing.period,
            procedure.max_silence,
            options.devices,
            shared,
            self._energy.hearing,
        )
        self._wishes = Wishes(self.conduct, self.roster, self._effects, f"{options.prefix}/control/")
        self._labels = f"{options.prefix}/label/"
        self._commands = f"{options.prefix}/command/{options.name}"

    def has_feedback(self, topic: str) -> bool:
        """Return whether a topic has labels or commands, whatever sources read it."""
        return topic.startswith(self._labels) or topic == self._commands

    @property
    def procedure(self) -> Procedure:
        """The model of new episodes."""
        return self.roster.newest.procedure

    @cached_property
    def configuration(self) -> bytes:
        """The bindings and options, for the record of a start; the channels of the models are not in it."""
        return described(self.roster.bindings, self.options)

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics to subscribe to."""
        return (*self.roster.routes.topics, *self.conduct.topics, f"{self._labels}+", self._commands)

    @property
    def unit(self) -> str:
        """Unit of the nodes' energy."""
        return self._energy.profile.unit

    @property
    def decided(self) -> Counter[tuple[str, str]]:
        """Decisions by reason and label, empty for none."""
        return self._episodes.decided

    @property
    def spent(self) -> Spent:
        """What the nodes have spent."""
        return self._membership.spent

    @property
    def joules(self) -> float:
        """The sum of it, in `unit`."""
        return self._membership.joules

    @property
    def counters(self) -> Counter[str]:
        """The counters of all parts."""
        parts = (
            self._counters,
            self._intake.counters,
            self.conduct.counters,
            self.joiner.counters,
            self.feedback.counters,
            self.roster.retired,
        )
        counters = summed((*parts, *(model.counters for model in self.roster.models)))
        classifiers = (model.procedure.classifier for model in self.roster.models)
        counters["classifier_failures"] = sum(classifier.n_failures for classifier in classifiers)
        return counters

    @property
    def orphans(self) -> Mapping[str, int]:
        """Messages that feed no stream since the start, by topic, of `MAX_ORPHANS` topics at most."""
        return self._intake.orphans

    @property
    def batteries(self) -> Mapping[int, float]:
        """What nodes, by their numbers, say of their batteries, in units of their own, since the start."""
        return self._intake.batteries

    @property
    def models_in_use(self) -> tuple[str, ...]:
        """Digests of the models that streams follow, and of the one that may be gone back to."""
        previous = self.feedback.previous
        return (*self.roster.n_open, *(() if previous is None else (previous,)))

    def successor(self) -> Procedure | None:
        """Return the model to follow by the options once the newest one's promise is withdrawn; else None."""
        if not self.feedback.is_withdrawn:
            return None
        options, current = self.options.promise, self.procedure
        if options.on_withdrawal in (RAISE, RECERTIFY):
            return raised(current, options.raised_to if options.on_withdrawal == RAISE else 1.0)
        if options.on_withdrawal != PREVIOUS or self._load is None or self.feedback.previous is None:
            return None
        return self._load(self.feedback.previous)

    def has_come(self, record: Record, *, is_known: bool = False) -> bool:
        """Return whether a message has nothing but readings that have come before; it changes nothing.

        Of one that `is_known` byte for byte, a number without a stamp has come, even if it may have begun anew.
        """
        return self._intake.has_come(record, is_known=is_known)

    def clocks_astray(self, now: float) -> list[NodeClock]:
        """Return the nodes whose clocks are wrong, the worst first, at a time in seconds since 1970."""
        return clocks_astray(self.joiner.nodes, self.roster.name, now)

    def left_out(self) -> Counts:
        """Return the readings of each node, and those that were left out; see `left_out`."""
        return left_out(self.joiner.nodes)

    def numbering(self) -> Numbering:
        """Return the newest numbers of what nodes have sent."""
        return numbering(self.joiner.slots, len(self.joiner.nodes), len(self.joiner.channels))

    def unheard(self) -> Unheard:
        """Return the nodes that have never sent a channel that undecided streams use."""
        return unheard(self.joiner, self.roster.control.is_used, self.roster.name)

    def control_states(self) -> list[Publication]:
        """Return the control message of every node, but not of devices, which know none."""
        return self._wishes.of_others(self.roster.control_states())

    def marks(self) -> list[Mark]:
        """Return the highest sequence number of each channel of each node that numbers its messages."""
        return [
            (self.roster.name(node), channel, sequence, newest)
            for node, channel, sequence, newest in self.joiner.marks()
            if self.roster.name(node)
        ]

    @property
    def waits_for_time(self) -> bool:
        """Whether silence has any effect."""
        timed = (self.options.streams.reopen_after, self.options.streams.expire_after)
        return bool(self.roster.n_undecided) or timed != (None, None)

    def take(self, records: Iterable[Record]) -> Effects:
        """Process records, in order, and return their effects."""
        asks = self.conduct.asks
        for record in records:
            if record.kind != MESSAGE:
                self._feed()
                self._take_control(record)
            elif self.has_feedback(record.topic):
                self._feed()
                self._take_feedback(record)
            elif asks and MARK not in record.topic and self.conduct.listens(record.topic):
                self._feed()
                self._wishes.note()
                self._effects.publications += self.conduct.receive(record.topic, record.payload, record.arrival)
                if self._has_readings(record):
                    self._take_message(record)
            else:
                self._take_message(record)
        self._feed()
        return self._take_effects()

    def _has_readings(self, record: Record) -> bool:
        """Return whether an answer has readings, too, that do not come by the nodes which its payload names."""
        routes, topic = self.roster.routes, record.topic
        if routes.route(topic) is None:
            return False
        return not routes.has_senders or routes.addressed(topic, record.payload)[0].topic == topic

    def _take_message(self, record: Record) -> None:
        """Take the readings of a message, and ask the device that has sent it."""
        self._intake.add(record)
        if self._intake.heard:
            self._feed()
            heard, self._intake.heard = self._intake.heard, []
            self._wishes.attend(heard, record.arrival)
        if self._intake.n_samples >= FED_AT_ONCE:
            self._feed()

    def finish(self) -> Effects:
        """Process the readings that wait, close every undecided stream, and add the totals of energy."""
        self._episodes.finish()
        self._effects.energy += self._energy.totals(self.spent, self.conduct.hearing.paid)
        return self._take_effects()

    def to_state(self, *, compress: bool = True) -> Callable[[], bytes]:
        """Copy the state, and return a function that packs it, from any thread."""
        header, arrays = self.roster.to_state()
        header |= {
            "counters": dict(self._counters),
            "intake": dict(self._intake.counters),
            "repeated": self._intake.repeated.to_state(),
            "conduct": self.conduct.to_state(),
            "aliases": [[name, [*of.items()]] for name, of in self._intake.aliases.items()],
            "feedback": [dict(self.feedback.counters), dict(self.feedback.alerts)],
            "decided": [[*what, n] for what, n in self.decided.items()],
            "expired_at": self._membership.checked_at,
            "gone": list(self._membership.gone),
            "evictions": list(self._membership.evictions),
            "configuration": self.configuration.decode(),
        }
        classifiers = [model.procedure.classifier for model in self.roster.models]
        sealed = {f"river{i}": kept for i, c in enumerate(classifiers) if (kept := c.dump()) is not None}
        sealed |= self.feedback.to_state()
        compress = compress and sum(array.nbytes for array in arrays.values()) > _SMALL
        return lambda: container.pack(KIND, VERSION, header, arrays, compress=compress, **sealed)

    @classmethod
    def from_state(
        cls,
        snapshot: bytes,
        load: Callable[[str], Procedure],
        bindings: Bindings | None = None,
        options: Options | None = None,
    ) -> Self:
        """Restore a snapshot, by default with its own bindings and options.

        `load` returns the procedure with a digest. A ModelError says that the snapshot is damaged, was taken under
        other versions of the features, or lacks bindings.
        """
        header, arrays, sealed = container.unpack(snapshot, KIND, VERSION, "the snapshot")
        procedures = [load(model["procedure"]) for model in header["models"]]
        if bindings is None:
            if not header["configuration"]:
                raise UndescribedError("the snapshot does not have the bindings that it was taken with")
            bindings, options = understood(header["configuration"].encode(), procedures[-1].channels)
        for i, procedure in enumerate(procedures):
            if f"river{i}" in sealed:
                procedure.classifier.restore(sealed[f"river{i}"])
        core = cls(procedures[-1], bindings, options, load)
        core.roster.restore(procedures, header, arrays)
        core._counters.clear()
        core._counters.update(header["counters"])
        core._intake.counters = Counter(header["intake"])
        core._intake.repeated.restore(header["repeated"])
        core.conduct.restore(header["conduct"])
        core._intake.aliases = {name: dict(of) for name, of in header["aliases"]}
        core.feedback.counters, core.feedback.alerts = (Counter(part) for part in header["feedback"])
        core.feedback.restore(sealed)
        core.decided.update({(reason, label): n for reason, label, n in header["decided"]})
        core._membership.checked_at = header["expired_at"]
        core._membership.gone = Account(*header["gone"])
        since, n_evicted = header["evictions"]
        core._membership.evictions = since, n_evicted
        core._episodes.let_rest()
        return core

    def members_of(self, name: str) -> tuple[str, ZoneMembers]:
        """Return the zone of a stream or node, and its members; raise a ValueError if there is none."""
        return members_of(self.roster, name)

    def packed_zone(self, zone: str, members: ZoneMembers) -> bytes:
        """Return what is held of a zone, for a record that lets another core go on with it."""
        self._feed()
        return pack_zone(self._parts, zone, members)

    def reconfigured(self, bindings: Bindings, options: Options) -> "Core":
        """Return the core that goes on with other bindings and options; take a record of kind `SETTINGS` next.

        Raise a ValueError if the bindings have no node for a channel that a model in use reads.
        """
        bindings.with_channels(self.roster.routes.channels)
        live = {model.procedure.digest: model.procedure for model in self.roster.models}
        core = Core.from_state(self.to_state()(), live.__getitem__, bindings, options)
        core._load = self._load  # noqa: SLF001 - another of this class
        return core

    def _take_effects(self) -> Effects:
        self._wishes.set_aside()
        self._effects.rejected, self._intake.rejected = self._intake.rejected, []
        return self._effects.take()

    def _feed(self) -> None:
        """Pass the intake's readings to the joiner, and process the ticks that fall due."""
        readings = self._intake.readings()
        if not readings.is_empty:
            self._episodes.advance(self.joiner.take(readings))

    def _take_control(self, record: Record) -> None:
        """Process a record that is not a message."""
        if record.kind == CLOCK:
            self._episodes.advance(self.joiner.let_time_pass(record.arrival))
            self._effects.publications += self.roster.renew(record.arrival)
            self._membership.expire(record.arrival)
            self._wishes.note()
            self._effects.publications += self.conduct.let_time_pass(record.arrival)
        elif record.kind == RETAINED:
            self.conduct.receive_state(record.topic, record.payload, record.arrival)
        elif record.kind == STOP:
            self._wishes.note()
            self._effects.publications += self.conduct.release(record.arrival)
        elif record.kind == MODEL:
            self._follow(record.topic)
        elif record.kind == START:
            self._membership.resume(record.arrival)
            self.roster.control.begin(record.arrival)
            self._begin(record.topic)
            self._wishes.note_all()
        elif record.kind == SETTINGS:
            self._begin(record.topic)
        elif record.kind == LEFT:
            self._let_leave(named_members(record.payload))
        elif record.kind == CAME:
            adopt_zone(self._parts, record.payload)
        else:
            raise ValueError(f"record has kind {record.kind}, expected one from {MESSAGE} to {CAME}")

    @property
    def _parts(self) -> Parts:
        return Parts(self.roster, self._intake)

    def _let_leave(self, members: ZoneMembers) -> None:
        """Forget a zone that another gateway serves from now on; it asks the devices anew."""
        for node in members.nodes:
            self._effects.publications += self.conduct.forget(node)
        drop_zone(self._parts, members)

    def _begin(self, digest: str) -> None:
        """Follow a model, and feed its streams as they are bound now."""
        self._follow(digest)
        released = self.roster.admit_bound()
        self._counters["unbound_streams"] += len(released)
        self._membership.forget_streams(name for name in released if self.roster.model_of(name) is None)
        self._effects.publications += self.roster.update_all()
        if not self.roster.bindings.discovers:
            self._membership.forget_unused()
        self._intake.forget_targets()

    def _be_wary(self) -> None:
        """Let devices that rest report at their safe interval while a promise is withdrawn, if so is set."""
        is_wary = self.feedback.is_withdrawn and self.options.devices.on_withdrawal == SAFE
        if is_wary != self.conduct.is_wary:
            self.conduct.is_wary = is_wary
            self._wishes.note_all()

    def _follow(self, digest: str) -> None:
        if digest == self.procedure.digest:
            return
        if self._load is None:
            raise ModelError(f"there is no model {digest}")
        procedure = self._load(digest)
        self._effects.publications += self.roster.follow(procedure)
        self._effects.publications += self.feedback.begin(procedure)
        self.conduct.follow(procedure.period, procedure.max_silence)
        self._be_wary()
        self._intake.forget_targets()
        self._intake.orphans.clear()
        self._counters["models"] += 1

    def _take_feedback(self, record: Record) -> None:
        """Process a label or a command."""
        try:
            if record.topic == self._commands:
                self._command(record)
            else:
                stream = record.topic.removeprefix(self._labels)
                model = self.roster.model_of(stream)
                self._effects.publications += self.feedback.labelled(model, stream, record)
                self._be_wary()
        except PayloadError as error:
            self._intake.reject(record, error, "command" if record.topic == self._commands else "label")

    def _command(self, record: Record) -> None:
        """Execute a command: ``{"reopen": "desk"}``, with ``"*"`` for all decided streams."""
        try:
            stream = _reopened(record.payload)
        except PayloadError:
            self._counters["unknown_commands"] += 1
            raise
        self._counters["commands"] += 1
        self._episodes.reopen(name for name in self.roster.newest.decided if stream in ("*", name))

    def _node_of(self, name: str, now: float) -> int:
        """Return the number of a node, which is admitted if it is new and streams are discovered; else NONE."""
        if name in self.roster.nodes:
            return self.roster.nodes[name]
        if not self.roster.bindings.discovers:  # it is bound by name, from the next start on
            return NONE
        self._feed()
        return self._membership.admit(name, now)


def _reopened(payload: bytes) -> str:
    try:
        command = orjson.loads(payload)
    except orjson.JSONDecodeError:
        command = None
    stream = command.get("reopen") if isinstance(command, dict) and len(command) == 1 else None
    if not isinstance(stream, str):
        raise PayloadError(f'command is {payload[:40]!r}, expected {{"reopen": "stream"}}, or "*" for all')
    return stream

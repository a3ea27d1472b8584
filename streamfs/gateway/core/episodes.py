"""Episodes of streams, from tick to decision: the one place where event time has effects."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.energy_account import EnergyAccount
from streamfs.gateway.core.feedback import Feedback
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.messages.codecs import encode_decision
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision


@dataclass(eq=False)
class Episodes:
    """Run episodes: ticks, timeouts and closing end them, ``reopen_after`` and commands begin the next."""

    roster: Roster
    joiner: Joiner
    energy: EnergyAccount
    feedback: Feedback
    options: Options
    effects: Effects
    counters: Counter[str]
    decided: Counter[tuple[str, str]] = field(default_factory=Counter)

    def advance(self, watermark: float | None = None) -> None:
        """Process the ticks before the watermark, in seconds, and what is due by then; renew control messages."""
        seen = None
        for tick in self.joiner.ticks(watermark):
            self._tick(tick)
            seen = tick * self.joiner.timing.period
            self._pass_time(seen)
        now = self.joiner.now
        if now is None:
            return
        if now != seen:  # there was no tick, or the grid has jumped
            self._pass_time(now)
        self.effects.publications += self.roster.renew(now)

    def finish(self) -> None:
        """Process the ticks that are left, and close every undecided stream."""
        for tick in self.joiner.flush():
            self._tick(tick)
        for model in self.roster.models:
            for stream in model.undecided:
                self.close(model, stream)

    def close(self, model: ModelStreams, stream: str) -> None:
        """Remove a stream, announcing a decision if it was undecided."""
        episode, slots, requested = (
            model.engine.episode(stream),
            model.slots_of(stream),
            model.requested_slots_of(stream),
        )
        decision = model.engine.close(stream)
        self.roster.newest.engine.remember(stream, episode)
        if decision is not None:
            self._announce(decision, slots, requested)

    def reopen(self, streams: Iterable[str]) -> None:
        """Let decided streams wait for their next episodes."""
        for stream in streams:
            self.effects.publications += self.roster.reopen(stream)
            self.counters["reopened"] += 1

    def _tick(self, tick: int) -> None:
        for model in tuple(self.roster.models):
            decisions, released = model.tick(self.joiner, tick)
            for slots in released:
                self.roster.control.release(slots)
            self._settle(model, decisions)
            for slots in released:
                self.effects.publications += self.roster.update(self.roster.nodes_of(slots))

    def _pass_time(self, now: float) -> None:
        for model in tuple(self.roster.models):
            self._settle(model, model.engine.expire(now))
        if self.options.streams.reopen_after is not None:
            self.reopen(self.roster.newest.decided_by(now - self.options.streams.reopen_after))

    def _settle(self, model: ModelStreams, decisions: Sequence[Decision]) -> None:
        """Announce decisions, and move their streams to the newest model."""
        for decision in decisions:
            stream = decision.stream
            self._announce(decision, model.slots_of(stream), model.requested_slots_of(stream))
            values = model.engine.values(stream)
            self.effects.publications += self.feedback.decided(model.procedure, decision, values)
            if model is not self.roster.newest:
                self.roster.move(stream, model)
                self.roster.drop_empty()

    def _announce(self, decision: Decision, slots: list[int], requested: set[int]) -> None:
        """Publish a decision, account for it, and release the slots that its stream still requested."""
        effects, nodes = self.effects, self.roster.nodes_of(slots)
        self.decided[decision.reason, decision.label or ""] += 1
        effects.decisions.append(decision)
        topic = f"{self.options.prefix}/decision/{decision.stream}"
        effects.publications.append(Publication(topic, encode_decision(decision)))
        effects.energy.append(self.energy.decision(decision, self.joiner.nodes[nodes]))
        self.roster.control.release(requested)
        effects.publications += self.roster.update(nodes)

"""Episodes of streams, from tick to decision: the one place where event time has effects."""

from collections import Counter
from collections.abc import Iterable, Sequence

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


class Episodes:
    """Run episodes: ticks, timeouts and closing end them, ``reopen_after`` and commands begin the next."""

    def __init__(
        self,
        roster: Roster,
        joiner: Joiner,
        energy: EnergyAccount,
        feedback: Feedback,
        options: Options,
        effects: Effects,
        counters: Counter[str],
    ) -> None:
        self.decided: Counter[tuple[str, str]] = Counter()
        self._roster = roster
        self._joiner = joiner
        self._energy = energy
        self._feedback = feedback
        self._prefix = options.prefix
        self._reopen_after = options.streams.reopen_after
        self._effects = effects
        self._counters = counters

    def advance(self, watermark: float | None = None) -> None:
        """Process the ticks before the watermark, in seconds, and what is due by then; renew control messages."""
        seen = None
        for tick in self._joiner.ticks(watermark):
            self._tick(tick)
            seen = tick * self._joiner.timing.period
            self._pass_time(seen)
        now = self._joiner.now
        if now is None:
            return
        if now != seen:  # there was no tick, or the grid has jumped
            self._pass_time(now)
        self._effects.publications += self._roster.renew(now)

    def finish(self) -> None:
        """Process the ticks that are left, and close every undecided stream."""
        for tick in self._joiner.flush():
            self._tick(tick)
        for model in self._roster.models:
            for stream in model.undecided:
                self.close(model, stream)

    def close(self, model: ModelStreams, stream: str) -> None:
        """Remove a stream, announcing a decision if it was undecided."""
        episode, slots, requested = model.episode(stream), model.slots_of(stream), model.requested_slots_of(stream)
        decision = model.close(stream)
        self._roster.newest.remember(stream, episode)
        if decision is not None:
            self._announce(decision, slots, requested)

    def reopen(self, streams: Iterable[str]) -> None:
        """Let decided streams wait for their next episodes."""
        for stream in streams:
            self._effects.publications += self._roster.reopen(stream)
            self._counters["reopened"] += 1

    def _tick(self, tick: int) -> None:
        for model in tuple(self._roster.models):
            decisions, released = model.tick(self._joiner, tick)
            for slots in released:
                self._roster.release(slots)
            self._settle(model, decisions)
            for slots in released:
                self._effects.publications += self._roster.update(self._roster.nodes_of(slots))

    def _pass_time(self, now: float) -> None:
        for model in tuple(self._roster.models):
            self._settle(model, model.expire(now))
        if self._reopen_after is not None:
            self.reopen(self._roster.newest.decided_by(now - self._reopen_after))

    def _settle(self, model: ModelStreams, decisions: Sequence[Decision]) -> None:
        """Announce decisions, and move their streams to the newest model."""
        for decision in decisions:
            stream = decision.stream
            self._announce(decision, model.slots_of(stream), model.requested_slots_of(stream))
            values = model.values(stream)
            self._effects.publications += self._feedback.decided(model.procedure, decision, values)
            if model is not self._roster.newest:
                self._roster.move(stream, model)
                self._roster.drop_empty()

    def _announce(self, decision: Decision, slots: list[int], requested: set[int]) -> None:
        """Publish a decision, account for it, and release the slots that its stream still requested."""
        effects, nodes = self._effects, self._roster.nodes_of(slots)
        self.decided[decision.reason, decision.label or ""] += 1
        effects.decisions.append(decision)
        topic = f"{self._prefix}/decision/{decision.stream}"
        effects.publications.append(Publication(topic, encode_decision(decision)))
        effects.energy.append(self._energy.decision(decision, self._joiner.nodes[nodes]))
        self._roster.release(requested)
        effects.publications += self._roster.update(nodes)

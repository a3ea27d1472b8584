"""Episodes of streams, from tick to decision: the one place where event time has effects."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.gateway.core._grid import AWAKE
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.energy_account import EnergyAccount
from streamfs.gateway.core.feedback import Feedback
from streamfs.gateway.core.joiner import Entries, Joiner
from streamfs.gateway.core.model_streams import ModelStreams, Pushed
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.messages.codecs import encode_decision
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision, Procedure

Places = npt.NDArray[np.int64]
Settling = list[tuple[int, Callable[[], None]]]
"""Effects on what streams share, each with the place of its entry."""


@dataclass(eq=False)
class Episodes:
    """Run episodes: ticks, timeouts and closing end them, ``reopen_after`` and commands begin the next.

    Entries are worked off together, since one stream does not concern another. What streams share (control
    messages, accounts, drift) is settled afterwards in the entries' order: effects do not depend on how records
    are divided.
    """

    roster: Roster
    joiner: Joiner
    energy: EnergyAccount
    feedback: Feedback
    options: Options
    effects: Effects
    counters: Counter[str]
    decided: Counter[tuple[str, str]] = field(default_factory=Counter)

    def advance(self, emitted: Iterable[Entries]) -> None:
        """Process the ticks of streams, in order."""
        for entries in emitted:
            for part in self._parts(entries):
                self._work_off(part)

    def finish(self) -> None:
        """Process the ticks that are left, and close every undecided stream."""
        self.advance(self.joiner.flush())
        for model in self.roster.models:
            for stream in model.undecided:
                self.close(model, stream)

    def close(self, model: ModelStreams, stream: str) -> None:
        """Remove a stream, announcing a decision if it was undecided."""
        episode, number = model.engine.episode(stream), model.number(stream)
        slots, requested = model.slots_of(stream), model.requested_slots_of(stream)
        decision = model.close(stream)
        self.roster.newest.engine.remember(stream, episode)
        self.joiner.remove_stream(number)
        if decision is not None:
            accounts = self.joiner.nodes[self.roster.nodes_of(slots)]
            spent = int(accounts["messages"].sum()), float(accounts["joules"].sum())
            self._announce(_in_time(decision, accounts["shift"].min()), "", slots, requested, spent)

    def reopen(self, streams: Iterable[str]) -> None:
        """Let decided streams wait for their next episodes."""
        for stream in streams:
            self._wake(stream)
            self._request(stream, self.joiner.next_tick(self.roster.newest.number(stream)))

    def let_rest(self) -> None:
        """Let the decided streams rest as the options say, which may have changed."""
        for model in self.roster.models:
            for stream in model.decided:
                self._let_rest(model, stream)

    def _parts(self, entries: Entries) -> Iterable[Entries]:
        """Cut entries, if what one stream requests may concern another's next tick."""
        if len(entries) == 1 or not any(model.engine.varies for model in self.roster.models):
            return (entries,)
        idle = np.logical_or.reduce([model.cannot_begin(entries) for model in self.roster.models])
        return _without_repetition(entries, idle)

    def _work_off(self, entries: Entries) -> None:
        settling: Settling = []
        places = entries.alternating
        while len(places):
            places = self._work_off_until_ends(entries, places, settling)
        if settling:
            settling.sort(key=itemgetter(0))
            for _, settle in settling:
                settle()
            self.roster.drop_empty()

    def _work_off_until_ends(self, entries: Entries, places: Places, settling: Settling) -> Places:
        """Work off entries up to the next end or begin of each stream's episode; return the places of the rest."""
        chosen = [(model, model.choose(entries, places)) for model in self.roster.models]
        turned = []  # places of ends and begins
        if len(chosen) > 1 or len(chosen[0][1].places) < len(places):
            turned += self._reopen_due(entries, places, settling)
        pushed = []
        for model, of_model in chosen:
            if len(of_model.places):
                result = model.push(of_model)
                if self.feedback.recorder is not None and model is self.roster.newest:
                    self.feedback.recorder.pushed(model, of_model, result.decisions)
                if result.decisions or result.changes:
                    pushed.append((model, result))
        if pushed:
            turned += self._settle_pushed(pushed, entries, settling)
        if not turned:
            return places[:0]
        left, streams = np.zeros(len(places), dtype=np.bool_), entries.ticks["stream"]
        for place in turned:
            left |= (places > place) & (streams[places] == streams[place])
        return places[left]

    def _reopen_due(self, entries: Entries, places: Places, settling: Settling) -> list[int]:
        """Let decided streams whose time has come wait for their next episode; return the places where it has."""
        ticks = entries.ticks[places]
        rest = self.joiner.streams["rest"][ticks["stream"]]
        due = np.flatnonzero((rest != AWAKE) & (ticks["tick"] >= rest))
        firsts = due[np.unique(ticks["stream"][due], return_index=True)[1]]
        for place, (tick, *_, number) in zip(places[firsts].tolist(), ticks[firsts].tolist(), strict=True):
            stream = self.roster.newest.name(number)
            self._wake(stream)
            settling.append((place, partial(self._request, stream, tick + 1)))
        reopened: list[int] = places[firsts].tolist()
        return reopened

    def _settle_pushed(
        self, pushed: Sequence[tuple[ModelStreams, Pushed]], entries: Entries, settling: Settling
    ) -> list[int]:
        """Let what was pushed have its effects; return the places of the samples that have ended episodes."""
        changes = [(place, model, change) for model, of_model in pushed for place, change in of_model.changes]
        ends = [(place, model, decision) for model, of_model in pushed for place, decision in of_model.decisions]
        ends.sort(key=itemgetter(0))  # streams get their rows in another model's engine in this order
        for place, model, change in changes:
            settling.append((place, partial(self.roster.control.release, change.released)))
            tick = int(entries.ticks["tick"][place]) + 1
            settling.append((place, partial(self.roster.use, model, change.number, change.opened, tick)))
        settling += [(place, self._end(model, decision, entries.ticks[place])) for place, model, decision in ends]
        settling += [(place, partial(self._update, change.slots)) for place, _, change in changes]
        return [place for place, *_ in ends]

    def _end(self, model: ModelStreams, decision: Decision, entry: np.void) -> Callable[[], None]:
        """Let a stream rest, of the newest model from now on; return what is to be settled."""
        stream, engine = decision.stream, model.engine
        slots, requested, values = model.slots_of(stream), model.requested_slots_of(stream), engine.values(stream)
        spent = int(entry["messages"]), float(entry["joules"])
        self._let_rest(model, stream)
        if model is not self.roster.newest:
            self.roster.move(stream, model)
        decision = _in_time(decision, entry["shift"])
        return partial(self._settle_end, model.procedure, decision, slots, requested, values, spent)

    def _settle_end(
        self,
        procedure: Procedure,
        decision: Decision,
        slots: list[int],
        requested: set[int],
        values: Array,
        spent: tuple[int, float],
    ) -> None:
        self._announce(*self.feedback.shown(procedure, decision), slots, requested, spent)
        self.effects.publications += self.feedback.decided(procedure, decision, values)

    def _let_rest(self, model: ModelStreams, stream: str) -> None:
        """Let a decided stream rest until its next episode may begin."""
        after, until = self.options.streams.reopen_after, None
        if after is not None:
            until = ceil(((model.decided_at(stream) or 0.0) + after) / self.joiner.timing.period - 1e-9)
        self.joiner.rest(model.number(stream), until)

    def _wake(self, stream: str) -> None:
        newest = self.roster.newest
        newest.engine.reopen(stream)
        self.joiner.wake(newest.number(stream))
        self.counters["reopened"] += 1

    def _request(self, stream: str, tick: int) -> None:
        """Request the channels of a stream whose next episode begins at a tick or later."""
        self.effects.publications += self.roster.request(stream, tick)

    def _update(self, slots: Iterable[int]) -> None:
        self.effects.publications += self.roster.update(self.roster.nodes_of(slots))

    def _announce(
        self,
        decision: Decision,
        mark: str,
        slots: list[int],
        requested: set[int],
        spent: tuple[int, float],
    ) -> None:
        """Publish a decision with its mark, account for it, and release what its stream still requested."""
        effects = self.effects
        self.decided[decision.reason, decision.label or ""] += 1
        effects.decisions.append(decision)
        topic = f"{self.options.prefix}/decision/{decision.stream}"
        effects.publications.append(Publication(topic, encode_decision(decision, mark)))
        effects.energy.append(self.energy.decision(decision, *spent, len(self.roster.nodes_of(slots))))
        self.roster.control.release(requested)
        self._update(slots)


def _in_time(decision: Decision, shift: float) -> Decision:
    """Return a decision in the time of its nodes, whose clocks were set back."""
    return replace(decision, time=decision.time - float(shift)) if shift else decision


def _without_repetition(entries: Entries, idle: npt.NDArray[np.bool_]) -> Iterator[Entries]:
    """Cut entries so that no stream occurs twice in a part, apart from idle ticks before its first other one."""
    start, seen, begun = 0, dict[int, bool](), set[int]()
    for place, (stream, is_blank) in enumerate(zip(entries.ticks["stream"].tolist(), idle.tolist(), strict=True)):
        is_idle = is_blank and stream not in begun
        if stream in seen and not (is_idle and seen[stream]):
            yield entries[start:place]
            start, seen = place, {}
        seen[stream] = is_idle
        if not is_idle:
            begun.add(stream)
    yield entries[start:]

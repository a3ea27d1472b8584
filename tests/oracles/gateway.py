"""A slow gateway in lists and dicts: each tick is worked out anew from all that was received."""

from collections import Counter
from itertools import compress
from math import ceil, floor, isnan, nan
from typing import NamedTuple

import numpy as np
from oracles import features as naive_features

from feature_extractors.report import split_channel

TOLERABLE = 10  # ticks for which clocks must differ by the same, and by more than these


class Reading(NamedTuple):
    """A value on a stream's grid; `at` is the tick that it is of, `tick` the one from which on it is shown."""

    tick: int
    value: float
    sequence: int | None
    is_late: bool
    next_tick: float  # the next of the stream as it came
    at: int


class Clock(NamedTuple):
    """The time of a node: its newest stamp, the arrival of that, its lowest delay since `level_at`, the spread."""

    newest: float = -np.inf
    live: float = -np.inf
    lowest: float = nan
    level_at: float = -np.inf
    spread: float = 0.0
    n_messages: int = 0


class NaiveGateway:
    """Follows streams whose columns come from (node, channel); one reading a channel and tick.

    `decisions` are as JSON has them.
    """

    def __init__(self, procedure, sources, lateness, grace=None, reopen_after=None):
        self.procedure, self.sources, self.lateness, self.grace = procedure, dict(sources), lateness, grace
        self.reopen_after = reopen_after
        self.procedures = dict.fromkeys(sources, procedure)  # of each stream's episode
        self.newest_sources = sources
        self.bound = {source for of in sources.values() for source in of}  # what is heard at all
        self.of_models = {procedure.digest: sources}
        self.leads = Counter()  # ticks by which the clock of a stream's node is ahead of its first node's
        self.earliest = {}  # the first tick of a stream that had a reading
        self.heard = {}  # (stamp, arrival, None) of all readings that were news, by node
        self.duplicates = Counter()  # readings that were no news, by node
        self.known = {}  # sequence numbers, or ticks, by (node, channel)
        self.received = {stream: {source: [] for source in of} for stream, of in sources.items()}
        self.begun, self.next_tick = (
            {},
            {},
        )  # by stream: arrival of the first reading, the first tick not yet emitted
        self.clocks = {}  # by node, and the number of what was heard of it
        self.silence = -np.inf
        self.episodes = dict.fromkeys(sources, 1)
        self.samples = {stream: [] for stream in sources}
        self.decided = {}  # time of the decision, by stream
        self.decisions = []

    def tick_of(self, time):
        return floor(time / self.procedure.period + 0.5)

    def take(self, node, channel, time, value, sequence, arrival):
        tick = self.tick_of(time)
        known = self.known.setdefault((node, channel), set())
        key = tick if sequence is None else sequence
        if key in known:
            self.duplicates[node] += 1
            return
        known.add(key)
        self.heard.setdefault(node, []).append((time, arrival, None))
        for stream, of in self.received.items():
            if (node, channel) in of:
                self.align(stream, node, arrival)
                at, next_tick = tick - self.leads[stream, node], self.next_tick.get(stream, -np.inf)
                of[node, channel].append(Reading(at, value, sequence, at < next_tick, next_tick, at))
                self.earliest[stream] = min(at, self.earliest.get(stream, at))
                self.begun.setdefault(stream, arrival)
                self.emit(stream, self.due(stream))

    def align(self, stream, node, arrival):
        """Let a node follow the clock of the stream's first node if they differ by far; what waits is gone."""
        first, known = self.sources[stream][0][0], self.leads[stream, node]
        one, other = self.clock(first), self.clock(node)
        if node == first or isnan(one.lowest) or isnan(other.lowest):
            return
        ahead, tolerable = one.lowest - other.lowest, TOLERABLE * self.procedure.period
        tolerance = max(self.lateness, tolerable) + one.spread + other.spread
        is_steady = arrival - max(one.level_at, other.level_at) >= tolerable
        if not is_steady or abs(ahead - self.ahead(stream, node)) <= tolerance:
            return
        self.leads[stream, node] = self.tick_of(ahead)
        for source, readings in self.received[stream].items():
            if source[0] == node:
                self.move(stream, readings, known - self.leads[stream, node])

    def move(self, stream, readings, ticks):
        """Let the newest reading that is shown be of another tick, and drop those that wait."""
        end = self.next_tick.get(stream, -np.inf)
        shown = [r for r in readings if r.tick < end and not (r.is_late and r.next_tick == end)]
        newest = max(shown, key=lambda reading: reading.tick, default=None)
        readings.clear()
        if newest is not None:
            at = newest.at + ticks
            readings.append(newest._replace(tick=min(at, end - 1), at=at, sequence=None))

    def follow(self, procedure, sources):
        """Let streams without an open episode, and later episodes, be of another model."""
        self.procedure, self.newest_sources = procedure, sources
        for stream, of in sources.items():
            self.received[stream] |= {source: [] for source in of if source not in self.received[stream]}
            if stream in self.decided or not self.samples[stream]:
                self.adopt(stream)
        self.of_models[procedure.digest] = sources
        in_use = {each.digest for each in (procedure, *self.procedures.values())}
        self.bound = {source for each in in_use for of in self.of_models[each].values() for source in of}

    def adopt(self, stream):
        self.procedures[stream], self.sources[stream] = self.procedure, self.newest_sources[stream]

    def prove(self, silence):
        """Everything that was sent before has arrived."""
        self.silence = max(silence, self.silence)
        for stream in self.begun:
            if stream not in self.decided or self.reopen_after is not None:
                self.emit(stream, self.due(stream))

    def resume(self, now):
        """Another run begins: what was proved of silence stays, and nothing else counts."""
        for node in self.heard:
            self.heard[node].append((None, now, self.silence))
        for stream, begun in self.begun.items():
            self.begun[stream] = now - max(0.0, self.silence - begun)
        self.silence = now if self.silence > -np.inf else self.silence

    def due(self, stream):
        """The first tick of a stream that is not due."""
        nodes = {node for node, _ in self.sources[stream]}
        is_patient = self.silence < self.begun[stream] + (10.0 if self.grace is None else self.grace)
        counted = [node for node in nodes if is_patient or node in self.heard]
        times = [self.present(node) - self.ahead(stream, node) for node in counted]
        return -np.inf if min(times) == -np.inf else self.tick_of(min(times) - self.lateness)

    def ahead(self, stream, node):
        """Seconds by which the clock of a node is ahead of the stream's."""
        return self.leads[stream, node] * self.procedure.period

    def present(self, node):
        """The time of a node: of its newest stamp, and of the silence since, beyond its patience."""
        clock = self.clock(node)
        least = self.procedure.period if clock.n_messages >= 8 else 10.0
        patience = max(2 * clock.spread, least if self.grace is None else self.grace)
        return clock.newest + max(0.0, self.silence - clock.live - patience) if clock.n_messages else -np.inf

    def clock(self, node):
        """The clock of a node after all that was heard of it, which is only ever more."""
        heard = self.heard.get(node, [])
        key = node, len(heard)
        if key not in self.clocks:
            self.clocks[key] = self.clock_after(heard)
        return self.clocks[key]

    def clock_after(self, heard):
        newest = live = lowest = level = level_at = -np.inf
        is_known, spread, n_messages, delays = False, 0.0, 0, []  # lowest delay of each message
        for stamp, arrival, silence in heard:
            if stamp is None:  # another run
                live, is_known = arrival - max(0.0, silence - live), False
            elif stamp > newest:
                delay = arrival - stamp
                if not is_known:
                    lowest, spread, n_messages, delays, is_known, level = delay, 0.0, 0, [], True, np.inf
                elif arrival == live:  # the same message
                    spread += max(0.0, lowest - delay)
                else:
                    if n_messages % 32 == 0:
                        lowest = min(delays[-32:])
                    lowest, spread = lowest + 0.001 * (arrival - live), 0.9 * spread
                if n_messages and arrival == live:
                    delays[-1] = min(delays[-1], delay)
                else:
                    delays.append(delay)
                    n_messages += 1
                lowest = min(lowest, delay)
                spread = max(spread, delay - lowest)
                if abs(lowest - level) > self.procedure.period / 2:
                    level, level_at = lowest, arrival
                newest, live = stamp, arrival
        return Clock(newest, live, lowest if is_known else nan, level_at, spread, n_messages)

    def emit(self, stream, end):
        """Let all ticks of a stream before the end happen that have not happened."""
        if stream not in self.next_tick:
            if self.earliest[stream] >= end:
                return
            self.next_tick[stream] = self.earliest[stream]
        while self.next_tick[stream] < end:
            if stream not in self.decided:
                self.sample(stream, self.next_tick[stream])
            elif self.has_rested(stream, self.next_tick[stream]):
                self.reopen([stream])
            self.next_tick[stream] += 1

    def has_rested(self, stream, tick):
        """Whether a decided stream may be reopened at a tick."""
        if self.reopen_after is None:
            return False
        return tick >= ceil((self.decided[stream] + self.reopen_after) / self.procedure.period - 1e-9)

    def finish(self):
        for stream, of in self.sources.items():
            if stream in self.begun:
                nodes = {node for node, _ in of if node in self.heard}
                ends = [self.clock(node).newest - self.ahead(stream, node) for node in nodes]
                self.emit(stream, self.tick_of(max(ends)) + 1)
            if stream not in self.decided:
                self.decide(stream, None, "closed")

    def reopen(self, streams):
        for stream in streams:
            self.episodes[stream] += 1
            self.samples[stream] = []
            self.adopt(stream)
            del self.decided[stream]

    def shown(self, stream, column, tick):
        """What a column of a stream shows at a tick, of what was received so far."""
        policy = split_channel(column[1])[1]
        readings = sorted(self.received[stream][column], key=lambda reading: reading.tick)
        past = [r for r in readings if r.tick <= tick and (policy.holds or not r.is_late)]
        if not past:
            return np.nan
        newest = past[-1]
        if newest.at == tick:
            return newest.value
        future = [r for r in readings if r.tick > tick]
        is_gap = newest.sequence is not None and future and 1 < future[0].sequence - newest.sequence <= 2**16 + 1
        is_held = policy.holds and not is_gap and tick - newest.at <= self.longest(stream, policy)
        return newest.value if is_held else np.nan

    def longest(self, stream, policy):
        """Ticks for which a value is held."""
        silence = self.procedures[stream].max_silence
        own = int(policy.value) if policy.kind == "every" else 1
        return np.inf if silence is None else max(floor(silence / self.procedure.period), own)

    def sample(self, stream, tick):
        samples, openings = self.samples[stream], self.procedures[stream].openings
        is_open = [opening <= len(samples) + 1 for opening in openings]
        columns = self.sources[stream]
        if not samples and any(isnan(self.shown(stream, each, tick)) for each in compress(columns, is_open)):
            return
        known = zip(columns, is_open, strict=True)
        sample = [self.shown(stream, column, tick) if has_opened else nan for column, has_opened in known]
        samples.append((tick, sample))
        confidence, label = self.confidence(stream)
        if confidence >= self.threshold(stream, len(samples)):
            self.decide(stream, label, "confident")
        elif confidence < self.floor(stream, len(samples)):
            self.decide(stream, None, "given_up")
        elif len(samples) == self.procedures[stream].time_limit:
            self.decide(stream, None, "timeout")

    def threshold(self, stream, tick):
        stopping = self.procedures[stream].stopping
        if stopping is None:
            return self.procedures[stream].confidence
        pairs = zip(stopping.ticks, stopping.levels, strict=True)
        return [np.inf, *(level for first, level in pairs if first <= tick)][-1]

    def floor(self, stream, tick):
        stopping = self.procedures[stream].stopping
        pairs = () if stopping is None else zip(stopping.ticks, stopping.floors, strict=True)
        return [0.0, *(floor for first, floor in pairs if first <= tick)][-1]

    def confidence(self, stream):
        samples = np.array([sample for _, sample in self.samples[stream]])
        times = np.arange(float(len(samples)))
        values = [naive_features.mean(column[:, np.newaxis], times) for column in samples.T]
        procedure = self.procedures[stream]
        probabilities = procedure.classifier.probabilities(np.array([values]))[0]
        return float(probabilities.max()), procedure.classes[int(probabilities.argmax())]

    def decide(self, stream, label, reason):
        samples = self.samples[stream]
        time = samples[-1][0] * self.procedure.period if samples else None
        self.decided[stream] = time or 0.0
        self.decisions.append(
            {
                "id": f"{stream}/{self.episodes[stream]}",
                "stream": stream,
                "episode": self.episodes[stream],
                "label": label,
                "confidence": self.confidence(stream)[0] if samples else None,
                "tick": len(samples),
                "cost": self.procedures[stream].cost(len(samples)),
                "reason": reason,
                "time": time,
            }
        )

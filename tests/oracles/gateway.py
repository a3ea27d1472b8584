"""A slow gateway in lists and dicts: each tick is worked out anew from all that was received."""

from collections import Counter
from math import floor

import numpy as np
from oracles import features as naive_features

from feature_extractors.report import split_channel


class NaiveGateway:
    """Follows streams whose columns come from (node, channel); one reading a channel and tick.

    `decisions` are as JSON has them.
    """

    def __init__(self, procedure, sources, lateness, grace=None):
        self.procedure, self.sources, self.lateness, self.grace = procedure, sources, lateness, grace
        self.heard = {}  # (stamp, arrival, None) of all readings that were news, by node
        self.duplicates = Counter()  # readings that were no news, by node
        self.known = {}  # sequence numbers, or ticks, by (node, channel)
        self.received = {stream: {source: [] for source in of} for stream, of in sources.items()}
        self.begun, self.next_tick = (
            {},
            {},
        )  # by stream: arrival of the first reading, the first tick not yet emitted
        self.silence = -np.inf
        self.episodes = dict.fromkeys(sources, 1)
        self.samples = {stream: [] for stream in sources}
        self.decided = set()
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
                is_late = stream in self.next_tick and tick < self.next_tick[stream]
                of[node, channel].append((tick, value, sequence, is_late))
                self.begun.setdefault(stream, arrival)
                self.emit(stream, self.due(stream))

    def prove(self, silence):
        """Everything that was sent before has arrived."""
        self.silence = max(silence, self.silence)
        for stream in self.begun:
            if stream not in self.decided:
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
        times = [self.present(node) for node in nodes if is_patient or node in self.heard]
        return -np.inf if min(times) == -np.inf else self.tick_of(min(times) - self.lateness)

    def present(self, node):
        """The time of a node: of its newest stamp, and of the silence since, beyond its patience."""
        newest = live = lowest = -np.inf
        is_known, spread, n_messages, delays = False, 0.0, 0, []  # lowest delay of each message
        for stamp, arrival, silence in self.heard.get(node, []):
            if stamp is None:  # another run
                live, is_known = arrival - max(0.0, silence - live), False
            elif stamp > newest:
                delay = arrival - stamp
                if not is_known:
                    lowest, spread, n_messages, delays, is_known = delay, 0.0, 0, [], True
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
                newest, live = stamp, arrival
        least = self.procedure.period if n_messages >= 8 else 10.0
        patience = max(2 * spread, least if self.grace is None else self.grace)
        return newest + max(0.0, self.silence - live - patience) if n_messages else -np.inf

    def emit(self, stream, end):
        """Let all ticks of a stream before the end happen that have not happened."""
        if stream not in self.next_tick:
            first = min(reading[0] for readings in self.received[stream].values() for reading in readings)
            if first >= end:
                return
            self.next_tick[stream] = first
        while self.next_tick[stream] < end:
            if stream not in self.decided:
                self.follow(stream, self.next_tick[stream])
            self.next_tick[stream] += 1

    def finish(self):
        for stream, of in self.sources.items():
            if stream in self.begun:
                newest = max(at for node, _ in of for at, *_ in self.heard.get(node, []) if at is not None)
                self.emit(stream, self.tick_of(newest) + 1)
            if stream not in self.decided:
                self.decide(stream, None, "closed")

    def reopen(self):
        for stream in self.decided:
            self.episodes[stream] += 1
            self.samples[stream] = []
        self.decided = set()

    def shown(self, stream, column, tick):
        """What a column of a stream shows at a tick, of what was received so far."""
        policy = split_channel(column[1])[1]
        readings = sorted(self.received[stream][column], key=lambda reading: reading[0])
        past = [r for r in readings if r[0] <= tick and (policy.holds or not r[3])]
        if not past:
            return np.nan
        at, value, sequence, _ = past[-1]
        if at == tick:
            return value
        future = [r for r in readings if r[0] > tick]
        is_gap = sequence is not None and future and future[0][2] > sequence + 1
        return value if policy.holds and not is_gap and tick - at <= self.longest(policy) else np.nan

    def longest(self, policy):
        """Ticks for which a value is held."""
        silence = self.procedure.max_silence
        own = int(policy.value) if policy.kind == "every" else 1
        return np.inf if silence is None else max(floor(silence / self.procedure.period), own)

    def follow(self, stream, tick):
        sample = [self.shown(stream, column, tick) for column in self.sources[stream]]
        samples = self.samples[stream]
        if not samples and np.isnan(sample).any():
            return
        samples.append((tick, sample))
        confidence, label = self.confidence(stream)
        if confidence >= self.threshold(len(samples)):
            self.decide(stream, label, "confident")
        elif confidence < self.floor(len(samples)):
            self.decide(stream, None, "given_up")
        elif len(samples) == self.procedure.time_limit:
            self.decide(stream, None, "timeout")

    def threshold(self, tick):
        stopping = self.procedure.stopping
        if stopping is None:
            return self.procedure.confidence
        pairs = zip(stopping.ticks, stopping.levels, strict=True)
        return [np.inf, *(level for first, level in pairs if first <= tick)][-1]

    def floor(self, tick):
        stopping = self.procedure.stopping
        pairs = () if stopping is None else zip(stopping.ticks, stopping.floors, strict=True)
        return [0.0, *(floor for first, floor in pairs if first <= tick)][-1]

    def confidence(self, stream):
        samples = np.array([sample for _, sample in self.samples[stream]])
        times = np.arange(float(len(samples)))
        values = [naive_features.mean(column[:, np.newaxis], times) for column in samples.T]
        probabilities = self.procedure.classifier.probabilities(np.array([values]))[0]
        return float(probabilities.max()), self.procedure.classes[int(probabilities.argmax())]

    def decide(self, stream, label, reason):
        samples = self.samples[stream]
        self.decided.add(stream)
        self.decisions.append(
            {
                "id": f"{stream}/{self.episodes[stream]}",
                "stream": stream,
                "episode": self.episodes[stream],
                "label": label,
                "confidence": self.confidence(stream)[0] if samples else None,
                "tick": len(samples),
                "cost": self.procedure.cost(len(samples)),
                "reason": reason,
                "time": samples[-1][0] * self.procedure.period if samples else None,
            }
        )

"""A slow gateway in lists and dicts: each tick is worked out anew from all that was received."""

from math import floor

import numpy as np
from oracles import features as naive_features

from feature_extractors.report import split_channel


class NaiveGateway:
    """Follows streams whose columns come from (node, channel); one reading a channel and tick.

    `decisions` are as JSON has them.
    """

    def __init__(self, procedure, sources, lateness):
        self.procedure, self.sources, self.lateness = procedure, sources, lateness
        self.received = {}  # (tick, value, sequence) by (node, channel)
        self.newest, self.next_tick = None, None
        self.episodes = dict.fromkeys(sources, 1)
        self.samples = {stream: [] for stream in sources}
        self.decided = set()
        self.decisions = []

    def take(self, node, channel, time, value, sequence):
        tick = floor(time / self.procedure.period + 0.5)
        readings = self.received.setdefault((node, channel), {})
        key = tick if sequence is None else sequence
        if key in readings:
            return
        is_late = self.next_tick is not None and tick < self.next_tick
        readings[key] = (tick, value, sequence, is_late)
        self.newest = time if self.newest is None else max(time, self.newest)
        self.emit(floor((self.newest - self.lateness) / self.procedure.period + 0.5))

    def emit(self, end):
        """Let all ticks before the end happen that have not happened."""
        if self.next_tick is None:
            first = min(reading[0] for readings in self.received.values() for reading in readings.values())
            self.next_tick = first if first < end else None
        while self.next_tick is not None and self.next_tick < end:
            for stream in self.sources:
                if stream not in self.decided:
                    self.follow(stream, self.next_tick)
            self.next_tick += 1

    def finish(self):
        if self.newest is not None:
            self.emit(floor(self.newest / self.procedure.period + 0.5) + 1)
        for stream in self.sources:
            if stream not in self.decided:
                self.decide(stream, None, "closed")

    def reopen(self):
        for stream in self.decided:
            self.episodes[stream] += 1
            self.samples[stream] = []
        self.decided = set()

    def shown(self, column, tick):
        """What a column of a stream shows at a tick, of what was received so far."""
        policy = split_channel(column[1])[1]
        readings = sorted(self.received.get(column, {}).values())
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
        sample = [self.shown(column, tick) for column in self.sources[stream]]
        samples = self.samples[stream]
        if not samples and np.isnan(sample).any():
            return
        samples.append((tick, sample))
        confidence, label = self.confidence(stream)
        if confidence >= self.threshold(len(samples)):
            self.decide(stream, label, "confident")
        elif len(samples) == self.procedure.time_limit:
            self.decide(stream, None, "timeout")

    def threshold(self, tick):
        stopping = self.procedure.stopping
        if stopping is None:
            return self.procedure.confidence
        pairs = zip(stopping.ticks, stopping.levels, strict=True)
        return [level for first, level in pairs if first <= tick][-1]

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

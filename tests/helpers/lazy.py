"""Procedures that ask for some channels only while a stream is unusual, and a slow twin of their engine."""

import numpy as np
from oracles import features as naive_features

import feature_extractors as fx
from streamfs import Costs, Procedure
from streamfs.classifiers.lazy import LazyNeighbors


def neighbours(values, classes, subset, *, thresholds=None, n_neighbors=1, n_classes=2):
    """Instances with Laplace's votes; features outside the subset join at a standard deviation from the mean."""
    values = np.array(values, dtype=np.float64)
    spans = values.max(axis=0) - values.min(axis=0)
    shares = (values - values.min(axis=0)) / np.where(spans > 0, spans, 1.0)
    return LazyNeighbors(
        values=values,
        classes=np.array(classes, dtype=np.int64),
        n_classes=n_classes,
        subset=np.isin(np.arange(values.shape[1]), subset),
        means=shares.mean(axis=0),
        thresholds=np.where(spans > 0, shares.std(axis=0), np.inf) if thresholds is None else np.array(thresholds),
        nominal=np.zeros(values.shape[1], dtype=np.bool_),
        n_neighbors=n_neighbors,
        laplace=True,
    )


def lazy_procedure(base="x", *others, far=1.0, time_limit=8, confidence=0.9, **options):
    """Says "on" once the base's mean exceeds one half by much; asks for others while theirs is far from 0."""
    channels = (base, *others)
    low, high = ([level, *(0.0 for _ in others)] for level in (0.0, 1.0))
    corners = [[0.5, *(sign * 4.0 * far for _ in others)] for sign in (-1, 1)]
    rows = [low] * 9 + [[0.4, *low[1:]], [0.6, *low[1:]]] + [high] * 9 + corners
    classes = [0] * 10 + [1] * 10 + [0, 1]
    thresholds = [np.inf, *(1 / 8 for _ in others)]
    classifier = neighbours(rows, classes, [0], thresholds=thresholds, n_neighbors=8)
    features = tuple(fx.get(f"mean({channel})") for channel in channels)
    costs = Costs(np.arange(1.0, 1.0 + len(channels)), np.full(len(channels), 0.25), a=2.0, b=4.0)
    return Procedure(features, classifier, ("off", "on"), costs, confidence, time_limit, **options)


MIXED = ("mean(x)", "max(y)", "mean_difference(x, z)", "variance(z)", "count()", "last(w@every:2)")


def random_procedure(rng, *, confidence=None, time_limit=9):
    """Neighbours of any instances, with any subset, over features that share channels."""
    features = tuple(fx.get(name) for name in MIXED)
    n = len(features)
    subset = rng.choice(n, rng.integers(1, 4), replace=False)
    values = np.round(rng.normal(0, 2, (12, n)), 1)
    thresholds = np.where(rng.random(n) < 0.2, np.inf, rng.random(n) * 0.6)
    classifier = neighbours(
        values, rng.integers(0, 3, 12), subset, thresholds=thresholds, n_neighbors=2, n_classes=3
    )
    costs = Costs(np.round(rng.random(n) * 5, 2), np.round(rng.random(n), 2), a=2.0, b=0.5)
    confidence = rng.choice([0.55, 0.7]) if confidence is None else confidence
    return Procedure(features, classifier, ("p", "q", "r"), costs, confidence, time_limit, 0.5)


class NaiveLazyStream:
    """One stream from its first complete sample on, worked out anew at each tick from the samples it was shown."""

    def __init__(self, procedure):
        self.procedure, self.lazy = procedure, procedure.classifier
        self.n_features = len(procedure.features)
        self.shown = []  # (time, sample by channel)
        self.tick, self.spent = 0, 0.0
        self.values = [np.nan] * self.n_features

    def value(self, feature):
        """A feature's value of what was shown: of the samples in which all its channels have one."""
        rows = [(t, [sample[c] for c in feature.columns]) for t, sample in self.shown]
        rows = [(t, row) for t, row in rows if not np.isnan(row).any()]
        if not rows:
            return np.nan
        table = np.array([row for _, row in rows]).reshape(len(rows), len(feature.columns))
        name = {"max": "maximum"}.get(feature.kind.name, feature.kind.name)
        return getattr(naive_features, name)(table, np.array([t for t, _ in rows]))

    def is_asked(self, feature):
        lows, highs = self.lazy.values.min(axis=0), self.lazy.values.max(axis=0)
        value = self.values[feature]
        if self.lazy.subset[feature]:
            return True
        if self.lazy.thresholds[feature] == np.inf:
            return False
        span = highs[feature] - lows[feature]
        share = (value - lows[feature]) / span if span > 0 else 0.0
        return bool(np.isnan(value) or abs(share - self.lazy.means[feature]) >= self.lazy.thresholds[feature])

    def asked_channels(self):
        names = [f.columns for i, f in enumerate(self.procedure.features) if self.is_asked(i)]
        return {channel for columns in names for channel in columns}

    def take(self, tick, sample):
        asked = [i for i in range(self.n_features) if self.is_asked(i)]
        channels = self.asked_channels()
        self.spent += (tick - self.tick) * sum(self.procedure.costs.each[i] for i in asked)
        self.tick = tick
        known = {c: v if c in channels and abs(v) <= 1e100 else np.nan for c, v in sample.items()}
        self.shown.append(((tick - 1) * self.procedure.period, known))
        self.values = [self.value(feature) for feature in self.procedure.features]

    def time_out(self):
        asked = [i for i in range(self.n_features) if self.is_asked(i)]
        self.spent += (self.procedure.time_limit - self.tick) * sum(self.procedure.costs.each[i] for i in asked)
        self.tick = self.procedure.time_limit

    @property
    def cost(self):
        costs = self.procedure.costs
        return costs.a * self.spent + costs.b * sum(costs.once)

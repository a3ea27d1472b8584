"""What a user of River would write for many streams: statistics, scaler, tree and threshold, keyed by name."""

import random
from typing import Any

from river import preprocessing, stats, tree

N_LEAVES = 31
SURE = 2.0  # a threshold that no probability reaches, so that each sample is worked on


class Peer:
    """Ten statistics of each stream, of two columns, and one model for all."""

    def __init__(self, seed: int = 1) -> None:
        self.streams: dict[str, tuple[Any, ...]] = {}
        self.n_decided = 0
        self.tree = tree.HoeffdingTreeClassifier(grace_period=50, delta=0.01, tau=0.5)
        self.model = preprocessing.StandardScaler() | self.tree
        self._learn(random.Random(seed))  # noqa: S311 - not for secrets

    def _learn(self, rng: random.Random) -> None:
        """Let the tree grow to as many leaves as ours has."""
        step = 0
        while (self.tree.n_leaves or 0) < N_LEAVES:
            stream, step = step % 200, step + 1
            a, b = rng.gauss(stream % 3, 1), rng.gauss(stream % 5, 1)
            features = self.features(f"train{stream}", float(step // 200), a, b)
            self.model.learn_one(features, (stream % 3 + stream % 5 + rng.random()) % 2 > 1)
        self.streams.clear()

    def features(self, name: str, time: float, a: float, b: float) -> dict[str, float]:
        streams = self.streams
        if name not in streams:
            streams[name] = (
                *(stats.Count(), stats.Mean(), stats.Var(), stats.Min(), stats.Max()),
                *(stats.Cov(), stats.EWMean(0.1), stats.PearsonCorr(), stats.Mean(), stats.Mean()),
            )
        count, mean, variance, least, most, slope, smooth, together, apart, flags = streams[name]
        for statistic in (count, mean, variance, least, most, smooth):
            statistic.update(a)
        slope.update(time, a)
        together.update(a, b)
        apart.update(abs(a - b))
        flags.update((a > 0.5) == (b > 0.5))
        return {
            "ticks": count.get(),
            "mean": mean.get(),
            "variance": variance.get(),
            "min": least.get(),
            "max": most.get(),
            "slope": slope.get(),
            "smooth": smooth.get(),
            "correlation": together.get(),
            "difference": apart.get(),
            "agreement": flags.get(),
        }

    def take(self, name: str, time: float, a: float, b: float) -> None:
        probabilities = self.model.predict_proba_one(self.features(name, time, a, b))
        if max(probabilities.values()) >= SURE:
            self.n_decided += 1

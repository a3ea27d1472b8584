"""The relevance floor: the weight that features without information about the class reach."""

from dataclasses import dataclass

import numpy as np

from feature_extractors.arrays import Integers
from streamfs.data.feature_table import FeatureTable


@dataclass(frozen=True)
class Probes:
    """Random probes, whose weights set the relevance floor.

    A probe is a feature of the table whose whole trajectories are permuted among the streams; each is tried alone
    at the end of the table.

    Parameters
    ----------
    n : int
        Number of probes.
    quantile : float
        A feature is relevant if its weight exceeds this quantile of the probes' weights.
    """

    n: int = 100
    quantile: float = 0.95

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"number of probes is {self.n}, expected at least 1")
        if not 0 <= self.quantile <= 1:
            raise ValueError(f"quantile is {self.quantile}, expected 0 to 1")

    def draw(self, table: FeatureTable, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Draw each probe's feature, (n,), and the stream of each of its trajectories, (n, n_streams)."""
        n_streams, _, n_features = table.values.shape
        features = rng.integers(n_features, size=self.n)
        return features, np.array([rng.permutation(n_streams) for _ in range(self.n)])

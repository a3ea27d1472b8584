"""The relevance floor: what weight features reach that say nothing of the class."""

from dataclasses import dataclass

import numpy as np

from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers


@dataclass(frozen=True)
class Probes:
    """How many probes to try, and which of their weights is the floor.

    A probe is a feature of the table whose whole trajectories are permuted among the streams; each is tried
    alone at the end of the table.

    Parameters
    ----------
    n : int
        How many.
    quantile : float
        A feature is relevant where its weight exceeds this quantile of the probes'.
    """

    n: int = 100
    quantile: float = 0.95

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"number of probes is {self.n}, expected at least 1")
        if not 0 <= self.quantile <= 1:
            raise ValueError(f"quantile is {self.quantile}, expected 0 to 1")

    def draw(self, table: FeatureTable, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Draw the probes of a table.

        Returns
        -------
        features : ndarray of shape (n,)
            Which feature each probe is.
        permutations : ndarray of shape (n, n_streams)
            From which stream each stream has its trajectory.
        """
        n_streams, _, n_features = table.values.shape
        features = rng.integers(n_features, size=self.n)
        return features, np.array([rng.permutation(n_streams) for _ in range(self.n)])

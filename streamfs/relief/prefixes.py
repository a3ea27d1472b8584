"""Relief for data streams: plain Relief on the instances of random prefixes."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers
from streamfs.base.parameters import RealNumber, Whole
from streamfs.data.feature_table import FeatureTable
from streamfs.errors import DataError
from streamfs.relief.positions import positions_of
from streamfs.relief.table_estimator import TableEstimator


class PrefixRelief(TableEstimator):
    """Rank the features of streams by relevance alone: Relief on prefixes of random streams and random length.

    Parameters
    ----------
    n_prefixes : int, optional
        Number of streams to draw without replacement; by default all.
    shortest : int
        Minimum length of a prefix, ticks.
    longest : int, optional
        Maximum length of a prefix, ticks; by default that of the stream.
    positions : int or array_like of int, optional
        Ticks at which a prefix has an instance, rising from 1, or a number of ticks to spread evenly; by default
        all.
    neighbours : {"other_streams", "any"}
        Instances that may be a near hit or miss, as in `StreamRelief`.
    threshold : float
        A feature is relevant if its weight exceeds this value.
    power : {1, 2}
        Power of each difference.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories.
    random_state : int
        Seed of the draw.
    n_features : int, optional
        How many features `transform` keeps; by default the relevant ones.

    Attributes
    ----------
    prefixes_ : ndarray of int of shape (n_prefixes, 2)
        The stream and the length of each prefix, by stream.
    feature_importances_ : ndarray of shape (n_features,)
        Relief weights (equation 2).
    relevant_ : ndarray of bool of shape (n_features,)
        Features whose weight exceeds the threshold.
    ranking_ : ndarray of int of shape (n_features,)
        Indices of the features, best first.

    References
    ----------
    Gao and Wang, Feature Selection for Building Cost-Effective Data Stream Classifiers, ICDM 2005, section 3.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 10)
    >>> informative = np.where(labels == "calm", 0.0, 1.0)[:, None] + rng.normal(0, 0.2, (20, 5))
    >>> values = np.stack([rng.normal(size=(20, 5)), informative], axis=2)
    >>> PrefixRelief().fit(values, labels).ranking_.tolist()
    [1, 0]
    """

    _parameter_constraints: ClassVar = {
        **TableEstimator._parameter_constraints,  # noqa: SLF001 - inherited
        "n_prefixes": [Whole(1), None],
        "shortest": [Whole(1)],
        "longest": [Whole(1), None],
        "threshold": [RealNumber(-np.inf)],
    }

    def __init__(
        self,
        n_prefixes: int | None = None,
        shortest: int = 1,
        longest: int | None = None,
        positions: int | npt.ArrayLike | None = None,
        neighbours: str = "other_streams",
        threshold: float = 0.0,
        power: int = 1,
        nominal: Sequence[int] | None = None,
        random_state: int = 0,
        n_features: int | None = None,
    ) -> None:
        self.n_prefixes = n_prefixes
        self.shortest = shortest
        self.longest = longest
        self.positions = positions
        self.neighbours = neighbours
        self.threshold = threshold
        self.power = power
        self.nominal = nominal
        self.random_state = random_state
        self.n_features = n_features

    def _fit(self, table: FeatureTable) -> None:
        self.prefixes_ = self._draw(table)
        streams, ticks = self._instances(table)
        rows = self._rows(table, streams, ticks)
        self.feature_importances_ = rows.weights([len(rows)])[0]
        self.relevant_ = self.feature_importances_ > self.threshold
        self.ranking_ = np.argsort(-self.feature_importances_, kind="stable")

    def _draw(self, table: FeatureTable) -> Integers:
        """Draw streams without replacement, and a length for each."""
        longest = table.n_ticks if self.longest is None else self.longest
        if not 1 <= self.shortest <= longest:
            raise ValueError(f"prefixes are {self.shortest} to {longest} ticks long, expected 1 or more, rising")
        candidates = np.flatnonzero(table.lengths >= self.shortest)
        if not len(candidates):
            raise DataError(f"no stream has {self.shortest} ticks, the minimum length of a prefix")
        n_prefixes = len(candidates) if self.n_prefixes is None else self.n_prefixes
        if not 1 <= n_prefixes <= len(candidates):
            raise ValueError(
                f"n_prefixes is {n_prefixes}, expected 1 to {len(candidates)}, the streams long enough"
            )
        rng = np.random.default_rng(self.random_state)
        streams = rng.choice(candidates, n_prefixes, replace=False)
        lengths = rng.integers(self.shortest, np.minimum(table.lengths[streams], longest), endpoint=True)
        order = np.argsort(streams)
        return np.column_stack([streams[order], lengths[order]])

    def _instances(self, table: FeatureTable) -> tuple[Integers, Integers]:
        """Return stream and tick of each instance: the positions in each prefix, by position, then by stream."""
        grid = positions_of(self.positions, int(table.lengths.max()))
        streams, lengths = self.prefixes_.T
        place, prefix = np.nonzero(grid[:, np.newaxis] <= lengths)
        return streams[prefix], grid[place]

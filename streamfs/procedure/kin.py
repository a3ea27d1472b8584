"""Streams that go together, so that each tells less than one alone: pairs that share a node, streams of a room."""

from collections.abc import Sequence
from math import floor
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.data.shared_columns import shared_columns

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet

Relation = npt.NDArray[np.bool_]
"""Which streams go together, two by two, shape (n_streams, n_streams); each with itself."""

MOST_STREAMS = 1000
"""Streams among which relations are sought; of more, some are drawn."""

MOST_RELATED = 0.75
"""Share of all pairs above which a relation tells nothing."""

LEAST_WEIGHT = 1 / 8

N_QUARTERS = 4
"""Parts of the values of equal size, as coarse as bets on ranks are at first."""


class Kin:
    """Streams that share readings, those that share some with a common third, and those of a group.

    Two streams share readings if a column of one equals a column of the other, to the bit: that of a node which is
    in both. What more than half of all streams have, such as a clock, does not count. Two that share none may each
    share some with a third, as two pairs of nodes in one room do at one time.

    Parameters
    ----------
    names : sequence of str
        Names of the streams.
    relations : sequence of ndarray of shape (n_names, n_names)
        Which of them go together, by each relation.
    n_streams : int
        Number of streams from which these were drawn.

    Examples
    --------
    >>> from streamfs import StreamSet
    >>> rng = np.random.default_rng(0)
    >>> nodes = rng.normal(size=(40, 10))
    >>> pairs = [np.stack([nodes[i // 2], nodes[20 + i % 20]], axis=1) for i in range(40)]
    >>> kin = Kin.of(StreamSet(pairs, ["on", "off"] * 20, ["a.level", "b.level"]))
    >>> names = [f"stream-{i}" for i in range(40)]
    >>> kin.weight(names, np.arange(40) // 2), kin.weight(names, rng.normal(size=40))
    (0.5, 1.0)
    """

    def __init__(self, names: Sequence[str], relations: Sequence[Relation], n_streams: int) -> None:
        self._place = {name: index for index, name in enumerate(names)}
        self._relations, self._n_streams = relations, n_streams

    @classmethod
    def of(
        cls, streams: "StreamSet", groups: npt.NDArray[np.generic] | None = None, n_recorded: int | None = None
    ) -> Self:
        """Find the relations of streams; those of a group, such as a room, are related, too.

        Streams without groups may be drawn from `n_recorded`, which have as many more relations; all streams of a
        group are among those drawn.
        """
        n = len(streams)
        drawn = np.sort(np.random.default_rng(0).permutation(n)[:MOST_STREAMS])
        rows, numbers = shared_columns(streams.values[drawn])
        shared = np.zeros((len(drawn), numbers.max(initial=-1) + 1), dtype=np.float32)
        shared[rows, numbers] = 1.0
        share = (shared @ shared.T > 0) | np.eye(len(drawn), dtype=bool)
        with_a_third = share.astype(np.float32) @ share > 0
        relations = [share, with_a_third]
        if groups is not None:
            relations.append(groups[drawn, np.newaxis] == groups[drawn])
        n_related = n_recorded if n_recorded is not None and groups is None else n
        return cls([streams.names[i] for i in drawn.tolist()], relations, n_related)

    def weight(self, names: Sequence[str], values: npt.ArrayLike) -> float:
        """Return what a value of a stream counts, in eighths: 1 / m if m tell as much as one of unrelated streams.

        This m is the design effect of a cluster sample, the largest by the relations: how much more the mean of
        ranks varies than that of independent ones, and the shares of quarters and of what is missing (Rao, Scott);
        the mean of both, since each is estimated of few streams.

        Parameters
        ----------
        names : sequence of str
            Names of streams.
        values : array_like of shape (n_names,)
            Their values; NaN are missing.
        """
        places = [self._place.get(name, -1) for name in names]
        known = np.flatnonzero(np.array(places, dtype=np.int64) >= 0)
        rows, numbers = np.array(places, dtype=np.int64)[known], np.asarray(values, dtype=float)[known]
        there = ~np.isnan(numbers)
        ranks = _ranks(numbers[there])
        quarters = np.full(len(rows), N_QUARTERS)  # one more is missing
        quarters[there] = np.minimum((ranks / max(len(ranks), 1) + 0.5) * N_QUARTERS, N_QUARTERS - 1)
        are_in = np.eye(N_QUARTERS + 1)[quarters]
        of_shares = self._design_effects(rows, are_in - are_in.sum(axis=0) / max(len(rows), 1))
        of_ranks = self._design_effects(rows[there], ranks[:, np.newaxis])
        most = max(1.0, *((one + other) / 2 for one, other in zip(of_shares, of_ranks, strict=True)))
        together = 1 + (most - 1) * self._n_streams / max(len(self._place), 1)
        return max(LEAST_WEIGHT, floor(8 / together) / 8)

    def _design_effects(self, rows: npt.NDArray[np.int64], scores: Array) -> list[float]:
        """Return how much more sums of scores, shape (n_rows, n_scores), vary than those of unrelated streams.

        By each relation.
        """
        effects, n, variance = [1.0] * len(self._relations), len(rows), float(np.sum(scores**2))
        for place, relation in enumerate(self._relations if variance else ()):
            related = relation[np.ix_(rows, rows)]
            share = (np.count_nonzero(related) - n) / (n * (n - 1))
            if share <= MOST_RELATED:
                effects[place] = float(np.sum(scores * (related @ scores)) / variance / (1 - share))
        return effects


def _ranks(values: Array) -> Array:
    """Return ranks, of which equal values have a common one, less their mean."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = np.cumsum(counts) - counts / 2 - len(values) / 2
    return ranks[at]

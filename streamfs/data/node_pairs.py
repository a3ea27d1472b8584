"""Pairs of nodes recorded in one place, and the labelled streams made from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError


class Pair(NamedTuple):
    """Recordings of two nodes in one place at one time, each of shape (n_ticks, n_columns).

    If two pairs of one ``pool`` exchange their second nodes, neither is of one place at one time any more.
    """

    time: str
    nodes: tuple[str, str]
    readings: tuple[Array, Array]
    pool: str


@dataclass(frozen=True, eq=False)
class Recording:
    """Pairs of nodes with the same number of ticks, `period` seconds apart, recorded at many times.

    `columns` are those of the first node, then those of the second; `n_drawn` is the number of pairs to draw at
    random from each pool, by default all.
    """

    pairs: tuple[Pair, ...]
    columns: tuple[str, ...]
    period: float
    n_drawn: int | None = None

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Make training streams of a random half of the times, and test streams of the others.

        Each pair is a "same" stream; its first node and the second node of the next pair of its pool, in random
        order, are a "different" one. Streams are named by time and node, such as ``017.kitchen-017.office``.
        """
        rng = np.random.default_rng(seed)
        times = rng.permutation(sorted({pair.time for pair in self.pairs})).tolist()
        half = len(times) // 2
        return self._streams(times[:half], rng), self._streams(times[half:], rng)

    def _streams(self, times: Sequence[str], rng: np.random.Generator) -> StreamSet:
        inside = set(times)
        pools: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            if pair.time in inside:
                pools.setdefault(pair.pool, []).append(pair)
        streams: list[tuple[Pair, Pair]] = []
        for pool in pools.values():
            drawn = [pool[index] for index in rng.permutation(len(pool))[: self.n_drawn]]
            if len(drawn) > 1:  # alone, a pair would be exchanged with itself
                for pair, other in zip(drawn, drawn[1:] + drawn[:1], strict=True):
                    streams += [(pair, pair), (pair, other)]
        if not streams:
            raise DataError(f"there is nothing to exchange in {len(inside)} times, expected two pairs of one pool")
        return StreamSet(
            [np.concatenate([a.readings[0], b.readings[1]], axis=1) for a, b in streams],
            ["same" if a is b else "different" for a, b in streams],
            self.columns,
            self.period,
            [f"{a.time}.{a.nodes[0]}-{b.time}.{b.nodes[1]}" for a, b in streams],
        )

"""Labelled series of one length: train and test series, as recorded or disturbed."""

from typing import NamedTuple, Self

import numpy as np

from feature_extractors.arrays import Array
from streamfs.data.stream_arrays import Labels
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError

LATEST_START, SCALE_SPREAD, NOISE = 0.3, 0.3, 0.03
"""A disturbed series starts late by up to this share, after noise; its scale is drawn from a log-normal."""


class LabelledSeries(NamedTuple):
    """Values of shape (n_series, n_ticks, n_columns), their classes, and the columns; by default x0, x1, ..."""

    values: Array
    labels: Labels
    columns: tuple[str, ...] = ()
    period: float = 1.0

    @classmethod
    def of(cls, streams: StreamSet) -> Self:
        """Take streams of one length, without gaps; refuse others, since not every method can decide them."""
        for name, length in zip(streams.names, streams.lengths, strict=True):
            if length != streams.n_ticks:
                raise DataError(f"stream {name} has {length} ticks, expected {streams.n_ticks} as the longest has")
        missing = np.argwhere(np.isnan(streams.values))
        if len(missing):
            stream, tick, column = missing[0]
            raise DataError(
                f"stream {streams.names[stream]} has no {streams.columns[column]} at tick {tick + 1}, "
                "expected a reading at every tick"
            )
        return cls(streams.values, streams.labels, tuple(streams.columns), streams.period)

    def streams(self) -> StreamSet:
        """Return the series as streams."""
        columns = self.columns or [f"x{c}" for c in range(self.values.shape[2])]
        return StreamSet(self.values, self.labels, columns, self.period)

    def disturbed(self, seed: int) -> Self:
        """Start each series late, on noise, with a scale and an offset of its own for each column."""
        rng, found = np.random.default_rng(seed), np.empty_like(self.values)
        n_ticks = self.values.shape[1]
        for series, out in zip(self.values, found, strict=True):
            late = rng.integers(0, int(LATEST_START * n_ticks) + 1)
            scale, offset = np.exp(rng.normal(0, SCALE_SPREAD, series.shape[1])), rng.normal(size=series.shape[1])
            moved = series * scale + offset
            steps = NOISE * moved.std(axis=0) * rng.normal(size=(late, series.shape[1]))
            before = moved[0] + steps.cumsum(axis=0)[::-1]
            out[:] = np.concatenate([before, moved])[:n_ticks]
        return self._replace(values=found)

    def sample(self, most: int, seed: int) -> Self:
        """Draw some of the series, in their order."""
        if len(self.labels) <= most:
            return self
        drawn = np.sort(np.random.default_rng(seed).choice(len(self.labels), most, replace=False))
        return self._replace(values=self.values[drawn], labels=self.labels[drawn])


class Split(NamedTuple):
    """Train and test series of a set."""

    train: LabelledSeries
    test: LabelledSeries

    @classmethod
    def of(cls, train: StreamSet, test: StreamSet) -> Self:
        """Take streams; refuse those that differ in columns, period or length."""
        split = cls(LabelledSeries.of(train), LabelledSeries.of(test))
        for what in ("columns", "period", "n_ticks"):
            if getattr(train, what) != getattr(test, what):
                raise DataError(
                    f"{what} of the test series is {getattr(test, what)}, expected {getattr(train, what)} as in "
                    "the train series"
                )
        return split

    def disturbed(self, seed: int) -> Self:
        """Disturb each series in its own way."""
        return self._replace(train=self.train.disturbed(2 * seed), test=self.test.disturbed(2 * seed + 1))

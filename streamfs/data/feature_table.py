"""Tables of feature values by stream and tick, from which selectors and classifiers are trained."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors import scan
from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature, channels_of
from feature_extractors.report import split_channel
from streamfs.base.ahead import map_ahead
from streamfs.base.workers import workers
from streamfs.data.stream_arrays import Labels
from streamfs.data.streams import StreamSet, require_streams
from streamfs.errors import DataError

MIN_OF_A_CLASS = 20
"""Instances sampled of each class at least, if it has as many, so that every fold has some."""


PART_BYTES = 2**26
"""Bytes of feature values that are computed together."""


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Feature values of recorded streams at each tick of their episodes.

    Parameters
    ----------
    values : ndarray of shape (n_streams, n_ticks, n_features)
        NaN if a feature is undefined, and beyond a stream's length.
    labels : ndarray of shape (n_streams,)
        The class of each stream, as text.
    features : tuple of Feature
        Features of the last axis.
    lengths : ndarray of shape (n_streams,)
        Number of ticks of each stream's episode.
    period : float
        Seconds from one tick to the next.
    groups : ndarray of shape (n_streams,), optional
        What streams belong together.
    weights : ndarray of shape (n_streams,), optional
        What streams count.
    """

    values: Array
    labels: Labels
    features: tuple[Feature, ...]
    lengths: Integers
    period: float = 1.0
    groups: npt.NDArray[Any] | None = None
    weights: Array | None = None

    @property
    def n_ticks(self) -> int:
        """Number of ticks of the array of values; episodes may be shorter."""
        return int(self.values.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    def take(self, indices: npt.ArrayLike) -> "FeatureTable":
        """Return the table of some of the streams."""
        index = np.asarray(indices, dtype=np.intp)
        groups = None if self.groups is None else self.groups[index]
        return replace(
            self,
            values=self.values[index],
            labels=self.labels[index],
            lengths=self.lengths[index],
            groups=groups,
            weights=None if self.weights is None else self.weights[index],
        )

    def with_features(self, indices: Sequence[int]) -> "FeatureTable":
        """Return the table of some of the features, with all streams and ticks."""
        features = tuple(self.features[i] for i in indices) if self.features else ()
        return replace(self, values=self.values[:, :, list(indices)], features=features)

    def at(self, ticks: Integers) -> "FeatureTable":
        """Return the table of some of the ticks, ascending and counted from 1, as if there were no others."""
        if len(ticks) == self.n_ticks:  # all of them: no copy
            return self
        lengths = np.searchsorted(ticks, self.lengths, side="right")
        return replace(self, values=self.values[:, ticks - 1], lengths=lengths)

    def instances(self, time_limit: int) -> tuple[Array, Labels, Integers]:
        """Return the training instances of a classifier: one row per stream and tick up to the time limit.

        Returns
        -------
        values : ndarray of shape (n_rows, n_features)
            Feature values.
        labels, streams : ndarray of shape (n_rows,)
            Class and stream index of each row.
        """
        streams, ticks = self.rows(np.arange(1, min(self.n_ticks, time_limit) + 1))
        return self.values[streams, ticks - 1], self.labels[streams], streams

    def row_weights(self, streams: Integers) -> Array:
        """Return weights of rows of some `streams`: those of a stream are equal, and sum to what it counts."""
        weights = np.ones(len(self.labels)) if self.weights is None else self.weights
        shares: Array = (weights / np.maximum(np.bincount(streams, minlength=len(weights)), 1))[streams]
        return shares

    def sample_rows(self, positions: npt.ArrayLike, most: int, seed: int) -> tuple[Integers, Integers]:
        """Return `rows` at some positions, sampling about `most` if there are more.

        Sampling is stratified by class, with at least `MIN_OF_A_CLASS` instances of a class that has as many.
        """
        streams, ticks = self.rows(positions)
        if len(streams) <= most:
            return streams, ticks
        rng, labels, drawn = np.random.default_rng(seed), self.labels[streams], []
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            n_drawn = min(len(members), max(MIN_OF_A_CLASS, round(most * len(members) / len(labels))))
            drawn.append(rng.choice(members, n_drawn, replace=False))
        kept = np.sort(np.concatenate(drawn))
        return streams[kept], ticks[kept]

    def rows(self, positions: npt.ArrayLike | None = None) -> tuple[Integers, Integers]:
        """Return streams and ticks of the table's instances, ordered by position, then by stream.

        Parameters
        ----------
        positions : array_like of int, optional
            Ticks, counted from 1; by default all.

        Returns
        -------
        streams, positions : ndarray of shape (n_rows,)
            Row i is stream `streams[i]` at tick `positions[i]`; a stream has no rows beyond its length.
        """
        grid = np.arange(1, self.n_ticks + 1) if positions is None else np.asarray(positions, dtype=np.int64)
        place, streams = np.nonzero(grid[:, np.newaxis] <= self.lengths)
        return streams, grid[place]


def require_episodes(streams: StreamSet, features: Sequence[Feature], lengths: Integers) -> None:
    """Refuse recorded streams if, by the `lengths` of their episodes, no stream of some class has one."""
    channels = channels_of(features)
    read = {channel if channel in streams.columns else split_channel(channel)[0] for channel in channels}
    for label in streams.classes:
        members = streams.labels == label
        if not lengths[members].any():
            n_known, rarest = min((int(np.isfinite(streams.column(c)[members]).sum()), c) for c in read)
            raise DataError(
                f"no stream of class {label!r} has a tick by which all columns of the features are known; "
                f"{rarest} has {n_known} readings in all of them: leave it out"
            )


def episode_lengths(streams: StreamSet, features: Sequence[Feature], max_silence: float | None = None) -> Integers:
    """Return how many ticks each stream's episode has, which opens once all channels of the features are known."""
    channels, lengths = channels_of(features), np.zeros(len(streams), np.int64)
    for rows, part in parts_of(streams, len(channels)):
        lengths[rows] = part.seen_through(channels, max_silence).episodes().lengths
    return lengths


def parts_of(streams: StreamSet, n_values: int, n_parts: int = 1) -> Iterator[tuple[Integers, StreamSet]]:
    """Yield the places of streams of similar length, and these streams, cut to the longest of them.

    With `n_values` numbers a tick, those of a part take at most `PART_BYTES`, or are of a single stream. There
    are at least `n_parts`, if there are as many streams. Those without a tick are in no part, unless there are no
    others.
    """
    order = np.argsort(-streams.lengths, kind="stable")
    order = order[streams.lengths[order] > 0]
    most = max(len(order) // n_parts, 1)
    if not len(order):
        yield np.arange(len(streams)), streams
    while len(order):
        n_ticks = int(streams.lengths[order[0]])
        n_streams = min(max(PART_BYTES // (8 * max(n_ticks * n_values, 1)), 1), most)
        rows, order = np.sort(order[:n_streams]), order[n_streams:]
        yield rows, streams.take(rows).until(n_ticks)


def tabulate(
    streams: StreamSet,
    features: Sequence[Feature],
    max_silence: float | None = None,
    ticks: Integers | None = None,
) -> FeatureTable:
    """Compute features of every prefix of recorded streams, as a gateway would see them.

    Parameters
    ----------
    streams : StreamSet
        The recorded streams.
    features : sequence of Feature
        Features to compute; their columns may have report policies.
    max_silence : float, optional
        Seconds for which a value sent on change is held; by default indefinitely.
    ticks : ndarray of int, optional
        The ticks that are kept, ascending and counted from 1, as by `FeatureTable.at`; by default all.

    Returns
    -------
    FeatureTable
        Tick 1 of a stream is its first tick at which all channels of the features have a value.

    Raises
    ------
    DataError
        If a feature reads a column that the streams do not have, or the table would take more than half of the
        machine's memory.
    TypeError
        If `streams` is no `StreamSet`.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> streams = StreamSet([[[20.0], [22.0]]], ["warm"], ["t"])
    >>> tabulate(streams, [fx.get("mean(t)")]).values
    array([[[20.],
            [21.]]])
    """
    require_streams(streams)
    kept = np.arange(1, streams.n_ticks + 1) if ticks is None else ticks
    _require_memory(len(streams), len(kept), len(features))
    values = np.full((len(streams), len(kept), len(features)), np.nan)
    lengths = np.zeros(len(streams), np.int64)
    others = workers()
    parts = parts_of(streams, len(features), 1 if others is None else others.n)
    is_small = 8 * len(streams) * streams.n_ticks * len(features) <= PART_BYTES  # threads take longer to begin
    map_parts = others.map if others is not None else map if is_small else map_ahead
    for rows, found, ended in map_parts(partial(_values_of, tuple(features), max_silence, kept), parts):
        values[rows, : found.shape[1]], lengths[rows] = found, ended
    return FeatureTable(
        values, streams.labels, tuple(features), lengths, streams.period, streams.groups, streams.weights
    )


def _values_of(
    features: Sequence[Feature], max_silence: float | None, kept: Integers, part: tuple[Integers, StreamSet]
) -> tuple[Integers, Array, Integers]:
    """Compute features of a part; return its rows, the values at kept ticks, and how many of these there are."""
    rows, streams = part
    channels = channels_of(features)
    seen = streams.seen_through(channels, max_silence).episodes().until(int(kept.max(initial=0)))
    within = kept[kept <= seen.n_ticks]
    found = scan(features, seen.values, np.arange(seen.n_ticks) * seen.period, channels)
    if len(within) < seen.n_ticks:
        found = found[:, within - 1]
    lengths = np.searchsorted(kept, seen.lengths, side="right")
    found[np.arange(len(within)) >= lengths[:, np.newaxis]] = np.nan
    return rows, found, lengths


def _require_memory(n_streams: int, n_ticks: int, n_features: int) -> None:
    """Refuse a table that would take more than half of the machine's memory."""
    gibibytes = 8 * n_streams * n_ticks * n_features / 2**30
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    if gibibytes > memory / 2:
        raise DataError(
            f"{n_features} features of {n_streams} streams at {n_ticks} ticks take {gibibytes:.1f} GiB, more than "
            f"half of this machine's {memory:.1f}: offer fewer features, or cut the streams (--time-limit)"
        )

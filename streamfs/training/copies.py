"""Streams that are copies of others, though they were recorded under names of their own."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from feature_extractors.arrays import Array, Integers
from streamfs.data.shared_columns import FEWEST_CHANGES
from streamfs.data.streams import StreamSet

NEAR = 0.01
"""Root mean square difference of copies at most, in standard deviations of their columns within a stream."""

N_PROJECTIONS = 8
"""Random projections of streams among which near ones are sought."""

N_NEAREST = 16
"""Streams with which each is compared at most, the nearest."""

SEED = 0
"""Of the projections."""


def copies(streams: StreamSet) -> Integers:
    """Return a number for each stream, shape (n_streams,), which copies have in common.

    Copies have equal or nearly equal readings at the same ticks. Streams that hardly change are not compared,
    since they may be equal though each was recorded on its own.
    """
    lively = np.flatnonzero(_changes(streams.values) >= FEWEST_CHANGES)
    number, first = np.arange(len(streams)), dict[bytes, int]()
    number[lively] = [first.setdefault(streams.values[i].tobytes(), i) for i in lively.tolist()]
    unlike = np.array(list(first.values()), np.int64)
    one, other = unlike[_near_pairs(streams.values[unlike])].T
    links = coo_array((np.ones(len(one)), (one, other)), shape=(len(streams), len(streams)))
    return np.asarray(connected_components(links, directed=False)[1][number], dtype=np.int64)


def _changes(values: Array) -> Integers:
    """Return how often readings differ from the ones before, shape (n_streams,)."""
    steps = np.diff(values, axis=1)
    return np.asarray((np.abs(np.nan_to_num(steps)) > 0).sum(axis=(1, 2)), dtype=np.int64)


def _near_pairs(values: Array) -> Integers:
    """Return pairs of streams with nearly equal readings, shape (n_pairs, 2); of very many near ones, some."""
    if len(values) < 2:
        return np.zeros((0, 2), np.int64)
    points, widths = _projected(values)
    n_nearest = min(N_NEAREST, len(values))
    _, nearest = cKDTree(points).query(points, range(1, n_nearest + 1), distance_upper_bound=8.0 * NEAR)
    one, other = np.repeat(np.arange(len(values)), n_nearest), np.ravel(nearest)
    pairs: Integers = np.stack([one, other], axis=1)[(one != other) & (other < len(values))]
    return pairs[[_are_near(values[i], values[j], widths[i]) for i, j in pairs.tolist()]]


def _projected(values: Array) -> tuple[Array, Array]:
    """Return random projections of streams without level and size, and the deviations of their columns."""
    known = np.isfinite(values)
    n_known = np.maximum(known.sum(axis=1), 1)
    means = np.where(known, values, 0.0).sum(axis=1) / n_known
    centred = np.where(known, values - means[:, np.newaxis], 0.0)
    widths = np.sqrt((centred**2).sum(axis=1) / n_known)
    flat = (centred / np.where(widths > 0, widths, 1.0)[:, np.newaxis]).reshape(len(values), -1)
    drawn = np.random.default_rng(SEED).normal(size=(flat.shape[1], N_PROJECTIONS))
    return flat @ drawn / np.sqrt(known.sum(axis=(1, 2)))[:, np.newaxis], widths


def _are_near(one: Array, other: Array, widths: Array) -> bool:
    """Return whether two streams have the same ticks, and nearly the same readings."""
    known = np.isfinite(one)
    if (known != np.isfinite(other)).any():
        return False
    differences = np.where(known, one - other, 0.0)
    allowed = NEAR * widths * np.sqrt(known.sum(axis=0))
    return bool((np.sqrt((differences**2).sum(axis=0)) <= allowed).all())

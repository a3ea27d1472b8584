"""The ticks at which recorded streams begin and end."""

import numpy as np

from feature_extractors.arrays import Array, Integers


def first_complete(needed: Array, lengths: Integers) -> Integers:
    """Return the tick, from 0, at which each stream first has all values; its length if it never has."""
    n_ticks = needed.shape[1]
    ticks = np.arange(n_ticks)
    complete = (ticks < lengths[:, np.newaxis]) & ~np.isnan(needed).any(axis=2)
    first = np.where(complete, ticks, n_ticks).min(axis=1, initial=n_ticks)
    return np.asarray(np.minimum(first, lengths))


def ends_of(values: Array) -> Integers:
    """Return the ticks of each stream, of shape (n_streams, n_ticks, n_columns), up to the last with a value."""
    known = np.asarray(~np.isnan(values).all(axis=2))
    if not known.size:
        return np.zeros(len(values), dtype=np.int64)
    return np.where(known.any(axis=1), values.shape[1] - known[:, ::-1].argmax(axis=1), 0)

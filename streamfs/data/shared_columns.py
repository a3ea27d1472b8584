"""Columns whose readings several streams share, as those of a node do that is in several pairs."""

from hashlib import blake2b

import numpy as np

from feature_extractors.arrays import Array, Integers

FEWEST_CHANGES = 8
"""Changes of readings below which they may equal others by chance."""


def shared_columns(values: Array) -> tuple[Integers, Integers]:
    """Return streams that share a column's readings, to the bit, and for each a number that these have in common.

    What more than half of all streams have, such as a clock, is left out.

    Parameters
    ----------
    values : ndarray of shape (n_streams, n_ticks, n_columns)
        Readings; NaN is missing.

    Returns
    -------
    streams, numbers : ndarray of shape (n_shared,)
        A stream that shares several columns is there for each of them.

    Examples
    --------
    >>> kitchen, hall, attic = np.random.default_rng(0).normal(size=(3, 20))
    >>> pairs = [(kitchen, hall), (hall, attic), (attic, attic), (attic, -kitchen), (-hall, -attic)]
    >>> streams, numbers = shared_columns(np.stack(pairs).transpose(0, 2, 1))
    >>> streams.tolist(), numbers.tolist()
    ([0, 1], [0, 0])
    """
    changes = np.count_nonzero(np.diff(np.nan_to_num(values), axis=1), axis=1)
    rows, columns = np.nonzero(changes >= FEWEST_CHANGES)
    by_column = np.ascontiguousarray(values.transpose(0, 2, 1))
    number_of, found = dict[bytes, int](), set[tuple[int, int]]()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        digest = blake2b(by_column[row, column].tobytes(), digest_size=16).digest()
        found.add((row, number_of.setdefault(digest, len(number_of))))
    streams, numbers = np.array(sorted(found), dtype=np.int64).reshape(-1, 2).T
    counts = np.bincount(numbers, minlength=1)
    is_shared = ((counts > 1) & (counts <= len(values) / 2))[numbers]
    return streams[is_shared], np.unique(numbers[is_shared], return_inverse=True)[1]

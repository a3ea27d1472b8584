"""Fingerprints by which streams are known again, of which a model keeps a few."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

from streamfs.data.streams import StreamSet

MOST_KEPT = 64
"""Most fingerprints that a model keeps: the least of all, a random sample."""


def fingerprints(streams: StreamSet) -> list[str]:
    """Return the least fingerprints of streams, at most `MOST_KEPT`, rising; those without readings have none.

    Streams with the same readings in the same columns have the same, whatever their order, names and labels.
    """
    return sorted(set(_all(streams)))[:MOST_KEPT]


def n_known(kept: Sequence[str], streams: StreamSet) -> int:
    """Return how many of the streams whose fingerprints were kept are among others.

    Examples
    --------
    >>> first = StreamSet([[[20.5], [21.0]], [[19.5], [19.0]]], ["on", "off"], ["t"])
    >>> again = StreamSet([[[19.5], [19.0]], [[18.0], [18.5]]], ["off", "off"], ["t"])
    >>> n_known(fingerprints(first), again)
    1
    """
    return len(set(kept) & set(_all(streams)))


def _all(streams: StreamSet) -> Iterator[str]:
    columns = np.argsort(streams.columns)
    for values, length in zip(streams.values, streams.lengths.tolist(), strict=True):
        readings = np.ascontiguousarray(values[:length, columns])
        known = ~np.isnan(readings)
        if known.any():
            readings[~known] = np.nan
            yield blake2b(readings.tobytes(), digest_size=8).hexdigest()

"""Streams to learn from, and streams that take no part before the test."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from streamfs.errors import DataError
from streamfs.promises.promise import Promise
from streamfs.selection.folds import make_folds
from streamfs.streams import StreamSet

N_PARTS = 5
N_TEST_PARTS = 2
"""Two fifths of the streams are for the test."""


class Division(NamedTuple):
    """Streams cut in two.

    Parameters
    ----------
    learning, testing : StreamSet
        To search and learn on, and to test on; they share no group.
    groups : ndarray of shape (n_learning,) or None
        Groups of those to learn from.
    """

    learning: StreamSet
    testing: StreamSet
    groups: npt.NDArray[Any] | None

    @classmethod
    def of(cls, streams: StreamSet, groups: npt.ArrayLike | None, seed: int) -> Self:
        """Cut streams in two, class by class, at random.

        Parameters
        ----------
        streams : StreamSet
            Labelled streams.
        groups : array_like of shape (n_streams,), optional
            The room, the site: what streams have in common that those to come may not have.
        seed : int
            Decides the parts.

        Raises
        ------
        DataError
            If there is not one group a stream, or there are too few groups, or streams of a class.

        Examples
        --------
        >>> streams = StreamSet(np.zeros((20, 1, 1)), ["a", "b"] * 10, ["t"])
        >>> [len(part) for part in Division.of(streams, None, seed=0)[:2]]
        [12, 8]
        """
        labels, sites = streams.labels, None if groups is None else np.asarray(groups)
        if sites is not None and sites.shape != (len(streams),):
            raise DataError(f"groups have shape {sites.shape}, expected {(len(streams),)}, one a stream")
        n_units = len(streams) if sites is None else len(np.unique(sites))
        if n_units < 2 * N_PARTS:
            what = "streams" if sites is None else "groups"
            raise DataError(f"there are {n_units} {what}, expected at least {2 * N_PARTS} to make a promise")
        folds = make_folds(np.zeros((len(streams), 1)), labels, sites, N_PARTS, seed)
        tested = np.concatenate([fold.test for fold in folds[:N_TEST_PARTS]])
        is_tested = np.isin(np.arange(len(streams)), tested)
        learning, testing = np.flatnonzero(~is_tested), np.flatnonzero(is_tested)
        left = None if sites is None else sites[learning]
        return cls(streams.take(learning), streams.take(testing), left)

    def require_enough(self, promise: Promise) -> None:
        """Refuse a test that could not be passed even if every label were right.

        Raises
        ------
        DataError
            Saying how many streams are needed.
        """
        n, fewest = len(self.testing), promise.fewest_streams
        if n < fewest:
            n_all = len(self.learning) + n
            raise DataError(
                f"of {n_all} streams {n} are left for the test, expected at least {fewest}: fewer cannot pass it "
                f"even if all their labels are right; record {round(n_all * fewest / n) + 1 - n_all} more"
            )

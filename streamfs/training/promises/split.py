"""Training streams, and streams that are not used before the test."""

from math import ceil
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers
from streamfs.data.stream_arrays import Labels
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.selection.folds import make_folds
from streamfs.training.kept_together import Ties, kept_together
from streamfs.training.promises.promise import Promise

N_PARTS = 5
N_TEST_PARTS = 2
"""Two fifths of the streams are for the test."""


class TrainTestSplit(NamedTuple):
    """Training and test streams without a common group; `groups` are those of the training streams.

    Streams that tell of each other share a group; `ties` counts them. `test_groups` are those of the test streams
    as they were given, None if none were.
    """

    train: StreamSet
    test: StreamSet
    groups: npt.NDArray[Any] | None
    ties: Ties
    test_groups: npt.NDArray[Any] | None = None

    @classmethod
    def of(cls, streams: StreamSet, groups: npt.ArrayLike | None, seed: int) -> Self:
        """Divide streams in two, class by class, at random; without `groups`, those of the streams go together."""
        labels, known = streams.labels, None if groups is None else _known(groups, streams)
        sites, ties = kept_together(streams, streams.groups if known is None else known)
        _require_units(labels, sites)
        folds = make_folds(np.zeros((len(streams), 1)), labels, sites, N_PARTS, seed)
        tested = np.concatenate([fold.test for fold in folds[:N_TEST_PARTS]])
        is_tested = np.isin(np.arange(len(streams)), tested)
        train, test = np.flatnonzero(~is_tested), np.flatnonzero(is_tested)
        _require_learnable(labels, sites, train)
        left = None if sites is None else sites[train]
        tested_groups = None if known is None else known[test]
        return cls(streams.take(train), streams.take(test), left, ties, tested_groups)

    def require_enough(self, promise: Promise) -> None:
        """Refuse a test that could not be passed even if every label were right, of each class if so promised."""
        labels = np.concatenate([self.train.labels, self.test.labels])
        _require_testable("streams", len(labels), len(self.test), promise.fewest_streams)
        if promise.per_class is not None:  # no more labels of a class are right than it has streams
            for label in np.unique(labels).tolist():
                n_all, n = (int((each == label).sum()) for each in (labels, self.test.labels))
                _require_testable(f"streams of class {label!r}", n_all, n, promise.fewest_labelled)


def _require_testable(what: str, n_all: int, n: int, fewest: int) -> None:
    """Refuse fewer streams in a test than can pass it; of all as many must be recorded as leave enough for it."""
    if n < fewest:
        needed = ceil(fewest * max(N_PARTS / N_TEST_PARTS, n_all / max(n, 1)))
        raise DataError(
            f"of {n_all} {what} {n} are left for the test, expected at least {fewest}: fewer cannot pass it "
            f"even if all their labels are right; record {needed - n_all} more"
        )


def _require_units(labels: Labels, sites: npt.NDArray[Any] | None) -> None:
    """Refuse too few streams or groups, and too few streams of the largest class."""
    what, n_units = ("streams", len(labels)) if sites is None else ("groups", len(np.unique(sites)))
    if n_units < 2 * N_PARTS:
        raise DataError(f"there are {n_units} {what}, expected at least {2 * N_PARTS} to make a promise")
    classes, sizes = np.unique(labels, return_counts=True)
    if sizes.max() < 2 * N_PARTS:
        raise DataError(
            f"the largest class, {str(classes[sizes.argmax()])!r}, has {sizes.max()} streams, expected at least "
            f"{2 * N_PARTS} to make a promise"
        )


def _require_learnable(labels: Labels, sites: npt.NDArray[Any] | None, train: Integers) -> None:
    """Refuse a class with fewer than two streams, or groups, to train on."""
    what, units = ("streams", np.arange(len(labels))) if sites is None else ("groups", sites)
    for label in np.unique(labels).tolist():
        n_left = len(np.unique(units[train][labels[train] == label]))
        if n_left < 2:
            n_units = len(np.unique(units[labels == label]))
            raise DataError(
                f"of {n_units} {what} of class {label!r} {n_left or 'none'} is left to train on, expected at "
                f"least 2, since {N_TEST_PARTS} of {N_PARTS} parts are for the test: record more {what} of it"
            )


def _known(groups: npt.ArrayLike, streams: StreamSet) -> npt.NDArray[Any]:
    """Return the group of each stream; none may be None or NaN."""
    sites = np.asarray(groups)
    if sites.shape != (len(streams),):
        raise DataError(f"groups have shape {sites.shape}, expected {(len(streams),)}, one a stream")
    for name, site in zip(streams.names, sites.tolist(), strict=True):
        if site is None or site != site:  # noqa: PLR0124 - only NaN differs from itself
            raise DataError(f"the group of stream {name} is {site}, expected a name or a number")
    return sites.astype(np.str_) if sites.dtype == object else sites

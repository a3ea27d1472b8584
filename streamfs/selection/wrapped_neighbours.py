"""Out-of-fold accuracy of nearest neighbours, for many subsets of features at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import nominal_mask
from streamfs.classifiers.neighbours import NeighborsClassifier, check_neighbors, in_threads, measure
from streamfs.selection._fold_sieve import FoldSieve
from streamfs.selection._wrapped_neighbours import TILE, Exact, Wrapped, count_right, make_neighbour_scratch
from streamfs.selection.evaluators import in_order
from streamfs.selection.folds import Fold


@dataclass(frozen=True)
class NeighborsEvaluator:
    """Out-of-fold accuracy of `NeighborsClassifier`, bit-equal to fitting it to each fold.

    Work for a subset of s features, with each of t others added, grows with s + t, not with s times t: distances
    by the subset are kept for a few rows at a time. Candidates are evaluated by several threads if it pays.
    """

    wrapped: Wrapped

    @classmethod
    def prepare(
        cls, classifier: NeighborsClassifier, X: Array, y: npt.NDArray[Any], folds: Sequence[Fold]
    ) -> Self:
        """Lay out rows and folds; ValueError for a bad parameter of the classifier, or a huge range."""
        folds = [fold for fold in folds if len(fold.test)]
        for fold in folds:
            check_neighbors(classifier.n_neighbors, classifier.power, len(fold.training))
        is_nominal = nominal_mask(classifier.nominal, X.shape[1])
        is_training = np.zeros((len(folds), len(X)), np.bool_)
        for number, fold in enumerate(folds):
            is_training[number, fold.training] = True
        sizes = [len(fold.test) for fold in folds]
        exact = _exact(X, is_nominal, folds, is_scaled=bool(classifier.scale))
        return cls(
            Wrapped(
                _sieve(exact, is_scaled=bool(classifier.scale), power=classifier.power),
                exact,
                np.unique(y, return_inverse=True)[1],
                is_training,
                np.concatenate([fold.test for fold in folds]),
                np.repeat(np.arange(len(folds)), sizes),
                _tiles(sizes),
                int(classifier.n_neighbors),
                int(classifier.power),
                classifier.ties == "all",
            )
        )

    def __call__(self, subset: Sequence[int]) -> float:
        """Evaluate a subset; errors as in `in_order`."""
        features = in_order(subset, self._n_features)
        after = features[np.newaxis]
        return float(self._evaluate(features[:-1], features[-1:], 1, after, is_shared=False)[0])

    def with_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features added; shape (n_features,)."""
        before, tried = self._checked(subset, features)
        for feature in tried[np.isin(tried, before)]:
            raise ValueError(f"subset is {before.tolist()}, expected one without {feature}, which is added")
        after = np.column_stack([np.tile(before, (len(tried), 1)), tried])
        return self._evaluate(before, tried, 1, np.sort(after, axis=1))

    def without_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        """Evaluate the subset with each of some features removed; shape (n_features,)."""
        before, tried = self._checked(subset, features)
        for feature in tried[~np.isin(tried, before)]:
            raise ValueError(f"subset is {before.tolist()}, expected one with {feature}, which is removed")
        if len(before) < 2:
            raise ValueError(f"subset is {before.tolist()}, expected at least 2 features")
        after = np.tile(before, (len(tried), 1))
        after = after[after != tried[:, np.newaxis]].reshape(len(tried), len(before) - 1)
        return self._evaluate(before, tried, -1, after)

    @property
    def _n_features(self) -> int:
        return len(self.wrapped.exact.is_nominal)

    def _checked(self, subset: Sequence[int], features: Sequence[int]) -> tuple[Integers, Integers]:
        """Return the features of a subset, and those to try, in the given order."""
        in_order(features, self._n_features, 0)
        return in_order(subset, self._n_features, 0), np.asarray(features, np.int64)

    def _evaluate(
        self, subset: Integers, tried: Integers, sign: int, subsets: Integers, *, is_shared: bool = True
    ) -> Array:
        """Evaluate changes of a subset, and the resulting subsets, in threads or not."""
        counts: list[Integers] = []

        def count(tiles: slice) -> None:
            n_right, scratch = np.zeros(len(tried), np.int64), make_neighbour_scratch(self.wrapped)
            count_right(self.wrapped, subset, tried, sign, subsets, tiles.start, tiles.stop, scratch, n_right)
            counts.append(n_right)

        n_tiles, n_queries = len(self.wrapped.tiles) - 1, len(self.wrapped.queries)
        n_differences = n_queries * len(self.wrapped.classes) * (len(subset) + len(tried))
        if is_shared:
            in_threads(count, n_tiles, n_differences)
        else:
            count(slice(0, n_tiles))
        return np.asarray(np.sum(counts, axis=0) / n_queries)


def _tiles(sizes: Sequence[int]) -> Integers:
    """Return where tiles begin, each of rows of one fold only."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    tiles = [np.arange(start, start + size, TILE) for start, size in zip(starts, sizes, strict=False)]
    found: Integers = np.concatenate([*tiles, starts[-1:]]).astype(np.int64)
    return found


def _exact(X: Array, is_nominal: npt.NDArray[np.bool_], folds: Sequence[Fold], *, is_scaled: bool) -> Exact:
    """Measure the features by the training rows of each fold."""
    scales = [measure(X[fold.training], is_nominal, is_scaled=is_scaled) for fold in folds]
    lows, divisors, extents = (np.array([scale[part] for scale in scales]) for part in range(3))
    return Exact(np.ascontiguousarray(X, np.float64), is_nominal, lows, divisors, extents)


def _sieve(exact: Exact, *, is_scaled: bool, power: int) -> FoldSieve:
    """Lay out the rows in single precision, in units in which differences are about 1."""
    values, is_nominal = exact.values, exact.is_nominal
    overall = measure(values, is_nominal, is_scaled=False)
    spans = np.where(is_nominal, 1.0, overall.extents)
    shares = (values - overall.lows) / np.where(spans > 0.0, spans, 1.0)
    for f in np.flatnonzero(is_nominal):
        known = ~np.isnan(values[:, f])
        shares[known, f] = np.unique(values[known, f], return_inverse=True)[1]
    unit = 1.0 if is_scaled else max(spans.max(), np.finfo(np.float64).tiny)
    factors = spans / exact.divisors / unit
    lows = (exact.lows - overall.lows) / np.where(spans > 0.0, spans, 1.0)
    reaches = np.maximum(factors, exact.extents / unit) ** power
    return FoldSieve(
        np.ascontiguousarray(shares.T, np.float32),
        is_nominal,
        np.asarray(np.isnan(values).any(axis=0)),
        factors.astype(np.float32),
        lows.astype(np.float32),
        (exact.extents / unit).astype(np.float32),
        reaches,
    )

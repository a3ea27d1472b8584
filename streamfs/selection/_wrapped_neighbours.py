"""Compiled evaluation of subsets by the nearest rows outside each row's fold.

Distances by a subset and each candidate feature are first computed in single precision, where that feature is
added to the others or subtracted. Only if rounding leaves the nearest rows undecided are distances computed again
in double precision, feature by feature in order.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import inlined, kernel
from streamfs.classifiers._neighbours import difference, insert
from streamfs.relief._sieve import UNLIMITED, Singles
from streamfs.selection._fold_sieve import DOUBT, TOO_FAR, FoldSieve, Single, add

Integers32 = npt.NDArray[np.int32]

TILE = 8
"""Queries of a fold processed together, so that shared data stays in the cache."""

BLOCK = 512
"""Rows whose distances to a tile are computed at once, for the same reason."""

STRETCH = 32
"""Rows tested together first for whether any is near."""


class Exact(NamedTuple):
    """Rows, (n_rows, n_features), in double precision, and scales by fold and feature, as in `Scales`."""

    values: Array
    is_nominal: npt.NDArray[np.bool_]
    lows: Array
    divisors: Array
    extents: Array


class Wrapped(NamedTuple):
    """Rows, and which of them are queries of which fold.

    `is_training`, (n_folds, n_rows), marks possible neighbours; `queries` and `folds` are the rows to classify,
    fold by fold, and `tiles` where tiles of queries begin, each in one fold. Each difference is raised to `power`.
    If they are `tied`, all rows as near as the last of the nearest vote.
    """

    sieve: FoldSieve
    exact: Exact
    classes: Integers
    is_training: npt.NDArray[np.bool_]
    queries: Integers
    folds: Integers
    tiles: Integers
    n_neighbors: int
    power: int
    tied: bool


class NeighbourScratch(NamedTuple):
    """Scratch arrays of one thread.

    `base`, (TILE, n_rows), holds distances by the subset; `near`, (n_stretches * STRETCH,), those of one query
    with a feature added or removed, infinite beyond the last row; `minima`, (n_stretches,), the least of each
    stretch; `exact` those in double precision of the rows that passed, if ties vote. The fields in bits share
    their memory as int32.
    """

    base: Singles
    near: Singles
    minima: Singles
    bits: Integers32
    minima_bits: Integers32
    exact: Array
    passed: Integers
    distances: Array
    rows: Integers
    votes: Integers


def make_neighbour_scratch(wrapped: Wrapped) -> NeighbourScratch:
    """Allocate the scratch arrays of one thread."""
    n_rows, k = len(wrapped.classes), wrapped.n_neighbors
    n_stretches = -(-n_rows // STRETCH)
    near, minima = np.full(n_stretches * STRETCH, np.inf, np.float32), np.empty(n_stretches, np.float32)
    return NeighbourScratch(
        np.empty((TILE, n_rows), np.float32),
        near,
        minima,
        near.view(np.int32),
        minima.view(np.int32),
        np.empty(len(near) if wrapped.tied else 0),
        np.empty(len(near), np.int64),
        np.empty(k + 1),
        np.empty(k + 1, np.int64),
        np.empty(int(wrapped.classes.max()) + 1, np.int64),
    )


@kernel
def _copy(source: Singles, target: Singles) -> None:
    for j in range(len(target)):
        target[j] = source[j]


@inlined
def _fill_base(wrapped: Wrapped, first: int, stop: int, subset: Integers, base: Singles) -> None:
    """Compute the distances of a tile of queries by the subset; infinite from rows that may not be neighbours."""
    for start in range(0, len(wrapped.classes), BLOCK):
        end = min(len(wrapped.classes), start + BLOCK)
        for q in range(first, stop):
            may_be = wrapped.is_training[wrapped.folds[q]]
            for j in range(start, end):
                base[q - first, j] = Single(0.0) if may_be[j] else Single(np.inf)
        for f in subset:
            for q in range(first, stop):
                part, row = base[q - first, start:end], wrapped.queries[q]
                add(wrapped.sieve, wrapped.power == 2, wrapped.folds[q], row, f, Single(1.0), start, part)


@inlined
def _distance(wrapped: Wrapped, fold: int, i: int, j: int, features: Integers) -> float:
    """Sum the differences of two rows in double precision, each raised to the power."""
    exact, total = wrapped.exact, 0.0
    for f in features:
        a, b, is_nominal = exact.values[i, f], exact.values[j, f], exact.is_nominal[f]
        d = difference(a, b, exact.lows[fold, f], exact.divisors[fold, f], exact.extents[fold, f], is_nominal)
        total += d if wrapped.power == 1 else d * d
    return total


@kernel
def _fill_minima(bits: Integers32, minima_bits: Integers32) -> None:
    """Compute the minimum of each stretch; numbers of one sign are ordered as the integers of the same bits."""
    for stretch in range(len(minima_bits)):
        least = bits[stretch * STRETCH]
        for place in range(stretch * STRETCH, (stretch + 1) * STRETCH):
            least = min(least, bits[place])
        minima_bits[stretch] = least


@inlined
def _pass_all(wrapped: Wrapped, fold: int, scratch: NeighbourScratch) -> int:
    """List all rows that may be neighbours, as if equally near; return their number."""
    n_passed = 0
    for j in range(len(wrapped.classes)):
        scratch.near[j] = Single(0.0)
        scratch.passed[n_passed] = j
        n_passed += wrapped.is_training[fold, j]
    return n_passed


@inlined
def _let_pass(n_neighbors: int, doubt: Single, scratch: NeighbourScratch) -> int:
    """List rows that include the nearest, and few others; return their number.

    Their limit is the distance within which `n_neighbors` stretches have a row.
    """
    _fill_minima(scratch.bits, scratch.minima_bits)
    n_found, limit = 0, UNLIMITED
    for stretch in range(len(scratch.minima)):
        if scratch.minima[stretch] < limit:
            n_found = insert(scratch.minima[stretch], stretch, n_found, scratch.distances, scratch.rows)
            if n_found >= n_neighbors:
                limit = Single(scratch.distances[n_neighbors - 1])
    limit = min(UNLIMITED, limit + doubt)
    n_passed = 0
    for stretch in range(len(scratch.minima)):
        if scratch.minima[stretch] <= limit:
            for j in range(stretch * STRETCH, (stretch + 1) * STRETCH):
                scratch.passed[n_passed] = j
                n_passed += scratch.near[j] <= limit
    return n_passed


@inlined
def _passing(wrapped: Wrapped, fold: int, doubt: Single, most: float, scratch: NeighbourScratch) -> int:
    """List rows that include the nearest, and all that are as near as these; return their number."""
    if most < TOO_FAR:
        return int(_let_pass(wrapped.n_neighbors, doubt, scratch))
    return int(_pass_all(wrapped, fold, scratch))


@inlined
def _find_nearest(wrapped: Wrapped, q: int, features: Integers, most: float, scratch: NeighbourScratch) -> None:
    """Find the nearest rows of a query by some features, whose distances are in `scratch.near`."""
    fold, k, near = wrapped.folds[q], wrapped.n_neighbors, scratch.near
    doubt = Single(DOUBT * (11 + len(features)) * most + 1.0 / TOO_FAR)
    n_passed = _passing(wrapped, fold, doubt, most, scratch)
    n_found = 0
    for place in range(n_passed):
        j = scratch.passed[place]
        n_found = insert(near[j], j, n_found, scratch.distances, scratch.rows)
    if n_found <= k or scratch.distances[k] > scratch.distances[k - 1] + doubt:
        return
    limit, n_found = scratch.distances[k - 1] + doubt, 0
    for place in range(n_passed):
        j = scratch.passed[place]
        if near[j] <= limit:
            exact = _distance(wrapped, fold, wrapped.queries[q], j, features)
            n_found = insert(exact, j, n_found, scratch.distances, scratch.rows)


@inlined
def _vote(wrapped: Wrapped, q: int, features: Integers, most: float, scratch: NeighbourScratch) -> None:
    """Let the nearest rows of a query vote."""
    _find_nearest(wrapped, q, features, most, scratch)
    scratch.votes[:] = 0
    for place in range(wrapped.n_neighbors):
        scratch.votes[wrapped.classes[scratch.rows[place]]] += 1


@inlined
def _vote_with_ties(wrapped: Wrapped, q: int, features: Integers, most: float, scratch: NeighbourScratch) -> None:
    """Let all rows of a query vote that are as near as the last of the nearest."""
    fold, n_found = wrapped.folds[q], 0
    doubt = Single(DOUBT * (11 + len(features)) * most + 1.0 / TOO_FAR)
    n_passed = _passing(wrapped, fold, doubt, most, scratch)
    for place in range(n_passed):
        j = scratch.passed[place]
        scratch.exact[place] = _distance(wrapped, fold, wrapped.queries[q], j, features)
        n_found = insert(scratch.exact[place], j, n_found, scratch.distances, scratch.rows)
    scratch.votes[:] = 0
    for place in range(n_passed):
        if scratch.exact[place] <= scratch.distances[wrapped.n_neighbors - 1]:
            scratch.votes[wrapped.classes[scratch.passed[place]]] += 1


@inlined
def _is_right(wrapped: Wrapped, q: int, features: Integers, most: float, scratch: NeighbourScratch) -> bool:
    """Return whether the class with most votes, the first of equals, is that of the query."""
    if wrapped.tied:
        _vote_with_ties(wrapped, q, features, most, scratch)
    else:
        _vote(wrapped, q, features, most, scratch)
    return bool(scratch.votes.argmax() == wrapped.classes[wrapped.queries[q]])


@kernel
def count_right(
    wrapped: Wrapped,
    subset: Integers,
    tried: Integers,
    sign: int,
    subsets: Integers,
    first_tile: int,
    last_tile: int,
    scratch: NeighbourScratch,
    n_right: Integers,
) -> None:
    """Count correctly classified queries of some tiles, with each of `tried` added (sign 1) or removed (sign -1).

    This gives the rising `subsets`, (n_tried, n_chosen); `n_right`, (n_tried,), is added to.
    """
    for tile in range(first_tile, last_tile):
        first, stop = wrapped.tiles[tile], wrapped.tiles[tile + 1]
        _fill_base(wrapped, first, stop, subset, scratch.base)
        fold = wrapped.folds[first]
        for c in range(len(tried)):
            most = wrapped.sieve.reaches[fold, tried[c]]
            for f in subset:
                most += wrapped.sieve.reaches[fold, f]
            for q in range(first, stop):
                near = scratch.near[: len(wrapped.classes)]
                _copy(scratch.base[q - first], near)
                row = wrapped.queries[q]
                add(wrapped.sieve, wrapped.power == 2, fold, row, tried[c], Single(sign), 0, near)
                n_right[c] += _is_right(wrapped, q, subsets[c], most, scratch)

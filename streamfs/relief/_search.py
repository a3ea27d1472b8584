"""Compiled search for the nearest rows of each class, and the gain of each feature from them.

Among the rows that pass the sieve, the nearest are those least in exact distance, then in index. Each chunk of
rows adds up its own gains, so the result is the same for any number of threads.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import inlined, kernel
from streamfs.relief._field import Field, sift_tile
from streamfs.relief._kernels import Measured, difference, distance
from streamfs.relief._sieve import LANES, UNLIMITED, Singles, first_limit, let_pass

CHUNK = 64
"""Rows whose gains are added up together, for any number of threads."""

TILE = 8
"""Rows sifted together."""

NEIGHBOUR = np.dtype([("row", np.int64), ("near", np.float32), ("distance", np.float64)], align=True)
"""A neighbour: its row, its distance in the sieve, and its exact distance, NaN until it is needed."""

Neighbours = npt.NDArray[np.void]


class Voting(NamedTuple):
    """How near rows of each class contribute to the gains.

    `lists`, (n_classes, n_classes), is the list in which a row of the first class keeps neighbours of the second,
    and `factors`, (n_classes, n_lists), that of the list's mean difference. If `needs_all`, an empty list voids
    the row.
    """

    lists: Integers
    factors: Array
    n_neighbors: int
    needs_all: bool


class Lists(NamedTuple):
    """The nearest rows of a row so far, and scratch arrays.

    `known`, (n_lists, n_neighbors + 1), holds `NEIGHBOUR`s in any order, the last a candidate; `n_found` and
    `limits`, (n_lists,), the length of each list and the sieve's limit for it. Each class has its places of the
    field in `passed`; `n_passed` and `n_taken`, (n_classes,), count its later rows that have passed and those that
    have arrived. `gain`, (n_features,), is the gain of each feature from the nearest rows.
    """

    known: Neighbours
    n_found: Integers
    limits: Singles
    lanes: Singles
    passed: Integers
    n_passed: Integers
    n_taken: Integers
    gain: Array
    near: Singles


def make_lists(field: Field, voting: Voting) -> Lists:
    """Allocate the lists and scratch arrays of one thread."""
    n_lists, n_rows = voting.factors.shape[1], len(field.sieve.rows)
    return Lists(
        np.empty((n_lists, voting.n_neighbors + 1), NEIGHBOUR),
        np.empty(n_lists, np.int64),
        np.empty(n_lists, np.float32),
        np.empty(max(LANES, 4 * voting.n_neighbors), np.float32),
        np.empty(n_rows, np.int64),
        np.empty(len(field.starts), np.int64),
        np.empty(len(field.starts), np.int64),
        np.empty(len(field.measured.spans)),
        np.empty((TILE, n_rows), np.float32),
    )


@kernel
def _measure_exactly(measured: Measured, power: int, i: int, known: Neighbours, rank: int) -> None:
    """Fill in the exact distance of a neighbour of row i, unless it is known."""
    if np.isnan(known[rank].distance):
        known[rank].distance = distance(measured.values, measured.spans, measured.far, power, i, known[rank].row)


@kernel
def _is_nearer(
    measured: Measured, power: int, doubt: np.float32, i: int, known: Neighbours, a: int, b: int
) -> bool:
    """Return whether the a-th neighbour of row i is nearer than the b-th, or as near and of lower index."""
    if abs(known[b].near - known[a].near) > doubt:
        return bool(known[a].near < known[b].near)
    _measure_exactly(measured, power, i, known, a)
    _measure_exactly(measured, power, i, known, b)
    is_tie = known[a].distance == known[b].distance
    return bool(known[a].row < known[b].row if is_tie else known[a].distance < known[b].distance)


@kernel
def _farthest(measured: Measured, power: int, doubt: np.float32, i: int, known: Neighbours) -> int:
    """Return the rank of the farthest neighbour of row i, the last one left out."""
    farthest = 0
    for rank in range(1, len(known) - 1):
        if _is_nearer(measured, power, doubt, i, known, farthest, rank):
            farthest = rank
    return farthest


@kernel
def _take(
    measured: Measured,
    power: int,
    doubt: np.float32,
    i: int,
    near: Singles,
    rows: Integers,
    passed: Integers,
    known: Neighbours,
    n: int,
) -> int:
    """Add rows that passed the sieve, with distances `near`, to a list of row i; return its new length."""
    last = len(known) - 1
    for place in passed:
        known[n].row, known[n].near, known[n].distance = rows[place], near[place], np.nan
        if n < last:
            n += 1
        else:
            farthest = _farthest(measured, power, doubt, i, known)
            if _is_nearer(measured, power, doubt, i, known, last, farthest):
                known[farthest] = known[last]
    return n


@inlined
def _vote(field: Field, voting: Voting, lists: Lists, i: int) -> bool:
    """Fill `lists.gain` with the gains from the nearest rows of row i; return whether the row counts."""
    values, spans, far, power = field.measured.values, field.measured.spans, field.measured.far, field.sieve.power
    known, n_found, gain = lists.known, lists.n_found, lists.gain
    gain[:] = 0.0
    for s in range(len(n_found)):
        if voting.needs_all and n_found[s] == 0:
            return False
    for s in range(len(n_found)):
        factor = voting.factors[field.members.classes[i], s] / max(1, n_found[s])
        for rank in range(n_found[s]):
            j = known[s, rank].row
            for f in range(len(gain)):
                d = difference(values, spans, far, i, j, f)
                gain[f] += factor * (d if power == 1 else d * d)
    return True


@inlined
def _offer(field: Field, voting: Voting, lists: Lists, i: int, c: int, near: Singles, passed: Integers) -> bool:
    """Offer row i rows of class c that passed the sieve, by their places; return whether there are any."""
    if len(passed) == 0:
        return False
    s, k, doubt = voting.lists[field.members.classes[i], c], voting.n_neighbors, field.sieve.doubt
    measured, power, known = field.measured, field.sieve.power, lists.known[s]
    n_found = _take(measured, power, doubt, i, near, field.sieve.rows, passed, known, lists.n_found[s])
    lists.n_found[s] = n_found
    if n_found == k:
        lists.limits[s] = known[_farthest(measured, power, doubt, i, known)].near + doubt
    return True


@inlined
def _offer_first(field: Field, voting: Voting, lists: Lists, i: int, c: int, near: Singles) -> bool:
    """Offer row i the rows of class c up to its own batch; return whether any passed the sieve."""
    start, stop = field.starts[c, 0], field.starts[c, field.members.batches[i] + 1]
    limit = lists.limits[voting.lists[field.members.classes[i], c]]
    if limit == UNLIMITED:
        most = 2.0 * len(lists.gain)
        limit = first_limit(near[start:stop], voting.n_neighbors, most, lists.lanes) + field.sieve.doubt
    passed = lists.passed[start:]
    n_passed = let_pass(near, start, stop, min(UNLIMITED, limit), passed)
    return bool(_offer(field, voting, lists, i, c, near, passed[:n_passed]))


@inlined
def _sift_later(field: Field, voting: Voting, lists: Lists, i: int, c: int, near: Singles) -> None:
    """List the rows of class c after the batch of row i that are within its limit."""
    start, stop = field.starts[c, field.members.batches[i] + 1], field.starts[c, -1]
    limit = lists.limits[voting.lists[field.members.classes[i], c]]
    lists.n_passed[c] = let_pass(near, start, stop, limit, lists.passed[field.starts[c, 0] :])
    lists.n_taken[c] = 0


@inlined
def _offer_later(field: Field, voting: Voting, lists: Lists, i: int, c: int, batch: int, near: Singles) -> bool:
    """Offer row i the listed rows of class c that arrive with a batch; return whether any is within the limit."""
    passed, stop = lists.passed[field.starts[c, 0] :], field.starts[c, batch + 1]
    limit = lists.limits[voting.lists[field.members.classes[i], c]]
    first, place = lists.n_taken[c], lists.n_taken[c]
    n_near = first
    while place < lists.n_passed[c] and passed[place] < stop:
        passed[n_near] = passed[place]
        n_near += near[passed[place]] <= limit
        place += 1
    lists.n_taken[c] = place
    return bool(_offer(field, voting, lists, i, c, near, passed[first:n_near]))


@kernel
def _search_row(
    field: Field, voting: Voting, lists: Lists, i: int, near: Singles, gains: Array, n_used: Integers
) -> None:
    """Search the neighbours of row i; add their gains at the end of its batch and of each later batch."""
    own, n_classes, gain, counts = field.members.batches[i], len(field.starts), lists.gain, False
    lists.limits[:] = UNLIMITED
    lists.n_found[:] = 0
    gain[:] = 0.0
    is_stale = False
    for c in range(n_classes):
        is_stale |= _offer_first(field, voting, lists, i, c, near)
    for c in range(n_classes):
        _sift_later(field, voting, lists, i, c, near)
    for batch in range(own, len(gains)):
        for c in range(n_classes):
            is_stale |= _offer_later(field, voting, lists, i, c, batch, near)
        if is_stale:
            counts = _vote(field, voting, lists, i)
            is_stale = False
        n_used[batch] += counts
        for f in range(len(gain)):
            gains[batch, f] += gain[f]


@kernel
def search(
    field: Field,
    voting: Voting,
    lists: Lists,
    chosen: Integers,
    chunk: int,
    step: int,
    gains: Array,
    n_used: Integers,
) -> None:
    """Add up the gains of the chosen rows, by chunk, at the end of each batch.

    Searches every `step`-th chunk from `chunk` on; `gains`, (n_chunks, n_ends, n_features), and `n_used`, the
    number of rows that count, (n_chunks, n_ends), are changed in place.
    """
    near = lists.near
    for c in range(chunk, len(gains), step):
        for start in range(c * CHUNK, min(len(chosen), (c + 1) * CHUNK), TILE):
            rows = chosen[start : min(start + TILE, (c + 1) * CHUNK)]
            sift_tile(field, rows, near)
            for r in range(len(rows)):
                _search_row(field, voting, lists, rows[r], near[r], gains[c], n_used[c])

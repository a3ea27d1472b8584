"""Compiled search for the nearest rows of each class, and what they say of the features.

Of what passes the sieve, the nearest are those least in exact distance, then in index. A chunk of rows is searched
on its own and adds up its own gains, so the result is the same for any number of threads.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.base._compiled import inlined, kernel
from streamfs.data.streams import Integers
from streamfs.relief._field import Field, sift_tile
from streamfs.relief._kernels import Measured, difference, distance
from streamfs.relief._sieve import LANES, UNLIMITED, Singles, first_limit, let_pass

CHUNK = 64
"""Rows whose gains are added up together, whatever the number of threads."""
TILE = 8
"""Rows that are sifted together."""


NEIGHBOUR = np.dtype([("row", np.int64), ("near", np.float32), ("distance", np.float64)])
"""A neighbour: its row, its distance in the sieve, and its exact distance, NaN where it has not been needed."""
Neighbours = npt.NDArray[np.void]


class Voting(NamedTuple):
    """What near rows of each class say.

    Parameters
    ----------
    lists : ndarray of int of shape (n_classes, n_classes)
        In which list of a row of the one class its neighbours of the other are.
    factors : ndarray of shape (n_classes, n_lists)
        What the mean difference from the rows in a list counts, by the class of the row.
    n_neighbors : int
        Length of a list.
    needs_all : bool
        Whether a row with an empty list does not count at all.
    """

    lists: Integers
    factors: Array
    n_neighbors: int
    needs_all: bool


class Lists(NamedTuple):
    """Lists of the nearest of a row so far, and room for what is worked out on the way.

    Parameters
    ----------
    known : ndarray of `NEIGHBOUR` of shape (n_lists, n_neighbors + 1)
        The nearest, in any order; the last is a candidate.
    n_found : ndarray of int of shape (n_lists,)
        How many there are.
    limits : ndarray of float32 of shape (n_lists,)
        What the sieve lets pass.
    lanes : ndarray of float32
        Room for `first_limit`.
    passed : ndarray of int of shape (n_rows,)
        Room for `let_pass`: each class where it stands in the field.
    n_passed, n_taken : ndarray of int of shape (n_classes,)
        How many later rows of a class have passed, and how many of these have arrived.
    gain : ndarray of shape (n_features,)
        What the nearest say of each feature.
    near : ndarray of float32 of shape (TILE, n_rows)
        Room for distances in the sieve.
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
    """Make room for the lists of a row."""
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
def _is_nearer(
    measured: Measured, power: int, doubt: np.float32, i: int, known: Neighbours, a: int, b: int
) -> bool:
    """Whether of two neighbours of row i the a-th is nearer than the b-th, or as near and of lower index."""
    if abs(known[b].near - known[a].near) > doubt:
        return bool(known[a].near < known[b].near)
    for rank in (a, b):
        if np.isnan(known[rank].distance):
            values, spans, far, _ = measured
            known[rank].distance = distance(values, spans, far, power, i, known[rank].row)
    is_tie = known[a].distance == known[b].distance
    return bool(known[a].row < known[b].row if is_tie else known[a].distance < known[b].distance)


@kernel
def _farthest(measured: Measured, power: int, doubt: np.float32, i: int, known: Neighbours) -> int:
    """Which of the neighbours of row i, without the last, is the farthest."""
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
    """Take rows that have passed the sieve into a list of row i, which has n neighbours; return how many it has.

    `near` are distances in the sieve of `rows`, and `passed` the places of those that are offered.
    """
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
    """Fill `lists.gain` with what the nearest of row i say of each feature; return whether the row counts."""
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
    """Offer row i rows of class c that have passed the sieve, by their places; return whether there is any."""
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
    """Offer row i the rows of class c that have come by its own batch; return whether any of them is near.

    Where there is no limit yet, their distances give one.
    """
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
    """List the rows of class c that come after the batch of row i, and are nearer than what it has found."""
    start, stop = field.starts[c, field.members.batches[i] + 1], field.starts[c, -1]
    limit = lists.limits[voting.lists[field.members.classes[i], c]]
    lists.n_passed[c] = let_pass(near, start, stop, limit, lists.passed[field.starts[c, 0] :])
    lists.n_taken[c] = 0


@inlined
def _offer_later(field: Field, voting: Voting, lists: Lists, i: int, c: int, batch: int, near: Singles) -> bool:
    """Offer row i the listed rows of class c that come with a batch; return whether any of them is near."""
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
    """Search the neighbours of row i; add what they say to the gains at the end of its batch and of all later."""
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

    Parameters
    ----------
    lists : Lists
        Room to work in.
    chosen : ndarray of int of shape (n_chosen,)
        Rows whose neighbours are sought.
    chunk, step : int
        The first chunk to search, and how far it is to the next.
    gains : ndarray of shape (n_chunks, n_ends, n_features)
        Changed in place.
    n_used : ndarray of int of shape (n_chunks, n_ends)
        How many rows count; changed in place.
    """
    near = lists.near
    for c in range(chunk, len(gains), step):
        for start in range(c * CHUNK, min(len(chosen), (c + 1) * CHUNK), TILE):
            rows = chosen[start : min(start + TILE, (c + 1) * CHUNK)]
            sift_tile(field, rows, near)
            for r in range(len(rows)):
                _search_row(field, voting, lists, rows[r], near[r], gains[c], n_used[c])

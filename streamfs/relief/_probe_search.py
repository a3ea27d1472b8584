"""Compiled search for nearest hits and misses with one more feature, for many such features at once.

All of them share the distance in the other features. A probe adds 1 at most to it, so that a row that is farther
already than the worst of the probes' nearest is skipped for all of them.
"""

from typing import NamedTuple

import numpy as np

from feature_extractors.base import Array
from streamfs.base._compiled import kernel
from streamfs.data.streams import Integers
from streamfs.relief._field import Field, sift_tile
from streamfs.relief._kernels import Measured, difference, distance
from streamfs.relief._search import CHUNK, TILE, Voting
from streamfs.relief._sieve import LANES, UNLIMITED, Singles, first_limit, let_pass

PATCH = 256
"""Places after which the limit is looked at again."""


class ProbeScratch(NamedTuple):
    """Room to work in.

    Parameters
    ----------
    near : ndarray of float32 of shape (TILE, n_rows)
        Distances in the sieve.
    passed : ndarray of int of shape (PATCH,)
        For `let_pass`.
    lanes : ndarray of float32
        For `first_limit`.
    limits : ndarray of float32 of shape (2,)
        What the sieve lets pass, for hits and for misses.
    totals, nearest : ndarray of shape (2, n_probes)
        Distances and rows of the nearest hit and miss for each probe.
    """

    near: Singles
    passed: Integers
    lanes: Singles
    limits: Singles
    totals: Array
    nearest: Integers


def make_probe_scratch(n_rows: int, n_probes: int) -> ProbeScratch:
    """Make scratch for so many rows and probes."""
    return ProbeScratch(
        np.empty((TILE, n_rows), np.float32),
        np.empty(PATCH, np.int64),
        np.empty(LANES, np.float32),
        np.empty(2, np.float32),
        np.empty((2, n_probes)),
        np.empty((2, n_probes), np.int64),
    )


@kernel
def _try(
    values: Array,
    spans: Array,
    far: Array,
    power: int,
    i: int,
    j: int,
    base: float,
    totals: Array,
    nearest: Integers,
) -> None:
    """Take row j as the nearest of row i for each probe for which it is."""
    for p in range(len(totals)):
        d, nearer = abs(values[i, p] - values[j, p]) / spans[p], min(far[i, p], far[j, p])
        d = min(1.0, d if d == d else nearer)
        total = base + (d if power == 1 else d * d)
        is_nearer = (total < totals[p]) | ((total == totals[p]) & (j < nearest[p]))
        totals[p] = total if is_nearer else totals[p]
        nearest[p] = j if is_nearer else nearest[p]


@kernel
def _largest(totals: Array) -> float:
    largest = totals[0]
    for total in totals:
        largest = max(largest, total)
    return float(largest)


@kernel
def _take(
    field: Field,
    probes: Measured,
    i: int,
    near: Singles,
    first: int,
    limit: np.float32,
    passed: Integers,
    totals: Array,
    nearest: Integers,
) -> np.float32:
    """Bring the probes' nearest up to date with the places from `first` on; return the new limit."""
    values, spans, far, power = field.measured.values, field.measured.spans, field.measured.far, field.sieve.power
    for start in range(0, len(near), PATCH):
        n_passed = let_pass(near, start, min(len(near), start + PATCH), limit, passed)
        for place in passed[:n_passed]:
            j = field.sieve.rows[first + place]
            _try(
                probes.values,
                probes.spans,
                probes.far,
                power,
                i,
                j,
                distance(values, spans, far, power, i, j),
                totals,
                nearest,
            )
        if n_passed > 0:
            limit = min(limit, np.float32(_largest(totals)) + field.sieve.doubt)
    return limit


@kernel
def _search_row(
    field: Field,
    voting: Voting,
    probes: Measured,
    scratch: ProbeScratch,
    i: int,
    near: Singles,
) -> None:
    """Find the nearest hit and miss of row i for each probe."""
    n_features = len(field.measured.spans)
    _, passed, lanes, limits, totals, nearest = scratch
    limits[:] = UNLIMITED
    totals[:] = np.inf
    nearest[:] = -1
    for c in range(len(field.starts)):
        s, start = voting.lists[field.members.classes[i], c], field.starts[c, 0]
        part = near[start : field.starts[c, -1]]
        if limits[s] == UNLIMITED:
            nearest_one = first_limit(part, 1, 2.0 * n_features, lanes)
            limits[s] = min(UNLIMITED, nearest_one + np.float32(1.0) + field.sieve.doubt)
        limits[s] = _take(field, probes, i, part, start, limits[s], passed, totals[s], nearest[s])


@kernel
def search_probes(
    field: Field,
    voting: Voting,
    probes: Measured,
    scratch: ProbeScratch,
    all_rows: Integers,
    chunk: int,
    step: int,
    gains: Array,
    n_used: Integers,
) -> None:
    """Add up what the nearest of all rows say of each probe, by chunk.

    Parameters
    ----------
    probes : Measured
        Of shape (n_rows, n_probes).
    scratch : ProbeScratch
        To work in.
    all_rows : ndarray of int of shape (n_rows,)
        0, 1, and so on.
    chunk, step : int
        The first chunk to search, and how far it is to the next.
    gains : ndarray of shape (n_chunks, n_probes)
        Changed in place.
    n_used : ndarray of int of shape (n_chunks,)
        How many rows count; changed in place.
    """
    power, n_rows, n_probes = field.sieve.power, len(field.sieve.rows), len(probes.spans)
    nearest = scratch.nearest
    for c in range(chunk, len(gains), step):
        for start in range(c * CHUNK, min(n_rows, (c + 1) * CHUNK), TILE):
            rows = all_rows[start : min(n_rows, start + TILE)]
            sift_tile(field, rows, scratch.near)
            for r in range(len(rows)):
                _search_row(field, voting, probes, scratch, rows[r], scratch.near[r])
                if nearest[0, 0] >= 0 and nearest[1, 0] >= 0:  # else no probe has one
                    n_used[c] += 1
                    for p in range(n_probes):
                        hit = difference(probes.values, probes.spans, probes.far, rows[r], nearest[0, p], p)
                        miss = difference(probes.values, probes.spans, probes.far, rows[r], nearest[1, p], p)
                        gains[c, p] += miss - hit if power == 1 else miss * miss - hit * hit

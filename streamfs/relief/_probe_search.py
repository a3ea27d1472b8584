"""Compiled search for nearest hits and misses with one extra feature, for many such probes at once.

All probes share the distance in the other features. A probe adds at most 1 to it, so a row already farther than
the farthest of the probes' nearest rows is skipped for all of them.
"""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel, vectorised
from streamfs.relief._field import Field, sift_tile
from streamfs.relief._kernels import Measured, difference, distance
from streamfs.relief._search import CHUNK, TILE, Voting
from streamfs.relief._sieve import LANES, UNLIMITED, Singles, first_limit, let_pass

PATCH = 256
"""Places after which the limit is updated."""


class ProbeScratch(NamedTuple):
    """Scratch arrays of one thread.

    `near`, (TILE, n_rows), holds distances in the sieve, `limits` the sieve's limits for hits and misses; `totals`
    and `nearest`, (2, n_probes), hold distance and row of the nearest hit and miss of each probe.
    """

    near: Singles
    passed: Integers
    lanes: Singles
    limits: Singles
    totals: Array
    nearest: Integers


def make_probe_scratch(n_rows: int, n_probes: int) -> ProbeScratch:
    """Allocate the scratch arrays of one thread."""
    return ProbeScratch(
        np.empty((TILE, n_rows), np.float32),
        np.empty(PATCH, np.int64),
        np.empty(LANES, np.float32),
        np.empty(2, np.float32),
        np.empty((2, n_probes)),
        np.empty((2, n_probes), np.int64),
    )


@vectorised
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
    """Record row j as the nearest of row i for each probe for which it is."""
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
    """Update the probes' nearest rows with the places from `first` on; return the new limit."""
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
    field: Field, voting: Voting, probes: Measured, scratch: ProbeScratch, i: int, near: Singles
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
    """Add up each probe's gain from the nearest rows of all rows, by chunk.

    Searches every `step`-th chunk from `chunk` on; `gains`, (n_chunks, n_probes), and `n_used`, the number of rows
    that count, (n_chunks,), are changed in place. `probes` has shape (n_rows, n_probes), and `all_rows` is 0, 1,
    and so on.
    """
    power, n_rows, n_probes = field.sieve.power, len(field.sieve.rows), len(probes.spans)
    nearest = scratch.nearest
    for c in range(chunk, len(gains), step):
        for start in range(c * CHUNK, min(n_rows, (c + 1) * CHUNK), TILE):
            rows = all_rows[start : min(n_rows, start + TILE)]
            sift_tile(field, rows, scratch.near)
            for r in range(len(rows)):
                _search_row(field, voting, probes, scratch, rows[r], scratch.near[r])
                if nearest[0, 0] >= 0 and nearest[1, 0] >= 0:  # otherwise no probe has both
                    n_used[c] += 1
                    for p in range(n_probes):
                        hit = difference(probes.values, probes.spans, probes.far, rows[r], nearest[0, p], p)
                        miss = difference(probes.values, probes.spans, probes.far, rows[r], nearest[1, p], p)
                        gains[c, p] += miss - hit if power == 1 else miss * miss - hit * hit

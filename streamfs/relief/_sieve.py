"""Distances in single precision, many at a time: a sieve that only near rows pass.

Rows that pass are compared again in double precision, so nothing depends on the rounding of the sieve. Values are
stored feature by feature: the inner loops run along rows and fill a vector register.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers
from streamfs.base._compiled import kernel, vectorised

Singles = npt.NDArray[np.float32]

UNLIMITED = np.finfo(np.float32).max
"""A limit that all rows pass except those that may not be neighbours, which are infinitely far."""

STRETCH = 64
"""Rows tested together first for whether any passes."""

LANES = 128
"""Lanes among which rows are dealt out for a first limit, at least; a power of two."""

HALVINGS = 11
"""Number of bisections for a first limit."""


class Sieve(NamedTuple):
    """Values of rows as float32 between 0 and 1, feature by feature, in the order of the search.

    `plain`, (n_plain, n_rows), are numeric features without missing values; `patchy` all others, with categories
    as whole numbers, and `far` their differences from a missing value. Two distances that differ by more than
    `doubt` are in the order of the exact ones: a difference is off by at most 3 u, its square by 7 u, and each of
    the n additions by n u, where u = 2**-24: in all by less than n u (8 + 2 n), for each of the two.
    """

    plain: Singles
    patchy: Singles
    far: Singles
    rows: Integers
    places: Integers
    power: int
    doubt: np.float32


@vectorised
def _add_four(plain: Singles, f: int, place: int, start: int, apart: Singles) -> None:
    """Add the differences of four features in one pass, which saves reading and writing the sums."""
    a, b, c, d = plain[f, place], plain[f + 1, place], plain[f + 2, place], plain[f + 3, place]
    first, second = plain[f, start : start + len(apart)], plain[f + 1, start : start + len(apart)]
    third, fourth = plain[f + 2, start : start + len(apart)], plain[f + 3, start : start + len(apart)]
    for q in range(len(apart)):
        total = (apart[q] + abs(first[q] - a)) + abs(second[q] - b)
        apart[q] = (total + abs(third[q] - c)) + abs(fourth[q] - d)


@vectorised
def _add_one(plain: Singles, f: int, place: int, start: int, square: bool, apart: Singles) -> None:
    """Add the differences of one feature, or their squares."""
    a, values = plain[f, place], plain[f, start : start + len(apart)]
    if square:
        for q in range(len(apart)):
            apart[q] += (values[q] - a) * (values[q] - a)
    else:
        for q in range(len(apart)):
            apart[q] += abs(values[q] - a)


@vectorised
def _add_patchy(
    patchy: Singles, far: Singles, f: int, place: int, start: int, square: bool, apart: Singles
) -> None:
    """Add the differences of a feature that has missing values or categories, or their squares."""
    one = np.float32(1.0)
    a, a_far = patchy[f, place], far[f, place]
    values, others_far = patchy[f, start : start + len(apart)], far[f, start : start + len(apart)]
    for q in range(len(apart)):
        difference, nearer = abs(values[q] - a), min(a_far, others_far[q])
        difference = min(one, difference if difference == difference else nearer)
        apart[q] += difference * difference if square else difference


@kernel
def sift(sieve: Sieve, place: int, start: int, apart: Singles) -> None:
    """Fill `apart` with the distances between the row in a place and those in the places from `start` on."""
    plain, patchy, far, square = sieve.plain, sieve.patchy, sieve.far, sieve.power == 2
    apart[:] = 0.0
    fours = 0 if square else len(plain) // 4 * 4
    for f in range(0, fours, 4):
        _add_four(plain, f, place, start, apart)
    for f in range(fours, len(plain)):
        _add_one(plain, f, place, start, square, apart)
    for f in range(len(patchy)):
        _add_patchy(patchy, far, f, place, start, square, apart)


@vectorised
def n_within(near: Singles, limit: np.float32) -> np.int32:
    """Count the distances within the limit."""
    n = np.int32(0)
    for q in range(len(near)):
        n += np.int32(near[q] <= limit)
    return n


@vectorised
def _least(lanes: Singles) -> np.float32:
    """Return the least of some numbers, which are overwritten; their count is a power of two."""
    n = len(lanes)
    while n > 1:
        n = n // 2
        for q in range(n):
            lanes[q] = min(lanes[q], lanes[q + n])
    return np.float32(lanes[0])


@vectorised
def first_limit(near: Singles, k: int, most: float, lanes: Singles) -> np.float32:
    """Return a distance within which there are k of some rows, and few more; `UNLIMITED` if there are fewer.

    It is found by bisection from `most` down: k of the lanes that the rows are dealt out to have a row within it.
    """
    lanes[:] = UNLIMITED
    for start in range(0, len(near), len(lanes)):
        dealt = near[start : start + len(lanes)]
        for q in range(len(dealt)):
            lanes[q] = min(lanes[q], dealt[q])
    if k == 1:
        return np.float32(_least(lanes))
    low, high = np.float32(0.0), np.float32(most)
    if n_within(lanes, high) < k:
        return UNLIMITED
    for _ in range(HALVINGS):
        middle = (low + high) / np.float32(2.0)
        if n_within(lanes, middle) < k:
            low = middle
        else:
            high = middle
    return high


@vectorised
def let_pass(near: Singles, start: int, stop: int, limit: np.float32, passed: Integers) -> int:
    """List the places from `start` to `stop` whose distances are within the limit; return their number."""
    n_passed = 0
    for first in range(start, stop, STRETCH):
        stretch = near[first : min(stop, first + STRETCH)]
        if n_within(stretch, limit) > 0:
            for q in range(len(stretch)):
                passed[n_passed] = first + q
                n_passed += stretch[q] <= limit
    return n_passed

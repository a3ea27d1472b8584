"""Distances in single precision, many at a time: a sieve that only near rows pass.

What passes is looked at again in double precision, so that the sieve is fast and nothing depends on its rounding.
Rows stand in it one after the other for each feature: the inner loops run along rows and fill a vector register.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamfs.base._compiled import kernel
from streamfs.data.streams import Integers

Singles = npt.NDArray[np.float32]

UNLIMITED = np.finfo(np.float32).max
"""A limit that all rows pass but those that may not be neighbours, which are infinitely far."""
STRETCH = 64
"""Rows of which it is first asked whether any passes."""
LANES = 128
"""Lanes among which rows are dealt out for a first limit, at least; a power of two."""
HALVINGS = 11
"""How often the range of a first limit is halved."""


class Sieve(NamedTuple):
    """Values of rows between 0 and 1, feature-major, in the order in which the rows are searched.

    Parameters
    ----------
    plain : ndarray of float32 of shape (n_plain, n_rows)
        Numeric features without missing values.
    patchy : ndarray of float32 of shape (n_patchy, n_rows)
        All others; categories are whole numbers, and NaN is missing.
    far : ndarray of float32 of shape (n_patchy, n_rows)
        How far a missing value is from each of these.
    rows, places : ndarray of int of shape (n_rows,)
        Which row stands in each place, and the place of each row.
    power : int
        Power of each difference.
    doubt : float32
        Of two distances in the sieve that are farther apart than this, the less is less in truth. A difference is
        off by at most 3 u, its square by 7 u, and each of the n additions by n u, where u = 2**-24: in all by less
        than n u (8 + 2 n), for each of the two.
    """

    plain: Singles
    patchy: Singles
    far: Singles
    rows: Integers
    places: Integers
    power: int
    doubt: np.float32


@kernel
def _add_four(plain: Singles, f: int, place: int, start: int, apart: Singles) -> None:
    """Add four features' differences; four in one pass spare reading and writing the sums."""
    a, b, c, d = plain[f, place], plain[f + 1, place], plain[f + 2, place], plain[f + 3, place]
    first, second = plain[f, start : start + len(apart)], plain[f + 1, start : start + len(apart)]
    third, fourth = plain[f + 2, start : start + len(apart)], plain[f + 3, start : start + len(apart)]
    for q in range(len(apart)):
        total = (apart[q] + abs(first[q] - a)) + abs(second[q] - b)
        apart[q] = (total + abs(third[q] - c)) + abs(fourth[q] - d)


@kernel
def _add_one(plain: Singles, f: int, place: int, start: int, square: bool, apart: Singles) -> None:
    """Add one feature's differences, or their squares."""
    a, values = plain[f, place], plain[f, start : start + len(apart)]
    if square:
        for q in range(len(apart)):
            apart[q] += (values[q] - a) * (values[q] - a)
    else:
        for q in range(len(apart)):
            apart[q] += abs(values[q] - a)


@kernel
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
    """Fill `apart` with the distances of the row in a place from those in the places from `start` on."""
    plain, patchy, far, square = sieve.plain, sieve.patchy, sieve.far, sieve.power == 2
    apart[:] = 0.0
    fours = 0 if square else len(plain) // 4 * 4
    for f in range(0, fours, 4):
        _add_four(plain, f, place, start, apart)
    for f in range(fours, len(plain)):
        _add_one(plain, f, place, start, square, apart)
    for f in range(len(patchy)):
        _add_patchy(patchy, far, f, place, start, square, apart)


@kernel
def n_within(near: Singles, limit: np.float32) -> np.int32:
    """How many of the distances are within the limit."""
    n = np.int32(0)
    for q in range(len(near)):
        n += np.int32(near[q] <= limit)
    return n


@kernel
def _least(lanes: Singles) -> np.float32:
    """Return the least of some numbers, which are changed; as many as a power of two."""
    n = len(lanes)
    while n > 1:
        n //= 2
        for q in range(n):
            lanes[q] = min(lanes[q], lanes[q + n])
    return np.float32(lanes[0])


@kernel
def first_limit(near: Singles, k: int, most: float, lanes: Singles) -> np.float32:
    """Return a distance within which there are k of some rows, and not many more; `UNLIMITED` if there are fewer.

    The rows are dealt out to lanes: where k lanes have a row within some distance, there are k rows. The distance
    is found by halving, from `most` on.
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


@kernel
def let_pass(near: Singles, start: int, stop: int, limit: np.float32, passed: Integers) -> int:
    """List the places from `start` to `stop` whose distances are within the limit; return how many they are."""
    n_passed = 0
    for first in range(start, stop, STRETCH):
        stretch = near[first : min(stop, first + STRETCH)]
        if n_within(stretch, limit) > 0:
            for q in range(len(stretch)):
                passed[n_passed] = first + q
                n_passed += stretch[q] <= limit
    return n_passed

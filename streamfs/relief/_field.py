"""Rows laid out for the neighbour search, by class, batch and group."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Integers
from streamfs.base._compiled import kernel
from streamfs.relief._kernels import Measured
from streamfs.relief._sieve import Sieve, Singles, sift

BLOCK = 2048
"""Places sifted for all rows of a tile while they are in the cache."""


class Members(NamedTuple):
    """Class, batch and group of each row, numbered from 0; rows of one group are not neighbours.

    `places` are the places of the rows by group, each group beginning at its entry of `starts`, (n_groups + 1,).
    """

    classes: Integers
    batches: Integers
    groups: Integers
    places: Integers
    starts: Integers


class Field(NamedTuple):
    """Rows as the search reads them, laid out by class, then by batch.

    `starts`, (n_classes, n_ends + 1), holds where the rows of a class in each batch begin, and where the last
    ends.
    """

    measured: Measured
    sieve: Sieve
    starts: Integers
    members: Members


@kernel
def sift_tile(field: Field, rows: Integers, near: Singles) -> None:
    """Fill `near`, (n_rows, n_places), with distances in the sieve; rows of the same group are infinitely far."""
    members, n_places = field.members, near.shape[1]
    for start in range(0, n_places, BLOCK):
        for r in range(len(rows)):
            sift(field.sieve, field.sieve.places[rows[r]], start, near[r, start : start + BLOCK])
    for r in range(len(rows)):
        group = members.groups[rows[r]]
        for place in members.places[members.starts[group] : members.starts[group + 1]]:
            near[r, place] = np.inf

"""Rows laid out for the search: where those of a class, a batch and a group stand."""

from typing import NamedTuple

import numpy as np

from streamfs.base._compiled import kernel
from streamfs.data.streams import Integers
from streamfs.relief._kernels import Measured
from streamfs.relief._sieve import Sieve, Singles, sift

BLOCK = 2048
"""Places that are sifted for all rows of a tile while they are near the processor."""


class Members(NamedTuple):
    """Classes, batches and groups of rows.

    Parameters
    ----------
    classes, batches, groups : ndarray of int of shape (n_rows,)
        Numbers from 0; rows of one group are no neighbours of each other.
    places : ndarray of int of shape (n_rows,)
        The places of the rows, group by group, rising in each.
    starts : ndarray of int of shape (n_groups + 1,)
        Where those of each group begin.
    """

    classes: Integers
    batches: Integers
    groups: Integers
    places: Integers
    starts: Integers


class Field(NamedTuple):
    """All that a search reads of the rows, which are laid out by class, then by batch.

    Parameters
    ----------
    measured : Measured
        Their values.
    sieve : Sieve
        The same in the order in which they are laid out.
    starts : ndarray of int of shape (n_classes, n_ends + 1)
        The place at which those of a class that arrive in a batch begin, and that behind the last.
    members : Members
        Where each belongs.
    """

    measured: Measured
    sieve: Sieve
    starts: Integers
    members: Members


@kernel
def sift_tile(field: Field, rows: Integers, near: Singles) -> None:
    """Fill `near`, (n_rows, n_places), with distances in the sieve; a row's own group is infinitely far."""
    members, n_places = field.members, near.shape[1]
    for start in range(0, n_places, BLOCK):
        for r in range(len(rows)):
            sift(field.sieve, field.sieve.places[rows[r]], start, near[r, start : start + BLOCK])
    for r in range(len(rows)):
        group = members.groups[rows[r]]
        for place in members.places[members.starts[group] : members.starts[group + 1]]:
            near[r, place] = np.inf

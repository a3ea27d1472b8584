"""Rows laid out for the search: where those of a batch, a class and a group stand."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamfs._compiled import kernel
from streamfs.relief._kernels import Measured
from streamfs.relief._sieve import Sieve, Singles, sift
from streamfs.streams import Integers

BLOCK = 2048
"""Places that are sifted for all rows of a tile while they are near the processor."""


class Pieces(NamedTuple):
    """Stretches of places that are of one batch and one class.

    Parameters
    ----------
    starts : ndarray of int of shape (n_pieces + 1,)
        The place at which each begins, and the number of places.
    classes, batches : ndarray of int of shape (n_pieces,)
        Of the rows in each.
    is_last : ndarray of bool of shape (n_pieces,)
        Whether a batch ends with the piece.
    """

    starts: Integers
    classes: Integers
    batches: Integers
    is_last: npt.NDArray[np.bool_]


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
    """All that a search reads of the rows."""

    measured: Measured
    sieve: Sieve
    pieces: Pieces
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

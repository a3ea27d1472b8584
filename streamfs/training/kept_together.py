"""Streams that are held out together: copies of one, those that share a node's readings, and those of a group."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from feature_extractors.arrays import Integers
from streamfs.data.shared_columns import shared_columns
from streamfs.data.stream_arrays import Labels
from streamfs.data.streams import StreamSet
from streamfs.training.copies import copies
from streamfs.training.cross_validation import N_FOLDS

Groups = npt.NDArray[np.generic] | None
"""The group of each stream, shape (n_streams,), or None if each is one of its own."""

FEWEST_GROUPS = 2
"""Groups of a class below which none can be held out."""

Link = tuple[Integers, Integers]
"""Streams, and for each a number; the streams of a number go together."""


class Ties(NamedTuple):
    """How many streams are copies of others, share a node's readings, and do so, though they are torn apart."""

    copies: int
    sharing: int
    torn: int


def kept_together(streams: StreamSet, sites: Groups) -> tuple[Groups, Ties]:
    """Return groups that hold together what tells of each other, and how many streams are tied.

    Copies, and the streams of a given group, go together. So do those that share a node's readings, as pairs of
    nodes do: held out alone, a stream would be classified by others that have half of it, under its label or under
    another. But where all hang together, or nearly so, as they would if each node were paired with each, none
    could be held out: then sharing is no tie. Without ties, groups are those that were given.
    """
    everywhere, of = np.arange(len(streams)), copies(streams)
    n_copies = int((np.bincount(of)[of] > 1).sum())
    known = [] if sites is None else [(everywhere, np.unique(sites, return_inverse=True)[1])]
    if n_copies:
        known.append((everywhere, of))
    sharing = shared_columns(streams.values)
    n_sharing = len(np.unique(sharing[0]))
    if n_sharing:
        groups = _joined(len(streams), [*known, sharing])
        if _is_divisible(groups, streams.labels):
            return groups, Ties(n_copies, n_sharing, 0)
    return (_joined(len(streams), known) if n_copies else sites), Ties(n_copies, 0, n_sharing)


def held_out_together(streams: StreamSet) -> tuple[StreamSet, Ties]:
    """Return streams in groups that hold together what tells of each other, and how many are tied.

    If copies of one stream are all there is of a class, groups are those that were given.
    """
    groups, ties = kept_together(streams, streams.groups)
    if groups is not None and fewest_groups(groups, streams.labels) < FEWEST_GROUPS:
        groups = streams.groups
    return streams.grouped(groups), ties


def _joined(n_streams: int, links: Iterable[Link]) -> Integers:
    """Return a number for each stream, which those have in common that some links tie together."""
    n_nodes, ends = n_streams, []
    for rows, numbers in links:
        ends.append((rows, n_nodes + numbers))
        n_nodes += int(numbers.max()) + 1
    one, other = (np.concatenate(each) for each in zip(*ends, strict=True))
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(graph, directed=False)[1][:n_streams], dtype=np.int64)


def _is_divisible(groups: Integers, labels: Labels) -> bool:
    """Return whether no group is larger than a fold, and each class has one for each fold."""
    is_small = np.bincount(groups).max() * N_FOLDS <= len(groups)
    return bool(is_small) and fewest_groups(groups, labels) >= N_FOLDS


def fewest_groups(groups: npt.NDArray[np.generic], labels: Labels) -> int:
    """Return in how many groups the rarest class occurs."""
    return min(len(np.unique(groups[labels == label])) for label in np.unique(labels))

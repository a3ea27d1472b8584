"""Channels that nodes are to send, and that have never come."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamfs.gateway.core._duplicates import UNMARKED
from streamfs.gateway.core.joiner import Joiner

MOST_NAMED = 10
"""Nodes that are named for each cause."""

LEAST = 20
"""Readings of a node after which its other channels are expected."""


class Unheard(NamedTuple):
    """Nodes for which undecided streams wait: how many there are, and the first of them by name.

    The ``silent`` have sent nothing; the ``partial`` have sent readings, their number is given, but never some
    channels, which are given too.
    """

    n_silent: int = 0
    n_partial: int = 0
    silent: tuple[str, ...] = ()
    partial: tuple[tuple[str, int, tuple[str, ...]], ...] = ()


def unheard(joiner: Joiner, is_used: npt.NDArray[np.bool_], name: Callable[[int], str]) -> Unheard:
    """Return the nodes that have never sent a channel that undecided streams use, shape (n_nodes, n_channels)."""
    is_new = joiner.slots["mark"].reshape(-1, len(joiner.channels)) == UNMARKED
    n_nodes = min(len(is_new), len(is_used))
    missing = is_used[:n_nodes] & is_new[:n_nodes]
    if not missing.any():
        return Unheard()
    n_readings = joiner.nodes["n_readings"][:n_nodes]
    is_missing = missing.any(axis=1)
    silent, partial = (
        np.flatnonzero(is_missing & (n_readings == 0)),
        np.flatnonzero(is_missing & (n_readings >= LEAST)),
    )
    return Unheard(
        len(silent),
        len(partial),
        tuple(name(node) for node in silent[:MOST_NAMED].tolist()),
        tuple(
            (name(node), int(n_readings[node]), tuple(np.array(joiner.channels)[missing[node]].tolist()))
            for node in partial[:MOST_NAMED].tolist()
        ),
    )

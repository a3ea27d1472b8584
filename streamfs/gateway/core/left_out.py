"""Readings that were left out, by node and by cause."""

import numpy as np
import numpy.typing as npt

from streamfs.gateway.core.grid_arrays import Structured

CAUSES = ("late", "duplicate", "future", "overflow")
"""Why readings are left out, by the names of their counters."""

Counts = npt.NDArray[np.int64]


def left_out(nodes: Structured) -> Counts:
    """Return the readings of each node, all and those left out for each of the causes, shape (n, 5).

    A late reading of a channel that holds its value may still be held.
    """
    counts: Counts = np.empty((len(nodes), 1 + len(CAUSES)), dtype=np.int64)
    for column, name in enumerate(("readings", *CAUSES)):
        counts[:, column] = nodes[f"n_{name}"]
    return counts

"""Readings that were left out, by node and by cause."""

import numpy as np
import numpy.typing as npt

from streamfs.gateway.core.joiner import Structured

CAUSES = ("late", "duplicate", "future", "overflow")
"""Why readings are left out, by the names of their counters."""

Counts = npt.NDArray[np.int64]


def left_out(nodes: Structured) -> Counts:
    """Return the readings of each node, all and those left out for each of the causes, shape (n, 5).

    A late reading of a channel that holds its value may still be held.
    """
    return np.stack([nodes[f"n_{name}"] for name in ("readings", *CAUSES)], axis=1)

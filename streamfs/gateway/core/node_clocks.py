"""Nodes whose clocks are wrong, by what their stamps and arrivals show."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from streamfs.gateway.core._node_time import N_KNOWN
from streamfs.gateway.core.grid_arrays import Structured

MOST_OFF = 60.0
"""Seconds that a clock may be off without a remark."""

RECENT = 3600.0
"""Seconds for which a stamp that was left out is remarked on."""


class NodeClock(NamedTuple):
    """A node's clock: seconds ahead of the gateway's, seconds that it was set back, and readings left out."""

    node: str
    ahead: float
    set_back: float
    n_future: int


def clocks_astray(nodes: Structured, name: Callable[[int], str], now: float) -> list[NodeClock]:
    """Return the clocks that are wrong, the worst first, at a time in seconds since 1970."""
    is_off = (nodes["n_heard"] >= N_KNOWN) & (abs(nodes["lowest"]) > MOST_OFF)
    is_future = (nodes["n_future"] > 0) & (nodes["suspected"] > now - RECENT)
    found = np.flatnonzero((is_off | is_future | (nodes["shift"] > 0)) & ~np.isnan(nodes["heard"]))
    if not len(found):
        return []
    worst = found[np.argsort(-abs(nodes["lowest"][found]), kind="stable")].tolist()
    fields = ("lowest", "shift", "n_future")
    numbers = ([float(nodes[field][node]) for field in fields] for node in worst)
    return [
        NodeClock(name(node), -lowest - shift, shift, int(n_future) if is_future[node] else 0)
        for node, (lowest, shift, n_future) in zip(worst, numbers, strict=True)
    ]

"""The newest numbers of what nodes have sent."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from streamfs.gateway.core.grid_arrays import Structured


class Numbering(NamedTuple):
    """The highest number of each channel of each node, -1 where there is none, and those of the last 64 that came.

    Both have shape (n, channels); the lowest bit is that of the highest number.
    """

    marks: npt.NDArray[np.int64]
    seen: npt.NDArray[np.uint64]

    def begun_anew(self, former: Self) -> npt.NDArray[np.bool_]:
        """Return the nodes that have begun to count anew, given their numbers before.

        Where one goes on, the number that was the highest is still among those that have come.
        """
        gain = self.marks - former.marks
        is_gone = (self.seen >> np.clip(gain, 0, 63).astype(np.uint64)) & np.uint64(1) == 0
        is_numbered = (self.marks >= 0) & (former.marks >= 0)
        found: npt.NDArray[np.bool_] = (is_numbered & ((gain < 0) | ((gain < 64) & is_gone))).any(axis=1)
        return found

    def has_gone_on(self, former: Self) -> npt.NDArray[np.bool_]:
        """Return the nodes of which any number is another than before."""
        found: npt.NDArray[np.bool_] = (self.marks != former.marks).any(axis=1)
        return found


def numbering(slots: Structured, n_nodes: int, n_channels: int) -> Numbering:
    """Return the numbers of some nodes, of which each has a slot for each channel."""
    marks = np.where(slots["numbered"] != 0, slots["mark"], -1)
    return Numbering(
        *(each.reshape(n_nodes, n_channels) for each in (np.maximum(marks, -1), slots["seen"].copy()))
    )

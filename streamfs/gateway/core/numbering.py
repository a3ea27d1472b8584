"""The newest numbers of what nodes have sent."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamfs.gateway.core.joiner import Structured


class Numbering(NamedTuple):
    """Of each node: its readings so far, and the highest number of each channel, -1 where there is none."""

    readings: npt.NDArray[np.int64]  # shape (n,)
    marks: npt.NDArray[np.int64]  # shape (n, channels)


def numbering(nodes: Structured, slots: Structured) -> Numbering:
    """Return the numbers of nodes, by those of their slots."""
    marks = np.where(slots["numbered"] != 0, slots["mark"], -1).reshape(len(nodes), -1)
    return Numbering(nodes["n_readings"].copy(), np.maximum(marks, -1))

"""Arrays that grow by rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[Any]

_SHARE = 16  # one row in so many is spare, at most
_MOST = 4096  # rows, so that nobody waits long for them


def spare(n_rows: int) -> int:
    """How many rows to add to so many when one more is needed."""
    return min(max(16, n_rows // _SHARE), _MOST)


def grown(array: Table, rows: Table) -> Table:
    """Return an array with more rows behind its own; where that can be, it is not moved, and no hole is left.

    Only for arrays that nobody else looks into.
    """
    n_rows = len(array)
    if not array.flags.owndata:
        return np.concatenate([array, rows])
    array.resize((n_rows + len(rows), *array.shape[1:]), refcheck=False)
    array[n_rows:] = rows
    return array

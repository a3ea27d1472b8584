"""Arrays that grow by rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[Any]

_SHARE = 16  # reserve at most 1 row in 16
_MOST = 4096  # rows, so that copying them takes little time


def rows_to_reserve(n_rows: int) -> int:
    """Return how many rows to add to `n_rows` when one more is needed."""
    return min(max(16, n_rows // _SHARE), _MOST)


def append_rows(array: Table, rows: Table) -> Table:
    """Return an array, which must have no other view, with more rows behind its own, in place if possible."""
    n_rows = len(array)
    if not array.flags.owndata:
        return np.concatenate([array, rows])
    array.resize((n_rows + len(rows), *array.shape[1:]), refcheck=False)
    array[n_rows:] = rows
    return array

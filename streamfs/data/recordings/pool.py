"""Memory for what is read of large files, which goes back to the system."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)

PIECE = 2**26
"""Bytes of a piece; the system has to provide only those that are used."""


class Pool:
    """Copies of arrays in few large pieces of memory, each of which is free when none of its arrays is used.

    Many small arrays would leave their memory to the allocator, which keeps it.

    Examples
    --------
    >>> kept = Pool().keep(np.array([1.5, 2.5]))
    >>> kept.tolist(), len(kept.base)
    ([1.5, 2.5], 67108864)
    """

    def __init__(self) -> None:
        self._piece = np.empty(0, dtype=np.uint8)
        self._n_used = 0

    def keep(self, array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Return a copy of an array of shape (n_rows,)."""
        if self._n_used + array.nbytes > len(self._piece):
            self._piece, self._n_used = np.empty(max(PIECE, array.nbytes), dtype=np.uint8), 0
        kept = self._piece[self._n_used : self._n_used + array.nbytes].view(array.dtype)
        kept[:] = array
        self._n_used += -(-array.nbytes // 8) * 8
        return kept

"""Which channels the streams of an engine request, and what the requested features have cost."""

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.engine._arena import WAITING
from streamfs.engine.stream_table import Rows, StreamTable
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.requested_channels import RequestedChannels


class ChannelRequests:
    """The requests of an engine's streams, of all open channels unless the classifier releases some, and costs.

    The table has costs if `requested` is not None.
    """

    def __init__(self, procedure: Procedure, requested: RequestedChannels | None, table: StreamTable) -> None:
        self._procedure = procedure
        self._openings = np.array(procedure.openings, dtype=np.int64)
        self._requested = requested
        self._table = table

    def channels(self, rows: Rows, ahead: int) -> npt.NDArray[np.bool_]:
        """Return which channels streams request for the `ahead` ticks that follow, shape (n_rows, n_channels)."""
        last = self._table.streams["tick"][rows] + ahead
        requested: npt.NDArray[np.bool_] = self._openings <= last[:, np.newaxis]
        if self._requested is not None:
            begun = self._table.status[rows] != WAITING
            requested[begun] &= self._requested.channels(self._table.newest(rows[begun]))
        return requested

    def shown(self, rows: Rows, ticks: Rows, samples: Array) -> Array:
        """Return samples of ticks with NaN in the channels that streams do not request yet, or no longer."""
        opened = np.where(self._openings <= ticks[:, np.newaxis], samples, np.nan)
        return opened if self._requested is None else self._requested.shown(opened, self._table.newest(rows))

    def charge(self, rows: Rows, ticks: Rows | int) -> None:
        """Charge streams for the features requested since their last ticks, up to these."""
        if self._requested is not None:
            elapsed = ticks - self._table.streams["tick"][rows]
            rates = self._requested.rates(self._table.newest(rows), self._procedure.costs.each)
            self._table.spent[rows] += elapsed * rates

    def cost(self, row: int, tick: int) -> float:
        """Return the cost by equation 1, of requested features only if the classifier releases some."""
        if self._requested is None:
            return self._procedure.cost(tick)
        return self._procedure.costs.a * float(self._table.spent[row]) + self._procedure.cost(0)

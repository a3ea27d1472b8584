"""Batches of the rows of a recording: the stream, the column and the time of each."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array

Codes = npt.NDArray[np.int32]
Few = npt.NDArray[np.int16]

LEFT_OUT, TIMELESS = -1, -2
"""Cells of rows that are not read, and of rows without a time."""


@dataclass
class Block:
    """A batch of rows of a table; once its rows are on the grid, only their cells are kept.

    Parameters
    ----------
    streams : ndarray of shape (n_rows,)
        Numbers of the streams; -1 if a row is left out.
    times : ndarray of shape (n_rows,)
        Seconds; NaN for a stream without ticks.
    columns : ndarray of shape (n_rows,), or 0
        Numbers of the columns of the streams, of a long table.
    labels : ndarray of shape (n_rows,), optional
        Numbers of the labels, if rows have them; -1 if a row has none.
    groups : ndarray of shape (n_rows,), optional
        Numbers of the groups, if rows have them.
    cells : ndarray of shape (n_rows,), optional
        Places in the values of the streams, of a wide table those of its first column; `LEFT_OUT` or `TIMELESS`.
    is_local : bool
        Whether the times are dates without an offset: see `clock_changes`.
    """

    streams: Codes | Few
    times: Array
    columns: Few | int = 0
    labels: Codes | None = None
    groups: Codes | None = None
    cells: Codes | None = None
    is_local: bool = False

    @property
    def timed(self) -> npt.NDArray[np.bool_]:
        """Which rows have a stream and a time."""
        return np.asarray((self.streams >= 0) & ~np.isnan(self.times))

    @property
    def ends(self) -> tuple[float, ...]:
        """The first and the last time; nothing if no row has one."""
        known = self.times[~np.isnan(self.times)]
        return (float(known.min()), float(known.max())) if len(known) else ()

    def series(
        self, n_columns: int, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        """Return stream and column of the chosen rows as one number."""
        columns = self.columns if isinstance(self.columns, int) else self.columns[chosen]
        return np.asarray(self.streams[chosen] * np.int64(n_columns) + columns)

    def place(self, starts: Array, period: float, n_ticks: int, n_columns: int, *, keep_times: bool) -> float:
        """Put the rows on the grid; return the ticks by which one is off it at most."""
        timed = self.timed
        streams = self.streams[timed]
        elapsed = (self.times[timed] - starts[streams]) / period
        ticks = np.clip(np.floor(elapsed + 0.5), 0, n_ticks - 1)  # at half a tick, rounding may leave a window
        columns = self.columns if isinstance(self.columns, int) else self.columns[timed]
        self.cells = np.where(self.streams >= 0, np.int32(TIMELESS), np.int32(LEFT_OUT))
        self.cells[timed] = (streams * np.int64(n_ticks) + ticks.astype(np.int64)) * n_columns + columns
        self.streams, self.columns = np.empty(0, dtype=np.int16), 0
        self.times = self.times if keep_times else np.empty(0)
        return float(np.abs(elapsed - ticks).max(initial=0.0))

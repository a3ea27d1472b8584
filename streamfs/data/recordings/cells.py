"""What each tick of a stream holds: its reading, the last or the mean of several, or the one before it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from streamfs.data.recordings.blocks import Codes
from streamfs.data.recordings.grid import MANY, Grid, proposed_resampling, put_on_grid, source_of
from streamfs.data.recordings.rows import Rows
from streamfs.errors import LayoutError


class MixedStreamsError(LayoutError):
    """A stream of which many rows have the time of another: it may be several streams.

    Parameters
    ----------
    problem : str
        What was found.
    resampling : dict
        Fields of a layout with which the rows are those of one stream.
    """

    def __init__(self, problem: str, resampling: dict[str, Any]) -> None:
        super().__init__(problem)
        self.resampling = resampling


_Shape = tuple[int, int, int]


def tabulate_rows(rows: Rows) -> tuple[Array, Grid]:
    """Return values of shape (n_streams, n_ticks, n_columns), NaN where there is no reading, and their grid."""
    layout = rows.layout
    by_time = layout.resample == "last" and not _in_order(rows)
    grid = put_on_grid(rows, keep_times=by_time)
    shape = len(rows.streams), grid.n_ticks, len(rows.columns)
    if layout.resample is None:
        _require_one_row(rows, grid, shape)
    cells = _Means(shape) if layout.resample == "mean" else _Newest(shape) if by_time else _Last(shape)
    for block, cell, numbers in rows.readings():
        taken = (cell >= 0) & ~np.isnan(numbers)
        cells.add(cell[taken], block.times[taken] if by_time else block.times, numbers[taken])
    values = cells.values().reshape(shape)
    if layout.max_age:
        hold(values, int(layout.max_age / grid.period * (1 + 1e-12)))
    return values, grid


def hold(values: Array, n_ticks: int) -> None:
    """Give ticks without a reading the previous one, for at most a number of ticks; change `values` in place.

    Examples
    --------
    >>> values = np.array([[[1.0], [np.nan], [np.nan], [4.0]]])
    >>> hold(values, 1)
    >>> values.ravel().tolist()
    [1.0, 1.0, nan, 4.0]
    """
    ticks = np.arange(values.shape[1], dtype=np.int32)
    for column in range(values.shape[2]):
        readings = values[:, :, column]
        last = np.maximum.accumulate(np.where(np.isnan(readings), np.int32(-1), ticks), axis=1)
        missing = np.isnan(readings) & (last >= 0) & (ticks - last <= n_ticks)
        stream, tick = np.nonzero(missing)
        readings[stream, tick] = readings[stream, last[stream, tick]]


class _Last:
    """Cells that hold the reading that was added last."""

    def __init__(self, shape: _Shape) -> None:
        self._values = np.full(int(np.prod(shape)), np.nan)

    def add(self, cells: Codes, times: Array, numbers: Array) -> None:  # noqa: ARG002 - as the newest needs them
        self._values[cells] = numbers  # of repeated cells the last one holds

    def values(self) -> Array:
        return self._values


class _Newest(_Last):
    """Cells that hold their newest reading."""

    def __init__(self, shape: _Shape) -> None:
        super().__init__(shape)
        self._times = np.full_like(self._values, -np.inf)

    def add(self, cells: Codes, times: Array, numbers: Array) -> None:
        order = np.argsort(times, kind="stable")
        order = order[times[order] >= self._times[cells[order]]]
        super().add(cells[order], times[order], numbers[order])
        self._times[cells[order]] = times[order]


class _Means:
    """Cells that hold the mean of their readings."""

    def __init__(self, shape: _Shape) -> None:
        self._sums, self._counts = np.zeros(int(np.prod(shape))), np.zeros(int(np.prod(shape)), dtype=np.int32)

    def add(self, cells: Codes, times: Array, numbers: Array) -> None:  # noqa: ARG002 - the same
        np.add.at(self._sums, cells, numbers)
        np.add.at(self._counts, cells, 1)

    def values(self) -> Array:
        empty = self._counts == 0
        np.divide(self._sums, self._counts, out=self._sums, where=~empty)
        self._sums[empty] = np.nan
        return self._sums


def _in_order(rows: Rows) -> bool:
    """Return whether the rows of each stream and column come in the order of their times."""
    n_columns = max(len(rows.columns), 1)
    newest = np.full(len(rows.streams) * n_columns, -np.inf)
    for block in rows.all_blocks():
        timed = block.timed
        series = block.series(n_columns, timed)
        order = np.argsort(series, kind="stable")
        series, times = series[order], block.times[timed][order]
        is_first = np.diff(series, prepend=-1) != 0
        before = np.where(is_first, newest[series], np.concatenate([[-np.inf], times[:-1]]))
        if (times < before).any():
            return False
        newest[series] = times  # of repeated places the last one holds
    return True


def _require_one_row(rows: Rows, grid: Grid, shape: _Shape) -> None:
    """Refuse two rows of a stream, or two readings of a column of a long table, at one tick."""
    is_taken = np.zeros(int(np.prod(shape)), dtype=bool)
    for block in rows.all_blocks():
        cells = np.zeros(0, dtype=np.int32) if block.cells is None else block.cells[block.cells >= 0]
        distinct, counts = np.unique(cells, return_counts=True)
        again = is_taken[distinct] | (counts > 1)
        if again.any():
            raise _two_rows(rows, grid, np.unravel_index(distinct[again.argmax()], shape))
        is_taken[distinct] = True


def _two_rows(rows: Rows, grid: Grid, place: Sequence[np.intp]) -> LayoutError:
    stream, tick, column = (int(each) for each in place)
    if grid.steps is not None and grid.steps.repeated > MANY:
        return MixedStreamsError(
            f"stream {list(rows.streams)[stream]} of {source_of(rows)} has several rows at tick {tick + 1}, and "
            f"{grid.steps.repeated:.0%} of rows have the time of another: does a column name several streams?",
            proposed_resampling(rows, grid.steps),
        )
    what = f"readings of {list(rows.columns)[column]}" if rows.layout.long else "rows"
    return LayoutError(
        f"stream {list(rows.streams)[stream]} of {source_of(rows)} has several {what} at tick {tick + 1} of "
        f"{grid.period:g} s: keep one of them, or resample; a model keeps the period of its training",
        {"resample": "last"} if grid.steps is None else proposed_resampling(rows, grid.steps),
    )

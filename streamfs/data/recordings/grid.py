"""The grid of ticks: its period, the tick of each row, and what a tick holds."""

from typing import Any, NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import RUNS
from streamfs.data.recordings.rows import Rows
from streamfs.errors import DataError, LayoutError

MAX_BYTES = 2**31
"""Limit on the size of the values on the grid of ticks: one wrong time must not exhaust memory."""

REGULAR = 0.25
"""Ticks by which a row of a regular recording may be off the grid."""

MANY = 0.2
"""Share of rows at the time of another from which on streams are taken to be mixed, and not rows repeated."""

_SAMPLED = 250_000  # rows whose steps are looked at
_NEAR = 0.5  # share of the median step
_FAR = 100.0  # times as many ticks as most streams span, beyond which some time of a stream is wrong
_EXACT, _COARSE = 0.002, 0.05  # shares of the usual step by which a proposed period may be rounded


class Steps(NamedTuple):
    """Steps of time between consecutive readings of a stream.

    Parameters
    ----------
    smallest : float
        The smallest step, as the shortest decimal within the precision of the times.
    usual : float
        The mean step of the column with the smallest one, of those within a half of the median, rounded.
    longest_usual : float
        The same of the column with the greatest one.
    low, high : float
        The 5th and the 95th percentile.
    repeated : float
        Share of the rows that have the time of another row of the same stream and column.
    """

    smallest: float
    usual: float
    longest_usual: float
    low: float
    high: float
    repeated: float


class Grid(NamedTuple):
    """A grid of ticks on which rows were put.

    Parameters
    ----------
    period : float
        Seconds per tick.
    lengths : ndarray of shape (n_streams,)
        Number of ticks of each stream.
    starts : ndarray of shape (n_streams,)
        The first time of each stream; infinite if it has none.
    steps : Steps, optional
        Steps of time of the rows.
    """

    period: float
    lengths: Integers
    starts: Array
    steps: Steps | None

    @property
    def n_ticks(self) -> int:
        """Number of ticks of the longest stream."""
        return int(self.lengths.max(initial=0))


def measure_steps(rows: Rows) -> Steps | None:
    """Measure the steps of time, of about 250 000 rows at most; None if no stream has two times."""
    series, times = _sampled(rows)
    order = np.lexsort((times, series))
    steps, of = np.diff(times[order]), series[order][1:]
    within = np.diff(series[order]) == 0
    later = within & (steps > 0)
    repeated = float((within & ~later).sum() / max(len(times), 1))
    steps, of = steps[later], of[later] % max(len(rows.columns), 1)
    if not len(steps):
        return None
    usual = sorted(_usual(steps[of == column]) for column in np.unique(of))
    smallest = shortest(float(steps.min()), 2 * float(np.spacing(np.abs(times).max())))
    low, high = np.quantile(steps, [0.05, 0.95])
    return Steps(smallest, usual[0], usual[-1], float(low), float(high), repeated)


def _usual(steps: Array) -> float:
    """Return the mean of the steps within a half of their median, rounded by 0.2 % or twice its standard error.

    Steps over ticks that are missing are left out so, and what is early at one tick is late at the next: the mean
    is more exact than the median. It is rounded by 5 % at most.
    """
    median = float(np.quantile(steps, 0.5, method="lower"))
    near = steps[np.abs(steps - median) <= _NEAR * median]
    mean = float(near.mean())
    error = float(near.std()) / len(near) ** 0.5
    return shortest(mean, min(max(_EXACT * mean, 2 * error), _COARSE * mean))


def put_on_grid(rows: Rows, *, keep_times: bool) -> Grid:
    """Put each row on the nearest tick, counted from the first row of its stream; return the grid.

    Parameters
    ----------
    rows : Rows
        They get their cells, and lose their streams and columns.
    keep_times : bool
        Whether their times are needed yet.
    """
    layout, steps = rows.layout, measure_steps(rows)
    grid = _grid(rows, period_of(layout, steps) if rows.windows is None else rows.windows.period, steps)
    if rows.windows is None:
        require_ticks(rows, grid.period, steps)
    most = max(
        (
            block.place(grid.starts, grid.period, grid.n_ticks, len(rows.columns), keep_times=keep_times)
            for block in rows.all_blocks()
        ),
        default=0.0,
    )
    if layout.resample is None and layout.period is None and steps is not None and most > REGULAR:
        if layout.labels != RUNS:  # which may be long, and have gaps
            _require_similar_spans(rows, grid)
        raise LayoutError(
            f"times of {source_of(rows)} are irregular: steps of {steps.low:.3g} to {steps.high:.3g} s, "
            f"usually {steps.usual:g} s",
            proposed_resampling(rows, steps),
        )
    return grid


def period_of(layout: Layout, steps: Steps | None) -> float:
    """Return the seconds of a tick: the layout's, or else the smallest step, or the usual one to resample."""
    if layout.period is not None or steps is None:
        return layout.period or 1.0
    return steps.smallest if layout.resample is None else steps.usual


def require_ticks(rows: Rows, period: float, steps: Steps | None) -> None:
    """Refuse ticks that are far shorter than all steps, unless rows are resampled."""
    if rows.layout.resample is None and steps is not None and steps.smallest > 1.5 * period:
        raise DataError(
            f"rows of {source_of(rows)} are at least {steps.smallest:g} s apart, and a tick is {period:g} s: "
            "leave period out, or give resample and max_age"
        )


def _require_similar_spans(rows: Rows, grid: Grid) -> None:
    """Raise a DataError if one stream spans far more ticks than most: not its steps are odd, but some time."""
    longest, usual = int(grid.lengths.max()), float(np.median(grid.lengths))
    if longest > _FAR * usual:
        name = list(rows.streams)[int(grid.lengths.argmax())]
        raise DataError(
            f"stream {name} of {source_of(rows)} spans {longest:,} ticks of {grid.period:g} s, and most others "
            f"about {usual:,.0f}: correct its times"
        )


def count_times(rows: Rows) -> Integers:
    """Return the number of distinct times of each stream, such as those of the messages of a device."""
    timed = [(block.streams[block.timed], block.times[block.timed]) for block in rows.all_blocks()]
    streams = np.concatenate([np.zeros(0, dtype=np.int64), *(each for each, _ in timed)])
    times = np.concatenate([np.zeros(0), *(each for _, each in timed)])
    order = np.lexsort((times, streams))
    streams, times = streams[order], times[order]
    is_new = (np.diff(streams, prepend=-1) != 0) | (np.diff(times, prepend=np.nan) != 0)
    return np.bincount(streams[is_new], minlength=len(rows.streams))


def shortest(number: float, within: float) -> float:
    """Return the decimal with the fewest digits that is near enough to a number."""
    decimals = (float(f"{number:.{n_digits}g}") for n_digits in range(1, 18))
    return next(decimal for decimal in decimals if abs(decimal - number) <= within)


def proposed_resampling(rows: Rows, steps: Steps) -> dict[str, Any]:
    """Return fields of a layout with which irregular rows are read."""
    period = rows.layout.period or steps.usual
    return {
        **({} if rows.layout.period else {"period": period}),
        "resample": "last",
        "max_age": shortest(2 * max(period, steps.longest_usual), 0.01 * period),
    }


def _sampled(rows: Rows) -> tuple[Integers, Array]:
    """Return stream and column as one number, and time, of all rows of some of the streams."""
    n_rows = sum(len(block.times) for block in rows.all_blocks())
    every = -(-n_rows // _SAMPLED) or 1
    series, times = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for block in rows.all_blocks():
        chosen = block.timed
        if every > 1:
            chosen &= block.streams % min(every, len(rows.streams)) == 0
        series.append(block.series(max(len(rows.columns), 1), chosen))
        times.append(block.times[chosen])
    return np.concatenate(series), np.concatenate(times)


def _spans(rows: Rows) -> tuple[Array, Array]:
    """Return the first and the last time of each stream; infinite if it has none."""
    if rows.windows is not None:
        return rows.windows.starts, rows.windows.starts + (rows.windows.n_ticks - 1) * rows.windows.period
    starts, ends = np.full(len(rows.streams), np.inf), np.full(len(rows.streams), -np.inf)
    for block in rows.all_blocks():
        taken = block.streams >= 0
        np.fmin.at(starts, block.streams[taken], block.times[taken])
        np.fmax.at(ends, block.streams[taken], block.times[taken])
    return starts, ends


def _grid(rows: Rows, period: float, steps: Steps | None) -> Grid:
    """Return the grid; refuse one that does not fit into memory."""
    starts, ends = _spans(rows)
    timed = np.isfinite(starts)
    spans = np.where(timed, ends - np.where(timed, starts, 0.0), -period) / period
    n_streams, n_columns = len(rows.streams), len(rows.columns)
    longest = float(spans.max(initial=0.0)) + 1
    if longest * n_streams * n_columns * 8 > MAX_BYTES:
        name = list(rows.streams)[int(spans.argmax())]
        is_irregular = steps is not None and rows.layout.period is None and rows.layout.resample is None
        raise LayoutError(
            f"stream {name} of {source_of(rows)} spans {longest:,.0f} ticks of {period:g} s, too many for "
            f"{n_streams} streams of {n_columns} columns in {MAX_BYTES // 2**30} GiB: correct its times, or "
            "give a longer period",
            proposed_resampling(rows, steps) if is_irregular and steps is not None else {},
        )
    return Grid(period, np.floor(spans + 0.5).astype(np.int64) + 1, starts, steps)


def source_of(rows: Rows) -> str:
    """Return what a message calls the recordings."""
    first = rows.tables[0].source
    return first if len(rows.tables) == 1 else f"{first} and {len(rows.tables) - 1} more"

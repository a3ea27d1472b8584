"""Whether to make streams of runs of one label or of windows, and of what length these should be."""

from collections.abc import Iterator

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.data.recordings.windows import Timeline, cut

LENGTHS = (
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0),
    *(60.0 * minutes for minutes in (1, 2, 5, 10, 20, 30)),
    *(3600.0 * hours for hours in (1, 2, 4, 6, 12, 24)),
)
"""Seconds of windows that are proposed."""

_MANY, _FEW = 50, 20  # windows of each usual label; of few, as of runs, little can be shown
_LEAST_TICKS = 10  # of a window, and of most runs
_MOST = 0.5  # share of the rows with labels that are in windows of one
_ALIKE = 5.0  # times as long as the shortest runs are the longest, without a tenth on each side
_USUAL = 0.5  # share of the rows of a label, of what it would be if all had the same


def proposed_window(line: Timeline, period: float, hole: float) -> float | None:
    """Return the seconds of windows into which to cut streams whose label changes; None if runs are better.

    Runs are, if they are many, long, and alike in length. Otherwise it is the longest window that leaves many of
    each usual label, and most of the rows.
    """
    if _are_alike(line, period, hole):
        return None
    shortest = None
    for seconds, n_of_rarest in _windows(line, period, hole):
        if n_of_rarest >= _MANY:
            return seconds
        shortest = seconds
    return shortest


def _windows(line: Timeline, period: float, hole: float) -> Iterator[tuple[float, int]]:
    """Yield lengths that leave some windows of each usual label, the longest first, and how many of the rarest."""
    usual = _usual(line.labels[line.labels >= 0])
    for seconds in reversed(LENGTHS):
        n_ticks = round(seconds / period)
        if n_ticks < _LEAST_TICKS:
            return
        windows, of_row = cut(line, period, n_ticks, hole)
        n_of_rarest = min((int((windows.labels == label).sum()) for label in usual), default=0)
        n_in_windows = np.count_nonzero(np.append(windows.labels, -1)[of_row] >= 0)
        if n_of_rarest >= _FEW and n_in_windows >= _MOST * np.count_nonzero(line.labels >= 0):
            yield seconds, n_of_rarest


def _usual(labels: Integers) -> Integers:
    """Return the labels without rare ones; none if there is nothing to tell apart."""
    found, counts = np.unique(labels, return_counts=True)
    usual = found[counts * len(found) >= _USUAL * len(labels)]
    return usual if len(usual) > 1 else usual[:0]


def _are_alike(line: Timeline, period: float, hole: float) -> bool:
    """Return whether runs of one label are many, long and alike in length."""
    lengths, labels = _runs(line, hole)
    n_of = np.unique(labels, return_counts=True)[1]
    low, middle, high = np.quantile(lengths + period, [0.1, 0.5, 0.9])
    return bool(n_of.min() >= _FEW and middle >= _LEAST_TICKS * period and high <= _ALIKE * low)


def _runs(line: Timeline, hole: float) -> tuple[Array, Integers]:
    """Return from first to last row the seconds of each run of one label, and its number."""
    first = np.flatnonzero(line.begins(hole) | (np.diff(line.labels, prepend=-1) != 0))
    last = np.append(first[1:], len(line.times)) - 1
    is_named = line.labels[first] >= 0
    return (line.times[last] - line.times[first])[is_named], line.labels[first][is_named]

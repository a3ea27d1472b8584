"""Windows of fixed length, into which the rows of streams are cut, and the label that nearly all rows have."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers

_SURE = 9, 10
"""What part of the rows of a window have its label."""


class Timeline(NamedTuple):
    """Rows in the order of streams and times: the number of the stream, seconds, and the label's number, or -1."""

    streams: Integers
    times: Array
    labels: Integers

    def begins(self, hole: float = np.inf) -> npt.NDArray[np.bool_]:
        """Return which rows are the first of a stream, or after a hole, longer than some seconds."""
        return np.asarray((np.diff(self.streams, prepend=-1) != 0) | (np.diff(self.times, prepend=0.0) > hole))


class Windows(NamedTuple):
    """Windows of streams, in their order.

    Parameters
    ----------
    period : float
        Seconds of a tick.
    n_ticks : int
        Ticks of each window.
    streams : ndarray of shape (n_windows,)
        Numbers of the streams of which they are.
    places : ndarray of shape (n_windows,)
        Their numbers in the stream, from 1.
    starts : ndarray of shape (n_windows,)
        Seconds at which they begin.
    labels : ndarray of shape (n_windows,)
        Number of the label that nine in ten rows have; -1 if there is none.
    n_cut : int
        How many there are with those that were left out.
    """

    period: float
    n_ticks: int
    streams: Integers
    places: Integers
    starts: Array
    labels: Integers
    n_cut: int

    @property
    def n_left_out(self) -> int:
        """How many were left out: their rows do not agree."""
        return self.n_cut - len(self.starts)

    @property
    def groups(self) -> Integers | None:
        """The same number for windows of one label that follow each other; None if these are all of a label.

        They are more alike than others, so that none may be held out while others are learned from.
        """
        begins = (np.diff(self.streams, prepend=-1) != 0) | (np.diff(self.labels, prepend=-2) != 0)
        _, n_runs = np.unique(self.labels[begins], return_counts=True)
        return None if n_runs.min(initial=2) < 2 else np.cumsum(begins) - 1

    def take(self, places: Integers) -> "Windows":
        """Return some of the windows."""
        return self._replace(
            streams=self.streams[places],
            places=self.places[places],
            starts=self.starts[places],
            labels=self.labels[places],
        )


def cut(line: Timeline, period: float, n_ticks: int, hole: float) -> tuple[Windows, Integers]:
    """Cut streams into windows, from their first rows and from those after holes; return each row's window, or -1.

    Examples
    --------
    >>> times = np.array([0.0, 1.0, 2.0, 3.0, 9.0, 10.0])
    >>> line = Timeline(np.zeros(6, dtype=int), times, np.array([0, 0, 0, 1, 1, 1]))
    >>> windows, of_row = cut(line, period=1.0, n_ticks=2, hole=3.0)
    >>> windows.starts.tolist(), windows.labels.tolist(), of_row.tolist()
    ([0.0, 2.0, 9.0], [0, -1, 1], [0, 0, 1, 1, 2, 2])
    """
    begins = line.begins(hole)
    first = np.flatnonzero(begins)
    stretch = np.cumsum(begins) - 1
    ticks = np.floor((line.times - line.times[first][stretch]) / period + 0.5).astype(np.int64)
    lengths = ticks[np.append(first[1:], len(ticks)) - 1] + 1 if len(ticks) else ticks
    n_whole = lengths // n_ticks
    before = np.cumsum(n_whole) - n_whole
    windows = np.where(ticks // n_ticks < n_whole[stretch], before[stretch] + ticks // n_ticks, -1)
    n = int(n_whole.sum())
    in_stretch = np.arange(n) - np.repeat(before, n_whole)
    streams = np.repeat(line.streams[first], n_whole)
    is_first = np.diff(streams, prepend=-1) != 0
    places = np.arange(n) - np.maximum.accumulate(np.where(is_first, np.arange(n), 0)) + 1
    starts = np.repeat(line.times[first], n_whole) + in_stretch * n_ticks * period
    labels = _agreed(windows, line.labels, n)
    return Windows(period, n_ticks, streams, places, starts, labels, n), windows


def _agreed(windows: Integers, labels: Integers, n: int) -> Integers:
    """Return the label of nine in ten rows of each window; -1 if there is none."""
    inside = windows >= 0
    sizes = np.bincount(windows[inside], minlength=n)
    n_labels = int(labels.max(initial=-1)) + 2
    pairs, counts = np.unique(windows[inside] * n_labels + labels[inside] + 1, return_counts=True)
    of, label = pairs // n_labels, pairs % n_labels - 1
    is_sure = (label >= 0) & (counts * _SURE[1] >= sizes[of] * _SURE[0])
    found = np.full(n, -1)
    found[of[is_sure]] = label[is_sure]
    return found

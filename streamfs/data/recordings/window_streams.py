"""Streams that are windows of fixed length: of the rows of each stream, those that follow each other."""

from collections.abc import Sequence

import numpy as np

from streamfs.data.recordings.grid import Steps, measure_steps, period_of, require_ticks, source_of
from streamfs.data.recordings.rows import Rows
from streamfs.data.recordings.timelines import divide, timeline
from streamfs.data.recordings.unmet import UnmetError
from streamfs.data.recordings.windows import Timeline, Windows, cut

LEAST_TICKS = 2
"""Ticks of a window."""

_HOLE = 3.0  # usual steps without a row


def of_windows(rows: Rows, labels: Sequence[str], seconds: float) -> list[str]:
    """Make a stream of each window of the streams, which have `labels` unless their rows do; return the labels."""
    _label_rows(rows, labels)
    steps = measure_steps(rows)
    period, (line, places) = period_of(rows.layout, steps), timeline(rows)
    require_ticks(rows, period, steps)
    n_ticks = round(seconds / period)
    if n_ticks < LEAST_TICKS:
        raise UnmetError(
            f"window is {seconds:g} s, and a tick {period:g} s: expected at least {LEAST_TICKS * period:g} s"
        )
    hole = hole_of(period, steps, rows.layout.max_age)
    windows, of_row = cut(line, period, n_ticks, hole)
    _require_windows(windows, line, hole, seconds, source_of(rows))
    kept = np.unique(of_row[of_row >= 0])
    kept = kept[windows.labels[kept] >= 0] if rows.layout.labelled else kept
    if not len(kept):
        raise UnmetError(
            f"none of {windows.n_cut} windows of {seconds:g} s has one label in nine of ten rows: "
            "give a shorter window"
        )
    numbers = np.full(windows.n_cut + 1, -1)  # the last is that of rows in no window
    numbers[kept] = np.arange(len(kept))
    rows.windows, names, texts = windows.take(kept), list(rows.streams), [*rows.label_codes, ""]
    streams = zip(rows.windows.streams.tolist(), rows.windows.places.tolist(), strict=True)
    divide(rows, places, numbers[of_row], [f"{names[stream]}/{place}" for stream, place in streams])
    return [texts[label] for label in rows.windows.labels.tolist()]


def hole_of(period: float, steps: Steps | None, max_age: float | None = None) -> float:
    """Return the seconds without a row beyond which rows do not follow each other."""
    usual = 0.0 if steps is None else steps.longest_usual
    return max(_HOLE * max(usual, period), max_age or 0.0)


def _label_rows(rows: Rows, labels: Sequence[str]) -> None:
    """Give rows without labels of their own those of their streams."""
    for text in filter(None, labels):
        rows.label_codes.setdefault(text, len(rows.label_codes))
    codes = np.array([rows.label_codes.get(text, -1) for text in labels], dtype=np.int32)
    for block in rows.all_blocks():
        if block.labels is None:
            block.labels = codes[block.streams]


def _require_windows(windows: Windows, line: Timeline, hole: float, seconds: float, source: str) -> None:
    if not len(line.times):
        raise UnmetError(f"window is {seconds:g} s, and no row of {source} has a time")
    if not windows.n_cut:
        first = np.flatnonzero(line.begins(hole))
        spans = line.times[np.append(first[1:], len(line.times)) - 1] - line.times[first]
        raise UnmetError(
            f"window is {seconds:g} s, and the longest stretch without a hole of {hole:g} s is only of "
            f"{spans.max(initial=0.0) + windows.period:g} s"
        )

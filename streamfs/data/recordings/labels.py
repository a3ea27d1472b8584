"""Labels of streams that are not in a column of the recording: in a file, in folders, or of intervals of time."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from feature_extractors.arrays import Array, Integers
from streamfs.data.recordings.clock_changes import refuse_shown_twice
from streamfs.data.recordings.date_forms import date_forms
from streamfs.data.recordings.file_labels import PLACES_OF_FILES, of_files, proposed_place
from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import LABEL, PLACES, RUNS, STREAM
from streamfs.data.recordings.rows import Rows
from streamfs.data.recordings.sensor_labels import Intervals, intervals_of_sensor
from streamfs.data.recordings.tables import bare_name, ending_of, read_table, texts_of
from streamfs.data.recordings.timelines import divide, timeline
from streamfs.data.recordings.times import in_seconds, times_of
from streamfs.data.recordings.window_streams import of_windows
from streamfs.errors import DataError, LayoutError

STARTS, ENDS = ("start", "begin", "from", "von"), ("end", "stop", "to", "until", "ende", "bis")
"""What columns of the beginnings and ends of intervals are called."""


def label(rows: Rows) -> list[str]:
    """Return the label of each stream; intervals, runs and windows make streams of their own of the rows."""
    labels, window = _labels(rows), rows.layout.window
    return labels if window is None else of_windows(rows, labels, window)


def _labels(rows: Rows) -> list[str]:
    """Return the labels of streams before they are cut into windows; empty if their rows have labels."""
    labels = rows.layout.labels
    if labels in PLACES_OF_FILES:
        return of_files(rows, str(labels))
    if rows.label_sensor is not None and labels == RUNS:
        return _cut(rows, intervals_of_sensor(rows, rows.label_sensor), rows.label_sensor)
    if labels == RUNS:
        return _of_runs(rows)
    if labels is not None:
        return _of_file(rows, Path(labels))
    found = [rows.labels.get(stream, "") for stream in range(len(rows.streams))]
    if label_rows(rows).label_codes:
        return found
    if rows.layout.labelled and not any(found):
        raise _unlabelled(rows)
    for name, text in zip(rows.streams, found, strict=True):
        if rows.layout.labelled and not text:
            raise DataError(f"stream {name} has no label, and others have: add a column {LABEL!r} to its file")
    return found


def _of_runs(rows: Rows) -> list[str]:
    """Make a stream of each run of rows with one label, and leave out rows without; return the labels."""
    line, places = timeline(rows)
    named = (line.begins() | (np.diff(line.labels, prepend=-1) != 0)) & (line.labels >= 0)
    if not named.any():
        raise DataError(f"no row of {rows.tables[0].source} has a label")
    names, texts = list(rows.streams), list(rows.label_codes)
    in_stream: dict[int, int] = defaultdict(int)
    found = []
    for stream, code in zip(line.streams[named].tolist(), line.labels[named].tolist(), strict=True):
        in_stream[stream] += 1
        found.append((f"{names[stream]}/{in_stream[stream]}", texts[code]))
    divide(rows, places, np.where(line.labels >= 0, np.cumsum(named) - 1, -1), [name for name, _ in found])
    return [text for _, text in found]


def _unlabelled(rows: Rows) -> LayoutError:
    """Return the error of streams without labels; propose what may be labels."""
    table, proposal = rows.tables[0], proposed_place(rows)
    missing = f"{table.source} has no column {LABEL!r}, only {', '.join(table.columns)}"
    advice = "" if proposal else ": name the column by label, or a file or the folders by labels"
    return LayoutError(f"{missing}{advice}", proposal)


def _of_file(rows: Rows, path: Path) -> list[str]:
    """Return the label of each stream by a file of labels or of intervals."""
    if not ending_of(path.name):
        raise DataError(
            f"labels is {str(path)!r}, expected {', '.join(map(repr, PLACES))}, or a CSV or Parquet file"
        )
    table = read_table(path)
    span = _span(table.columns)
    of_stream = _of_stream(table, rows, span)
    others = [column for column in table.columns if column not in (of_stream, *span)]
    of_label = others[0] if rows.layout.label is None and len(others) == 1 else rows.layout.label or LABEL
    columns = [of_label, *(span or (of_stream,))]
    for column in columns:
        if column not in table.columns:
            advice = "name it by label" if column == columns[0] else f"rename the one that is meant to {column!r}"
            raise DataError(f"{path} has no column {column!r}, only {', '.join(table.columns)}: {advice}")
    labels = texts_of(table[columns[0]], path).to_list()
    names = texts_of(table[of_stream], path).to_list() if of_stream in table.columns else [None] * len(labels)
    known = {bare_name(name): code for name, code in rows.streams.items()}
    if not span:
        label_of: dict[str, str] = {}
        for name, text in zip(map(bare_name, map(str, names)), labels, strict=True):
            if label_of.setdefault(name, text) != text:
                raise DataError(f"stream {name} of {path} has two labels, {label_of[name]!r} and {text!r}")
        return _of_streams(rows, path, label_of)
    layout = _fitting([table[column] for column in span], rows.layout, path)
    starts, ends = (_seconds(table[column], layout, path) for column in span)
    intervals: Intervals = defaultdict(list)
    for row, name in enumerate(names):
        if not starts[row] < ends[row]:
            raise DataError(f"row {row + 1} of {path} starts at {starts[row]:g} s and ends at {ends[row]:g} s")
        of = known.values() if name is None else [known[bare_name(name)]] if bare_name(name) in known else []
        for stream in of:
            intervals[stream].append((float(starts[row]), float(ends[row]), labels[row]))
    return _cut(rows, intervals, path)


def _span(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the beginnings and ends of intervals; none if there are none."""
    start, end = (next((c for c in columns if c.strip().lower() in names), None) for names in (STARTS, ENDS))
    if start is None or (end is None and start != STARTS[0]):
        return ()
    return start, end or ENDS[0]


def _of_stream(table: pl.DataFrame, rows: Rows, span: Sequence[str]) -> str:
    """Return the column of the streams: called as in the recording, or the only one that names all of them."""
    said = rows.layout.stream_columns
    called = said[0] if len(said) == 1 and said[0] in table.columns else STREAM
    if called in table.columns:
        return called
    streams = {*map(bare_name, rows.streams)}
    free = [column for column in table.columns if column not in (*span, rows.layout.label, LABEL)]
    naming = [c for c in free if streams <= {*map(bare_name, texts_of(table[c], c).unique())}]
    return naming[0] if len(naming) == 1 else called


def _of_streams(rows: Rows, path: Path, label_of: dict[str, str]) -> list[str]:
    """Return the label of each stream by its name."""
    found = [label_of.get(bare_name(name), "") for name in rows.streams]
    if rows.layout.labelled and "" in found:
        name = list(rows.streams)[found.index("")]
        some = ", ".join([*label_of][:3])
        raise DataError(f"{path} has no label of stream {name!r}, only of {some} and others")
    return found


def _fitting(columns: Sequence[pl.Series], layout: Layout, path: Path) -> Layout:
    """Return the layout with the form of dates: the recording's, or else ISO 8601, or the only one that fits."""
    if any(cells.dtype != pl.String for cells in columns):
        return layout
    cells = pl.concat([each.rename(columns[0].name) for each in columns])
    forms = date_forms(cells)
    for form in (layout.time_format, None, *(forms if len(forms) == 1 else ())):
        with suppress(LayoutError):
            times_of(cells, replace(layout, time_format=form), path)
            return replace(layout, time_format=form)
    return layout


def _seconds(cells: pl.Series, layout: Layout, path: Path) -> Array:
    times, is_local = times_of(cells, layout, path)
    if is_local:
        refuse_shown_twice(times, layout.zone, f"{cells.name} of {path}")
    if np.isnan(times).any():
        raise DataError(f"row {np.isnan(times).argmax() + 1} of {path} has no {cells.name}")
    return times / in_seconds(times, layout)


def _inside(rows: Rows, intervals: Intervals) -> list[Integers]:
    """Return the number of the interval that each row of each batch is in, of all in order; -1 if in none."""
    parts = [np.full(len(block.streams), -1) for block in rows.all_blocks()]
    n_before = 0
    for stream in sorted(intervals):
        starts, ends = np.array([span[:2] for span in sorted(intervals[stream])]).T
        for block, part in zip(rows.all_blocks(), parts, strict=True):
            mine = np.flatnonzero(block.streams == stream)
            place = np.searchsorted(starts, block.times[mine], side="right") - 1
            inside = (place >= 0) & (block.times[mine] < ends[place])
            part[mine[inside]] = n_before + place[inside]
        n_before += len(starts)
    return parts


def label_rows(rows: Rows) -> Rows:
    """Return the rows with what a sensor says as their labels, if it is the label; else as they are."""
    if rows.label_sensor is None:
        return rows
    intervals = intervals_of_sensor(rows, rows.label_sensor)
    texts = [text for stream in sorted(intervals) for *_, text in sorted(intervals[stream])]
    for text in texts:
        rows.label_codes.setdefault(text, len(rows.label_codes))
    codes = np.array([*map(rows.label_codes.__getitem__, texts), -1], dtype=np.int32)
    for block, part in zip(rows.all_blocks(), _inside(rows, intervals), strict=True):
        block.labels = codes[part]
    return rows


def _cut(rows: Rows, intervals: Intervals, source: object) -> list[str]:
    """Make a stream of the rows in each interval, and leave out all others; return the labels of the streams."""
    names = list(rows.streams)
    found: list[tuple[str, str]] = []
    for stream in sorted(intervals):
        spans = sorted(intervals[stream])
        starts, ends = np.array([span[:2] for span in spans]).T
        if (starts[1:] < ends[:-1]).any():
            first = starts[1:][starts[1:] < ends[:-1]][0]
            raise DataError(f"intervals of stream {names[stream]} in {source} overlap at {first:g} s")
        found += [(f"{names[stream]}/{number}", text) for number, (*_, text) in enumerate(spans, start=1)]
    parts = _inside(rows, intervals)
    used = np.unique(np.concatenate([np.unique(part) for part in parts]))
    used = used[used >= 0]
    if not len(used):
        raise DataError(f"no row of the recording is in an interval of {source}: are their times of one clock?")
    for block, part in zip(rows.all_blocks(), parts, strict=True):
        block.streams = np.where(part < 0, np.int32(-1), np.searchsorted(used, part).astype(np.int32))
    rows.streams = {found[part][0]: number for number, part in enumerate(used)}
    return [found[part][1] for part in used]

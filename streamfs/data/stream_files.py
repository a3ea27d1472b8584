"""Recorded streams in files: read in any layout, written with one row per stream and tick."""

import os
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from feature_extractors.arrays import Array, Integers
from streamfs.data.recordings.cells import tabulate_rows
from streamfs.data.recordings.csv_text import Start
from streamfs.data.recordings.frames import frame_table
from streamfs.data.recordings.grid import Steps, count_times, measure_steps, period_of
from streamfs.data.recordings.groups import groups_of
from streamfs.data.recordings.histories import readings_of
from streamfs.data.recordings.labels import label, label_rows
from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import LABEL, PLACES, RUNS, STREAM, TIME
from streamfs.data.recordings.proposals import guess, recorded
from streamfs.data.recordings.proposed_windows import proposed_window
from streamfs.data.recordings.rows import MissingColumnError, Rows, read_rows
from streamfs.data.recordings.sources import open_tables
from streamfs.data.recordings.tables import BATCH, Table
from streamfs.data.recordings.timelines import timeline
from streamfs.data.recordings.unmet import UnmetError
from streamfs.data.recordings.window_streams import hole_of
from streamfs.data.recordings.windows import Windows
from streamfs.data.stream_arrays import StreamArrays
from streamfs.errors import DataError, LayoutError

SENSOR, VALUE = "sensor", "value"

LONG = STREAM, TIME, SENSOR, VALUE
"""Columns of a long table as it is written."""

_LONG = pl.Schema({STREAM: pl.String, TIME: pl.Float64, SENSOR: pl.String, VALUE: pl.Float64})
_MOST_KINDS = 3  # of files
_MOST_GUESSES = 6


class ReadStreams(NamedTuple):
    """Contents of files, what they say of times, the number of times of each stream, its windows and groups."""

    arrays: StreamArrays
    steps: Steps | None
    starts: Array
    messages: Integers
    windows: Windows | None
    groups: Sequence[str] | None


def read_recording(
    paths: str | Path | Iterable[str | Path], layout: Layout, *, count: bool = False
) -> ReadStreams:
    """Read files or histories, with their steps of time and when streams begin; count times if asked."""
    given = _given(paths)
    try:
        return _read_given(given, layout, count=count)
    except OSError as error:
        raise DataError(f"{error.filename or given[0]} cannot be read: {error.strerror or error}") from error


def _given(paths: Any) -> list[Path]:
    """Return the paths that are given, one or several; raise a TypeError if they are none."""
    if hasattr(paths, "columns"):
        raise TypeError("paths is a frame, expected a path or several; StreamSet.from_frame takes frames")
    given = [paths] if isinstance(paths, str | PathLike) or not isinstance(paths, Iterable) else [*paths]
    if not all(isinstance(path, str | PathLike) for path in given):
        raise TypeError(f"paths is {reprlib.repr(paths)}, expected a path or several, such as 'streams.csv'")
    return [*map(Path, given)]


def _read_given(given: Sequence[Path], layout: Layout, *, count: bool) -> ReadStreams:
    is_said = layout.long not in (None, LONG) or (layout.long is None and layout.names_columns)
    readings = None if is_said else readings_of(given, layout.zone)
    if readings is None:
        labels = None if layout.labels in (None, *PLACES) else Path(str(layout.labels))
        without = [file for file in (labels, layout.groups_file) if file is not None]
        return read_tables(_opened(given, without, layout), layout, count=count)
    table = frame_table(_long_table(readings))._replace(source=" ".join(map(str, given)))
    return read_tables([table], layout if layout.long else replace(layout, long=LONG), count=count)


def _opened(paths: Sequence[Path], without: Sequence[Path], layout: Layout) -> list[Table]:
    """Open the files of a recording; where the header is not the first line, propose what else is missing, too."""
    said = (layout.label, layout.columns, layout.labels, layout.group_column, layout.window, layout.time_format)
    is_table = layout.long is not None or layout.names_columns or any(each is not None for each in said)
    try:
        return open_tables(paths, without, Start(layout.header, layout.column_names, is_table))
    except LayoutError as error:
        if not error.proposal:
            raise
        found = replace(layout, **error.proposal)
        further: dict[str, Any] = {}
        try:
            read_tables(_opened(paths, without, found), found)
        except LayoutError as other:
            further = other.proposal
        except DataError:
            pass  # what else is wrong is said once the header is
        raise LayoutError(error.problem, error.proposal | further) from error


def read_frame(frame: Any, layout: Layout) -> ReadStreams:
    """Read a frame in memory, as `StreamSet.from_frame` documents."""
    return read_tables([frame_table(frame)], layout)


def read_tables(tables: Sequence[Table], layout: Layout, *, count: bool = False) -> ReadStreams:
    """Read tables, and count the times of each stream if asked; propose a layout where this one does not fit."""
    try:
        return _read(tables, layout, count=count)
    except LayoutError as error:
        proposal = _proposal(tables, layout, error)
        if not proposal and layout.labelled:  # labels may be missing beside what the error is about
            proposal = _proposal(tables, replace(layout, labelled=False), error)
        if proposal.get("labels") == RUNS:
            proposal = _with_windows(tables, layout, proposal)
        more = "" if proposal else _kinds(tables) or _beyond(tables, layout, error)
        raise LayoutError(f"{error.problem}{more}", proposal, {} if more else _needed(error)) from error


def _kinds(tables: Sequence[Table]) -> str:
    """Return that tables have different columns, if so, and one file of each kind."""
    kinds: dict[tuple[str, ...], str] = {}
    for table in tables:
        kinds.setdefault(tuple(table.columns), table.source)
    if len(kinds) == 1:
        return ""
    some = " or ".join([*kinds.values()][:_MOST_KINDS])
    return f"; files have different columns: read those of one kind alone, such as {some}"


def _beyond(tables: Sequence[Table], layout: Layout, error: LayoutError) -> str:
    """Return what else is wrong with tables once a column that is guessed names their streams."""
    if not error.proposal:
        return ""
    for guessed in guess(tables, layout, error):
        if set(guessed) == {"stream"}:
            try:
                _read(tables, replace(layout, **guessed))
            except DataError as other:
                return f"; if stream is {guessed['stream']}, {other}"
    return ""


def _needed(error: LayoutError) -> dict[str, str]:
    """Return what to name if a table has no column of times that could be found."""
    is_time = isinstance(error, MissingColumnError) and error.field_name == "time"
    if not is_time:
        return {}
    return {
        "time": "the column of times, or rows if they follow each other",
        "time_format": "the form of its dates",
    }


def _proposal(
    tables: Sequence[Table], layout: Layout, error: LayoutError, n_left: int = _MOST_GUESSES
) -> dict[str, Any]:
    """Return the fields with which the tables are read, if there are some; they are tried before.

    Where streams then lack only what was asked of them, that is for the next error to say.
    """
    for guessed in guess(tables, layout, error) if n_left else ():
        try:
            better = replace(layout, **guessed)
            _read(tables, better)
        except LayoutError as other:
            further = _proposal(tables, better, other, n_left - 1)
            if further:
                return guessed | further
        except UnmetError:
            return guessed
        except DataError:
            continue
        else:
            return guessed
    return {}


def _with_windows(tables: Sequence[Table], layout: Layout, proposal: dict[str, Any]) -> dict[str, Any]:
    """Return a proposal with windows instead of runs of one label, if these are better."""
    rows = label_rows(_rows(tables, replace(layout, **proposal)))
    steps = measure_steps(rows)
    period = period_of(rows.layout, steps)
    seconds = proposed_window(timeline(rows)[0], period, hole_of(period, steps, rows.layout.max_age))
    if seconds is None:
        return proposal
    better = {**{name: value for name, value in proposal.items() if name != "labels"}, "window": seconds}
    try:
        _read(tables, replace(layout, **better))
    except DataError:
        return proposal
    return better


def _read(tables: Sequence[Table], layout: Layout, *, count: bool = False) -> ReadStreams:
    rows = _rows(tables, layout)
    labels = label(rows)
    groups = groups_of(rows)
    messages = count_times(rows) if count else np.zeros(0, dtype=np.int64)
    values, grid = tabulate_rows(rows)
    arrays = StreamArrays(values, labels, list(rows.columns), grid.period, list(rows.streams), grid.lengths)
    return ReadStreams(arrays, grid.steps, grid.starts, messages, rows.windows, groups)


def _rows(tables: Sequence[Table], layout: Layout) -> Rows:
    tables = recorded(tables, layout)
    if layout.decimal is not None:
        tables = [table._replace(decimal=layout.decimal) for table in tables]
    return read_rows(tables, layout)


def write_readings(readings: Iterable[tuple[str, float, str, float]], path: Path) -> int:
    """Write stream, time, sensor and value of each reading to a long table; return their number."""
    table = _long_table(readings)
    _write(table.with_columns(pl.col(VALUE).fill_nan(None)), path)
    return len(table)


def _long_table(readings: Iterable[tuple[str, float, str, float]]) -> pl.DataFrame:
    """Return a row a reading; of several readings of a sensor at one time, the last is kept."""
    parts = [pl.DataFrame(schema=_LONG)]
    iterator = iter(readings)
    while chunk := list(islice(iterator, BATCH)):
        parts.append(pl.DataFrame(chunk, _LONG, orient="row"))
    return pl.concat(parts).unique((STREAM, TIME, SENSOR), keep="last", maintain_order=True)


def write_streams(arrays: StreamArrays, path: Path) -> None:
    """Write a file, as `StreamSet.write` documents."""
    check_written(path)
    _write(streams_frame(arrays), path)


def streams_frame(arrays: StreamArrays) -> pl.DataFrame:
    """Return a row for each stream and tick, as `StreamSet.to_frame` documents."""
    values, labels, columns, period, names, lengths = arrays
    for column in columns:
        if column in (STREAM, TIME, LABEL):
            raise DataError(
                f"column {column!r} cannot be written: the name has another meaning in a file; rename it"
            )
    n_rows = np.maximum(lengths, 1)  # a stream without ticks has one row, without a time
    stream_of, ticks = np.nonzero(np.arange(values.shape[1] + 1) < n_rows[:, np.newaxis])
    readings = np.pad(values, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)[stream_of, ticks]
    return pl.DataFrame(
        {
            STREAM: pl.Series(names, dtype=pl.String).gather(stream_of),
            TIME: np.where(ticks < lengths[stream_of], ticks * period, np.nan),
            LABEL: pl.Series(labels, dtype=pl.String).gather(stream_of),
            **{column: readings[:, index] for index, column in enumerate(columns)},
        }
    ).with_columns(pl.selectors.float().fill_nan(None))


def check_written(path: Path) -> None:
    """Refuse a file that is not written, by its name."""
    try:
        is_named = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_named = False
    if not is_named:
        raise DataError(f"{str(path)!r} cannot be written: no file can have this name")
    if path.suffix not in (".csv", ".parquet"):
        raise DataError(f"{path} ends in {path.suffix!r}, expected .csv or .parquet")


def _write(table: pl.DataFrame, path: Path) -> None:
    with path.open("wb") as file:
        if path.suffix == ".parquet":
            table.write_parquet(file)
        else:
            is_like_comment = table[STREAM].str.contains(r"^\s*#").any()
            table.write_csv(file, quote_style="non_numeric" if is_like_comment else "necessary")

"""Files of recorded streams: CSV and Parquet tables with one row per stream and tick."""

import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from streamfs.errors import DataError

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

STREAM, TIME, LABEL = "stream", "time", "label"
"""The columns of a file that are not readings."""

MAX_BYTES = 2**31
"""Limit on the size of a file's values on the grid of ticks: one wrong time must not exhaust memory."""

_MAX_TIME = 2.0**53  # seconds; beyond it, floats are more than one second apart


class StreamArrays(NamedTuple):
    """Contents of a file: the arguments of `StreamSet`, in order."""

    values: Array
    labels: Sequence[str]
    columns: Sequence[str]
    period: float
    names: Sequence[str]
    lengths: Integers


def read_streams(path: Path, period: float | None, *, labelled: bool) -> StreamArrays:
    """Read a file, as `StreamSet.read` documents."""
    if period is not None:
        check_period(period)
    table = read_table(path)
    columns = _reading_columns(table, path, labelled=labelled)
    names, labels, stream_of = _streams(table, path, labelled=labelled)
    readings = np.stack([numbers_of(table, column, path) for column in columns], axis=1)
    times = _times(table, readings, path)
    timed = ~np.isnan(times)
    stream_of, times = stream_of[timed], times[timed]
    step = _smallest_step(stream_of, times)
    if period is None:
        period = 1.0 if step is None else step
    ticks, lengths = _grid(names, stream_of, times, period, len(columns), path)
    if step is not None and step > 1.5 * period:
        raise DataError(f"rows of {path} are at least {step:g} s apart, expected a tick of {period:g} s")
    values = np.full((len(names), int(lengths.max()), len(columns)), np.nan)
    values[stream_of, ticks] = readings[timed]
    return StreamArrays(values, labels, columns, period, names, lengths)


def write_streams(arrays: StreamArrays, path: Path) -> None:
    """Write a file, as `StreamSet.write` documents."""
    values, labels, columns, period, names, lengths = arrays
    if path.suffix not in (".csv", ".parquet"):
        raise DataError(f"{path} ends in {path.suffix!r}, expected .csv or .parquet")
    for column in columns:
        if column in (STREAM, TIME, LABEL):
            raise DataError(
                f"column {column!r} cannot be written: the name has another meaning in a file; rename it"
            )
    n_rows = np.maximum(lengths, 1)  # a stream without ticks has one row, without a time
    stream_of, ticks = np.nonzero(np.arange(values.shape[1] + 1) < n_rows[:, np.newaxis])
    readings = np.pad(values, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)[stream_of, ticks]
    table = pl.DataFrame(
        {
            STREAM: pl.Series(names, dtype=pl.String).gather(stream_of),
            TIME: np.where(ticks < lengths[stream_of], ticks * period, np.nan),
            LABEL: pl.Series(labels, dtype=pl.String).gather(stream_of),
            **{column: readings[:, index] for index, column in enumerate(columns)},
        }
    ).with_columns(pl.selectors.float().fill_nan(None))
    with path.open("wb") as file:
        if path.suffix == ".parquet":
            table.write_parquet(file)
        else:
            table.write_csv(file)


def check_names(what: str, names: Sequence[str]) -> None:
    """Refuse empty and repeated names."""
    if "" in names:
        raise DataError(f"{what} {names.index('') + 1} has the name '', expected a text that is not empty")
    if len(set(names)) < len(names):
        repeated = next(name for index, name in enumerate(names) if name in names[:index])
        raise DataError(f"{what} {repeated!r} occurs twice")


def check_period(period: float) -> None:
    """Refuse a period that is not a positive number of seconds."""
    if not (np.isfinite(period) and period > 0):
        raise DataError(f"period is {period}, expected a positive number of seconds")


def read_table(path: Path) -> pl.DataFrame:
    """Read a CSV or Parquet file; the cells of a CSV file stay text."""
    if not path.name.endswith((".csv", ".csv.gz", ".parquet")):
        raise DataError(f"{path} ends in {path.suffix!r}, expected .csv, .csv.gz or .parquet")
    try:
        with path.open("rb") as file:  # polars would read some characters of a path as a pattern
            if path.suffix == ".parquet":
                return pl.read_parquet(file)
            table = pl.read_csv(file, has_header=False, infer_schema=False)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except pl.exceptions.PolarsError as error:
        reason = _too_long_row(path) or str(error).partition("\n")[0]
        raise DataError(f"{path} cannot be read: {reason}") from error
    except pl.exceptions.PanicException as error:
        raise DataError(f"{path} cannot be read: it is damaged") from error
    header = ["" if name is None else name for name in table.row(0)]  # polars would rename repeated names
    try:
        check_names("column", header)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    table.columns = header
    return table[1:].filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines


def _too_long_row(path: Path) -> str | None:
    """Describe the first row that has more cells than the header, if any; polars does not."""
    if path.suffix == ".parquet":
        return None
    with path.open("rb") as raw:
        is_packed = raw.read(2) == b"\x1f\x8b"
    open_file = gzip.open if is_packed else open
    try:
        with open_file(path, "rt", newline="", encoding="utf-8", errors="replace") as file:
            rows = (row for row in csv.reader(file) if row)
            n_columns = len(next(rows, []))
            for number, row in enumerate(rows, start=1):
                if len(row) > n_columns:
                    return f"row {number} has {len(row)} cells, expected {n_columns} as in the header"
    except (csv.Error, OSError, EOFError, zlib.error):
        pass  # damaged in another way, which polars has reported
    return None


def _reading_columns(table: pl.DataFrame, path: Path, *, labelled: bool) -> list[str]:
    for column in (STREAM, TIME, LABEL) if labelled else (STREAM, TIME):
        if column not in table.columns:
            raise DataError(f"{path} has no column {column!r}, only {', '.join(table.columns)}")
    columns = [c for c in table.columns if c not in (STREAM, TIME, LABEL)]
    if table.is_empty() or not columns:
        raise DataError(f"{path} has no {'readings: it has no rows' if columns else 'column of readings'}")
    return columns


def _streams(table: pl.DataFrame, path: Path, *, labelled: bool) -> tuple[list[str], list[str], Integers]:
    """Return names and labels of the streams, in the order of the file, and the index of each row's stream."""
    names = texts_of(table, STREAM, path)
    labels = texts_of(table, LABEL, path) if LABEL in table.columns else pl.repeat("", len(table), eager=True)
    for what, texts in (("stream", names), ("label", labels)):
        missing = (texts == "").arg_true()
        if len(missing) and (labelled or what == "stream"):
            raise DataError(f"row {missing[0] + 1} of {path} has no {what}")
    found = (
        pl.DataFrame({STREAM: names, LABEL: labels})
        .group_by(STREAM, maintain_order=True)
        .agg(pl.col(LABEL).unique(maintain_order=True))
    )
    for name, several in found.iter_rows():
        if len(several) > 1:
            raise DataError(f"stream {name} of {path} has two labels, {several[0]!r} and {several[1]!r}")
    distinct = found[STREAM].to_list()
    stream_of = names.replace_strict(distinct, range(len(distinct)), return_dtype=pl.Int64)
    return distinct, found[LABEL].list.first().to_list(), stream_of.to_numpy()


def texts_of(table: pl.DataFrame, column: str, path: Path) -> pl.Series:
    """Return a column of a table as text; empty cells are empty strings."""
    try:
        return table[column].cast(pl.String).fill_null("")
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{column} of {path} is of type {table[column].dtype}, expected text") from error


def numbers_of(table: pl.DataFrame, column: str, path: Path) -> Array:
    """Return a column of a table as floats; empty cells are NaN."""
    cells = table[column]
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars().replace("", None)
    elif not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Null)):
        raise DataError(f"{column} of {path} is of type {cells.dtype}, expected numbers")
    numbers = cells.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & cells.is_not_null()).arg_true()
    if len(wrong):
        expected = "seconds" if column == TIME else "a number"
        raise DataError(f"{column} of {path} is {cells[wrong[0]]!r} in row {wrong[0] + 1}, expected {expected}")
    return numbers.fill_null(np.nan).to_numpy()


def _times(table: pl.DataFrame, readings: Array, path: Path) -> Array:
    """Return the rows' times; NaN for streams without ticks."""
    times = numbers_of(table, TIME, path)
    timeless = np.isnan(times) & ~np.isnan(readings).all(axis=1)
    if timeless.any():
        raise DataError(f"row {timeless.argmax() + 1} of {path} has readings but no time")
    if (np.abs(times) > _MAX_TIME).any():
        row = int((np.abs(times) > _MAX_TIME).argmax())
        raise DataError(f"{TIME} of {path} is {times[row]:g} in row {row + 1}, expected seconds")
    return times


def _smallest_step(stream_of: Integers, times: Array) -> float | None:
    """Return the smallest time step within a stream, as the shortest decimal within the times' precision."""
    order = np.lexsort((times, stream_of))
    steps = np.diff(times[order])[np.diff(stream_of[order]) == 0]
    steps = steps[steps > 0]
    if not len(steps):
        return None
    step, precision = float(steps.min()), 2 * np.spacing(np.abs(times).max())
    decimals = (float(f"{step:.{n_digits}g}") for n_digits in range(1, 18))
    return next(decimal for decimal in decimals if abs(decimal - step) <= precision)


def _grid(
    names: Sequence[str], stream_of: Integers, times: Array, period: float, n_columns: int, path: Path
) -> tuple[Integers, Integers]:
    """Return the tick of each row, from 0, and the length of each stream."""
    lengths = np.zeros(len(names), dtype=np.int64)
    if not len(times):
        return np.zeros(0, dtype=np.int64), lengths
    start = np.full(len(names), np.inf)
    np.minimum.at(start, stream_of, times)
    elapsed = times - start[stream_of]
    longest = float(elapsed.max()) / period + 1
    if longest * len(names) * n_columns * 8 > MAX_BYTES:
        raise DataError(
            f"stream {names[stream_of[elapsed.argmax()]]} of {path} spans {longest:,.0f} ticks of {period:g} s, "
            f"too many for {len(names)} streams of {n_columns} columns in {MAX_BYTES // 2**30} GiB: correct its "
            "times, or give a longer period"
        )
    ticks = np.floor(elapsed / period + 0.5).astype(np.int64)
    np.maximum.at(lengths, stream_of, ticks + 1)
    cells, n_rows = np.unique(stream_of * lengths.max() + ticks, return_counts=True)
    if (n_rows > 1).any():
        stream, tick = divmod(int(cells[n_rows.argmax()]), int(lengths.max()))
        raise DataError(
            f"stream {names[stream]} of {path} has {n_rows.max()} rows at tick {tick + 1} of {period:g} s: "
            "keep one of them, or use a shorter period; a model keeps the period of its training"
        )
    return ticks, lengths

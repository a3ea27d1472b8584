"""Times of recordings in seconds: numbers since any origin or since 1970, dates with and without time zone."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import DATE_PARTS, UNITS
from streamfs.data.recordings.tables import numbers_of
from streamfs.errors import DataError, LayoutError

MAX_TIME = 2.0**53
"""Seconds; beyond it, floats are more than one second apart."""

_EPOCHS = 3e8, 4.2e9  # seconds since 1970: mid 1979 to 2103
_HOURS = "%H", "%I", "%T", "%R", "%c", "%s", "%+"
_DATE = r"^\d{4}-\d{2}-\d{2}|^\d{8}[T ]\d{2}"
_SPELT_OFFSET = r"\s+(?:UTC|GMT|[+-]\d{2}(?::?\d{2})?)\s*$"  # as some write Z and +01:00
_NAMED_ZONE = r"\s*\[[A-Za-z0-9_+/-]+\]\s*$"  # behind an offset, as Java writes it
_OFFSET = r"\d[T ].*(?:Z|[+-]\d{2}:?\d{2})\s*$"
_COMPACT = r"^(?:19|20)\d{12}$"
"""Dates without any mark between their parts, which are no seconds: 20261122163000."""

_NO_READING = re.compile(r" is '\D+' in row ")  # what a time says in a row of units or sums
_EXPECTED = (
    "expected seconds, or a date such as 2005-11-27T09:30:00+01:00, or a time format such as '%d.%m.%Y %H:%M'"
)


def moments(rows: pl.DataFrame, columns: Sequence[str], source: object) -> pl.Series:
    """Return the column of times of some rows; a date and a time of day, or parts of them, are put together."""
    if len(columns) == 1:
        return rows[columns[0]]
    try:
        return _of_parts(rows, columns) if len(columns) > 2 else _of_date_and_hour(rows, columns)
    except pl.exceptions.PolarsError as error:
        kinds = " and ".join(f"{column} of type {rows[column].dtype}" for column in columns)
        raise LayoutError(f"times of {source} are {kinds}, expected texts, numbers or dates") from error


def _of_date_and_hour(rows: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return dates and times of day as datetimes, or as texts of them."""
    date, hour = rows[columns[0]], rows[columns[1]]
    name = " and ".join(columns)
    if isinstance(hour.dtype, pl.Time) and date.dtype.is_temporal():
        whole = date.cast(pl.Datetime("us")).dt.truncate("1d")
        return (whole + (hour.cast(pl.Int64) // 1000).cast(pl.Duration("us"))).rename(name)
    days = date.dt.to_string("%Y-%m-%d") if date.dtype.is_temporal() else date.cast(pl.String).str.strip_chars()
    return rows.select(pl.concat_str(days, hour.cast(pl.String).str.strip_chars(), separator=" "))[:, 0].rename(
        name
    )


def _of_parts(rows: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return years, months, days and so on as texts of dates."""
    parts = [rows[column] for column in columns]
    whole = [part if part.dtype == pl.String else part.cast(pl.Int64, strict=False) for part in parts]
    texts = [part.cast(pl.String).str.strip_chars().str.zfill(2) for part in whole]
    texts += [pl.Series(["00"])] * (len(DATE_PARTS) - len(parts))
    date = pl.format("{}-{}-{} {}:{}:{}", *(pl.lit(text) for text in texts))
    return pl.select(date.alias(", ".join(part.name for part in parts))).to_series()


class Times(NamedTuple):
    """Times as numbers, and whether they were dates without an offset.

    Dates that clocks show twice are those that they show first: see `clock_changes`.
    """

    numbers: Array
    is_local: bool = False


def times_of(cells: pl.Series, layout: Layout, source: object, n_before: int = 0, decimal: str = ".") -> Times:
    """Return a column of times as numbers, dates in seconds since 1970; empty cells are NaN.

    Numbers without a `time_format` are in the unit of the file still: see `in_seconds`.
    """
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars().replace("", None)
        if _are_dates(cells, layout):
            cells = _parsed(cells, layout, source, n_before)
    if cells.dtype == pl.Duration:
        return Times(cells.dt.total_microseconds().cast(pl.Float64).fill_null(np.nan).to_numpy() / 1e6)
    if cells.dtype == pl.Time:
        raise LayoutError(f"{cells.name} of {source} is a time of day, expected a date with it in another column")
    if not cells.dtype.is_temporal():
        return Times(_numbers(cells, layout, source, n_before, decimal))
    if isinstance(cells.dtype, pl.Datetime) and cells.dtype.time_zone is not None:
        return Times(_since_1970(cells))
    return Times(_since_1970(_placed(cells, layout, source)), is_local=True)


def in_seconds(times: Array, layout: Layout) -> float:
    """Return how many units of some times make a second.

    Numbers that all are milliseconds, microseconds or nanoseconds between 1979 and 2103 are taken for that; all
    others for seconds.
    """
    if layout.time_format in UNITS:
        return UNITS[layout.time_format]
    return next((unit for unit in UNITS.values() if unit > 1 and is_epoch(times, unit)), 1.0)


def is_epoch(times: Array, *units: float) -> bool:
    """Return whether all times are of 1979 to 2103, in one of some units, by default any."""
    known = times[~np.isnan(times)]
    return len(known) > 0 and any(
        bool(((known >= _EPOCHS[0] * unit) & (known <= _EPOCHS[1] * unit)).all())
        for unit in units or UNITS.values()
    )


def check_times(times: Array, source: object, n_before: int) -> None:
    """Refuse times that are too large for seconds; `n_before` rows of the table are before these."""
    absurd = np.abs(times) > MAX_TIME
    if absurd.any():
        row = int(absurd.argmax())
        raise DataError(f"time of {source} is {times[row]:g} in row {n_before + row + 1}, expected seconds")


def _are_dates(cells: pl.Series, layout: Layout) -> bool:
    """Return whether cells of text are dates: by their format, or by the first of them."""
    if layout.time_format is not None:
        return layout.time_format not in UNITS
    first = cells.drop_nulls().head(1)
    return bool(first.str.contains(_DATE).any())


def _parsed(cells: pl.Series, layout: Layout, source: object, n_before: int) -> pl.Series:
    """Return dates of text as datetimes; those with an offset in UTC."""
    style = layout.time_format
    if style is None and cells.drop_nulls().head(1).str.contains(_NAMED_ZONE).any():
        cells = cells.str.replace(_NAMED_ZONE, "")
    if style is None and cells.drop_nulls().head(1).str.contains(_SPELT_OFFSET).any():
        cells = cells.str.replace(r"\s+(?:UTC|GMT)$", "Z").str.replace(r"\s+([+-]\d{2}:?(?:\d{2})?)$", "$1")
    has_offset = "%z" in style if style else bool(cells.drop_nulls().head(1).str.contains(_OFFSET).any())
    try:
        dates = dates_of(cells, style, "UTC" if has_offset else None)
    except pl.exceptions.PolarsError as error:
        _refuse(cells, cells.is_not_null(), source, n_before, _EXPECTED, error)
        raise
    expected = f"expected a date like {style}" if style else "expected a date like those before it"
    _refuse(cells, dates.is_null() & cells.is_not_null(), source, n_before, expected)
    return dates


def _refuse(
    cells: pl.Series,
    wrong: pl.Series,
    source: object,
    n_before: int,
    expected: str,
    error: Exception | None = None,
) -> None:
    """Refuse the first of the cells that are wrong, if there is one."""
    for at in wrong.arg_true().head(1):
        what = f"{cells.name} of {source} is {cells[at]!r} in row {n_before + at + 1}"
        raise LayoutError(f"{what}, {expected}") from error


def dates_of(texts: pl.Series, style: str | None, zone: str | None = None) -> pl.Series:
    """Return texts as datetimes in microseconds; what is no date of this form is empty."""
    if style is not None and not any(hours in style for hours in _HOURS):
        return texts.str.to_date(style, strict=False).cast(pl.Datetime("us"))
    return texts.str.to_datetime(style, time_unit="us", time_zone=zone, strict=False, ambiguous="null")


def _numbers(cells: pl.Series, layout: Layout, source: object, n_before: int, decimal: str) -> Array:
    """Return times that are numbers; say what else they may be if they are not."""
    if cells.dtype == pl.String and layout.time_format is None:
        _refuse(cells, cells.str.contains(_COMPACT), source, n_before, _EXPECTED)
    try:
        return numbers_of(cells, source, n_before, decimal)
    except DataError as error:
        wanted = "a number" if cells.dtype == pl.String else "numbers"
        expected = "expected seconds" if layout.time_format in UNITS else _EXPECTED
        if _NO_READING.search(str(error)):
            expected += "; take the row out if it has no readings"
        raise LayoutError(str(error).replace(f"expected {wanted}", expected)) from error


def _placed(cells: pl.Series, layout: Layout, source: object) -> pl.Series:
    """Return dates without an offset as datetimes of the layout's time zone."""
    local = cells.cast(pl.Datetime("us"))
    placed = local.dt.replace_time_zone(layout.zone, ambiguous="earliest", non_existent="null")
    wrong = (placed.is_null() & local.is_not_null()).arg_true()
    if len(wrong):
        raise DataError(
            f"{cells.name} of {source} is {local[wrong[0]]} somewhere, which {layout.zone} does not have, since "
            "clocks go forward: name another time zone, or record dates with an offset"
        )
    return placed


def _since_1970(cells: pl.Series) -> Array:
    """Return datetimes as seconds since 1970."""
    ticks = cells.dt.epoch("us")
    return np.asarray(ticks.cast(pl.Float64).fill_null(np.nan).to_numpy() / 1e6)

"""What the columns of a table may mean, by their names and cells."""

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.data.recordings.column_contents import COUNTED, are_two_states, comes_back, divides, is_in_parts
from streamfs.data.recordings.date_forms import date_forms
from streamfs.data.recordings.grid import MANY
from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import DATE_PARTS, LABEL, RUNS, STREAM, TIME
from streamfs.data.recordings.tables import Table, numbers_of
from streamfs.data.recordings.times import is_epoch, moments, times_of
from streamfs.data.recordings.words import COMMA, MOST_WORDS, coded, words_of
from streamfs.errors import DataError

TIMES = (
    TIME,
    "timestamp",
    "datetime",
    "date time",
    "ts",
    "date",
    "last changed",
    "last updated",
    "received at",
    "epoch",
    "when",
    "zeit",
    "datum",
    "t",
)
UPTIMES = ("millis", "micros", "uptime", "elapsed", "seconds")
_UNITS = {
    **dict.fromkeys(("ms", "millis", "msec", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "micros", "usec", "microseconds"), "us"),
}
"""Units of times that are no dates, by the last word of a column's name."""

ENDS = ("end", "stop", "to", "until", "end time", "ende")
STREAMS = (
    STREAM,
    "device",
    "device id",
    "node",
    "node id",
    "mote",
    "entity id",
    "subject",
    "user",
    "participant",
    "session",
    "id",
    "name",
)
SENSORS = ("sensor", "quantity", "metric", "channel", "field", "variable", "parameter", "property", "measurement")
VALUES = ("value", "v", "reading", "val", "state", "measurement")
GROUPS = (
    "group",
    "subject",
    "user",
    "person",
    "participant",
    "patient",
    "room",
    "site",
    "place",
    "house",
    "building",
    "session",
)
LABELS = (LABEL, "class", "activity", "target", "category", "annotation", "condition")
"""What columns are often called; the first that is there is proposed."""

SEEN = 1000
"""Rows by which columns are guessed."""

_MOST_NUMBERS = 32  # different ones of rows that are labelled by them
_RISING = 0.7  # share of steps of a time that do not lead back, which is where streams end


class ColumnGuess:
    """What the columns of a table may mean, by their names and first cells."""

    def __init__(self, table: Table, layout: Layout, cells: pl.DataFrame) -> None:
        self.table, self.layout, self.cells = table, layout, cells
        self.free = [column for column in table.columns if column != layout.label]

    def fields(self) -> dict[str, Any]:
        """Return fields of a layout; none if no column may be the time."""
        found = self._dated() or self._counter()
        if found is None:
            return {}
        times, form = found
        label = self._take(LABELS, self._is_class) if self.layout.labels in (None, RUNS) else None
        others = {
            **({} if label in (None, LABEL) else {"label": label}),
            **({} if form is None else {"time_format": form}),
        }
        stream = self._take(STREAMS, lambda _: True)
        sensor, value = self._take(SENSORS, self._is_text), self._take(VALUES, self._has_numbers)
        if sensor is not None and value is not None and len(times) == 1:
            return {"long": (stream or "", times[0], sensor, value), **others}
        self.free += [column for column in (sensor, value) if column is not None]
        readings = [c for c in self.table.columns if c in self.free and self._measures(self.cells[c])]
        if stream is None:
            stream = self._stream(times, readings)
        if label is None and self._misses_label():
            label = self._label_of(stream) or self._state(stream)
            others |= {} if label is None else {"label": label}
        groups = self.layout.group_column or self._groups_of(stream, label)
        others |= {} if groups is None else {"groups": groups}
        readings = [column for column in readings if column not in (stream, label, groups)]
        left_out = {column for column in self.free if column not in (*readings, stream, label, groups)}
        named = times[0] if len(times) == 1 else times
        return {
            **({} if stream in (None, STREAM) else {"stream": stream}),
            **({} if named == TIME else {"time": named}),
            **others,
            **({"columns": tuple(readings)} if left_out and readings else {}),
        }

    def _misses_label(self) -> bool:
        layout = self.layout
        is_given = layout.labels not in (None, RUNS) or layout.label is not None or LABEL in self.table.columns
        return layout.labelled and not is_given

    def _label_of(self, stream: str | None) -> str | None:
        """Return the only column of words of which each stream has one, whatever it is called."""
        streams = [*self.layout.stream_columns] or [stream or STREAM]
        if not set(streams) <= set(self.table.columns):
            return None
        words = [
            column
            for column in self.free
            if column not in streams and self._is_text(self.cells[column]) and self._names(column, streams)
        ]
        return _only(words)

    def _groups_of(self, stream: str | None, label: str | None) -> str | None:
        """Return the column that is called as what streams belong to, of which each has one."""
        streams = [*self.layout.stream_columns] or [stream or STREAM]
        if self.layout.groups is not None or not set(streams) <= set(self.table.columns):
            return None
        return self._named(GROUPS, lambda c: c.name not in (*streams, label) and self._names(c.name, streams))

    def groups_of_files(self) -> str | None:
        """Return the column that is called as what files belong to, each of one stream."""
        return self._named(GROUPS, lambda c: c.n_unique() == 1)

    def _state(self, stream: str | None) -> str | None:
        """Return the only column of some words that come and go: they may be the labels."""
        texts = [c for c in self.free if c != stream and self._is_text(self.cells[c])]
        return _only([c for c in texts if not self._is_moment(self.cells[c]) and comes_back(self._whole(c)[c])])

    def _whole(self, *columns: str) -> pl.DataFrame:
        """Return some columns with all rows, of which there may be more than were seen."""
        if len(self.cells) < SEEN:
            return self.cells.select(columns)
        return pl.concat([batch.select(columns) for _, batch in self.table.batches()])

    def _names(self, column: str, streams: list[str]) -> bool:
        """Return whether a column has several values, repeats them, and each stream has one of them."""
        cells = self._whole(*streams, column)
        n_values = cells.group_by(streams).agg(pl.col(column).n_unique())[column]
        return 1 < cells[column].n_unique() < len(n_values) and n_values.max() == 1

    def label_without_times(self) -> str | None:
        """Return the column of labels, if there is one, and none of times."""
        return self._named(LABELS) if self._dated() is None else None

    def _dated(self) -> tuple[tuple[str, ...], str | None] | None:
        """Take the columns of times, and return them with the form of their dates, if that must be said."""
        if self.layout.time_columns != (TIME,):
            return self._said(self.layout.time_columns)
        end = self._take(ENDS, self._is_end) if self._named(("start", "begin", "from", "von")) else None
        if end is not None:  # what is recorded from start to end is known at its end
            return (end,), None
        date = self._take((TIME,), self._is_time) or self._take(TIMES, self._passes)
        date = date or next((c for c in self.free if self._is_moment(self.cells[c])), None)
        date = date or self._take(UPTIMES, self._passes)
        if date is not None and not self._is_day(self.cells[date]):
            self.free = [column for column in self.free if column != date]
            return (date,), self._unit(date)
        return self._date_and_hour(date) or self._other_form(date) or self._date_parts()

    def _is_end(self, column: pl.Series) -> bool:
        """Return whether a column has times, and not one alone, such as the end of all that was asked for."""
        return self._is_time(column) and (column.n_unique() > 1 or len(column) == 1)

    def _unit(self, time: str) -> str | None:
        """Return the unit of a column of times, if its name says one other than seconds."""
        unit = _UNITS.get(_plain(time).rpartition(" ")[2])
        is_open = unit is not None and self.layout.time_format is None and not self._is_moment(self.cells[time])
        return unit if is_open else None

    def _said(self, columns: tuple[str, ...]) -> tuple[tuple[str, ...], str | None] | None:
        """Take the columns that were named, with the form of their dates; none if they have no times."""
        if not set(columns) <= set(self.free):
            return None
        cells = moments(self.cells, columns, self.table.source)
        form = None if self._is_time(cells) else next(iter(date_forms(cells)), "")
        if form == "":
            return None
        self.free = [column for column in self.free if column not in columns]
        return columns, form

    def _date_parts(self) -> tuple[tuple[str, ...], str | None] | None:
        """Take columns that are called year, month, day and so on."""
        plain = {_plain(column): column for column in self.free}
        named = [plain.get(part) for part in DATE_PARTS]
        parts = tuple(part for part in takewhile(lambda part: part is not None, named) if part is not None)
        return self._said(parts) if len(parts) > 2 else None

    def _counter(self) -> tuple[tuple[str, ...], None] | None:
        """Take a column that counts the rows, or those of each part; its unit is not known."""
        if any(self._is_hour(self.cells[c]) and self.cells[c].n_unique() > 1 for c in self.free):
            return None  # the time, whose dates are not known
        counter = next((column for column in self.free if self._counts(self.cells[column])), None)
        self.free = [column for column in self.free if column != counter]
        return None if counter is None else ((counter,), None)

    def _date_and_hour(self, date: str | None) -> tuple[tuple[str, ...], str | None] | None:
        """Take a column of dates and one of times of day."""
        hours = [c for c in self.table.columns if self._is_hour(self.cells[c])]
        for day in [date] if date is not None else self.free:
            for hour in hours:
                both = (
                    moments(self.cells, (day, hour), self.table.source)
                    if day != hour
                    else pl.Series([], dtype=pl.String)
                )
                form = None if len(both) and self._is_time(both) else next(iter(date_forms(both)), "")
                if form != "":
                    self.free = [column for column in self.table.columns if column not in (day, hour)]
                    return (day, hour), form
        return None

    def _other_form(self, date: str | None) -> tuple[tuple[str, ...], str | None] | None:
        """Take a column of days, or one of dates in another form."""
        for column in [date] if date is not None else self.free:
            forms = [None] if date is not None else date_forms(self.cells[column])
            if forms:
                self.free = [c for c in self.free if c != column]
                return (column,), forms[0]
        return None

    def _stream(self, times: tuple[str, ...], readings: Sequence[str]) -> str | None:
        """Return the column that names streams, if one has to: it tells rows of one time apart, or parts."""
        texts = [c for c in self.free if c not in readings and not self._is_moment(self.cells[c])]
        if len(self.cells) >= COUNTED:
            texts = [c for c in texts if self.cells[c].drop_nulls().n_unique() > 1]  # others name the recording
        when = moments(self.cells, times, self.table.source)
        if when.n_unique() < (1 - MANY) * len(self.cells):
            table = self.cells.with_columns(when.alias("\0time"))
            return next((c for c in [*texts, *self.free] if divides(table, c, "\0time")), None)
        words = [c for c in readings if not words_of(self.cells[c]).has_numbers]
        parts = [c for c in texts + words if is_in_parts(self.cells[c]) and is_in_parts(self._whole(c)[c])]
        return parts[0] if len(parts) == 1 and (texts == parts or not texts) else None

    def _take(self, names: Sequence[str], fits: Callable[[pl.Series], bool]) -> str | None:
        found = self._named(names, fits)
        self.free = [column for column in self.free if column != found]
        return found

    def _named(self, names: Sequence[str], fits: Callable[[pl.Series], bool] = lambda _: True) -> str | None:
        """Return the column with the first of some names that fits, whatever case and further words."""
        plain = {_plain(column): column for column in self.cells.columns if column in self.free}
        exact = [plain[name] for name in map(_plain, names) if name in plain]
        longer = [
            column
            for name in names
            for text, column in plain.items()
            if len(name) > 1 and text.startswith(f"{_plain(name)} ")  # T_out is a temperature
        ]
        return next((column for column in exact + longer if fits(self.cells[column])), None)

    def _is_time(self, column: pl.Series) -> bool:
        return _reads(lambda: self._seconds(column))

    def _seconds(self, column: pl.Series) -> Array:
        return times_of(
            column, self.layout, self.table.source, 0, self.layout.decimal or self.table.decimal
        ).numbers

    def _passes(self, column: pl.Series) -> bool:
        """Return whether a column has dates, or numbers that mostly rise."""
        if not self._is_time(column):
            return False
        if not self._is_number(column):
            return True
        steps = np.diff(self._seconds(column))
        return not len(steps) or bool((steps >= 0).mean() >= _RISING and (steps > 0).any())

    def _counts(self, column: pl.Series) -> bool:
        """Return whether a column mostly rises by one, and begins anew otherwise."""
        if not self._passes(column):
            return False
        steps = np.diff(self._seconds(column))
        is_counted = len(column) >= COUNTED and ((steps == 1.0) | (steps < 0.0)).all()
        return bool(is_counted and (steps == 1.0).mean() >= _RISING)

    def _is_moment(self, column: pl.Series) -> bool:
        if not self._is_time(column):
            return False
        return not self._is_number(column) or is_epoch(self._seconds(column))

    def _is_day(self, column: pl.Series) -> bool:
        """Return whether a column has dates without a time of day, beside a column that has it."""
        if column.dtype == pl.String:
            return bool(column.drop_nulls().str.contains(r"^\s*\d{4}-\d{2}-\d{2}\s*$").all())
        return column.dtype == pl.Date

    def _is_hour(self, column: pl.Series) -> bool:
        """Return whether a column has times of day."""
        if column.dtype != pl.String:
            return isinstance(column.dtype, pl.Time)
        texts = column.drop_nulls()
        return len(texts) > 0 and bool(
            texts.str.contains(r"^\s*\d{1,2}(:\d{2}(:\d{2}(\.\d+)?)?|\.\d{2}\.\d{2})(\s*[AP]M)?\s*$").all()
        )

    def _is_number(self, column: pl.Series) -> bool:
        found = coded(column, self.layout.values)
        decimal = self.layout.decimal or self.table.decimal
        return _reads(lambda: numbers_of(found, self.table.source, 0, decimal))

    def _is_text(self, column: pl.Series) -> bool:
        return not self._is_number(column)

    def _has_numbers(self, column: pl.Series) -> bool:
        return self._is_number(column) or self._measures(column)

    def _measures(self, column: pl.Series) -> bool:
        """Return whether a column has numbers, or words for states, and not other times."""
        if self._is_moment(column):
            return False
        if self._is_number(column):
            return True
        words, has_numbers, _ = words_of(coded(column, self.layout.values))
        if words and column.dtype == pl.String and column.drop_nulls().str.strip_chars().str.contains(COMMA).any():
            return True
        is_state = are_two_states(words)
        returns = 1 < len(words) <= len(column) / 2
        return len(words) <= MOST_WORDS and (has_numbers or is_state or returns) and not column.dtype.is_temporal()

    def _is_class(self, column: pl.Series) -> bool:
        """Return whether a column repeats its values, and has words, or few numbers."""
        n_values = column.n_unique()
        return 2 * n_values <= len(column) and (n_values <= _MOST_NUMBERS or self._is_text(column))


def _only(columns: Sequence[str]) -> str | None:
    """Return the only one of some columns; None if there are others, or none."""
    return columns[0] if len(columns) == 1 else None


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def _reads(read: Callable[[], object]) -> bool:
    try:
        read()
    except DataError:
        return False
    return True

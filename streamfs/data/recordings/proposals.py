"""Proposals of a layout for tables that are laid out in another way than was said."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.data.recordings.cells import MixedStreamsError
from streamfs.data.recordings.date_forms import date_forms
from streamfs.data.recordings.grid import MANY
from streamfs.data.recordings.layout import DATE_PARTS, LABEL, RUNS, STREAM, TIME, Layout
from streamfs.data.recordings.tables import Table, numbers_of
from streamfs.data.recordings.times import is_epoch, moments, times_of
from streamfs.data.recordings.words import MOST_WORDS, TWO_STATES, coded, proposed_values, words_of
from streamfs.errors import DataError, LayoutError

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

_SEEN = 1000  # rows
_MOST_NUMBERS = 32  # different ones of rows that are labelled by them
_RISING = 0.7  # share of steps of a time that do not lead back, which is where streams end
_COUNTED = 10  # least rows that are counted
_COMMA = r"^[+-]?\d*,\d+$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"


def guess(tables: Sequence[Table], layout: Layout, error: LayoutError) -> Iterator[dict[str, Any]]:
    """Yield fields of a layout that may be missing: those of the error, or columns by name and content."""
    tables = recorded(tables, layout)
    if error.proposal:
        stream = None if layout.stream_columns else _columns(tables[0], layout).get("stream")
        if error.proposal == {"labels": RUNS} and stream is not None:
            yield {"stream": stream}  # of one label each, perhaps
        yield error.proposal
        return
    if (labels := _label_file(tables, layout)) is not None:
        yield labels
    guessed = _columns(tables[0], layout)
    fields = {name: value for name, value in guessed.items() if getattr(layout, name) != value}
    without = {name: value for name, value in fields.items() if name != "stream"}
    if len(tables) > 1 and without:
        yield without  # each file is a stream
    if fields and (len(tables) == 1 or fields != without):
        yield fields
    if isinstance(error, MixedStreamsError):
        yield error.resampling
    elif layout.values is None:
        yield from _texts(tables, layout)


def recorded(tables: Sequence[Table], layout: Layout) -> list[Table]:
    """Return the tables of readings: all but that of the labels."""
    return [table for table in tables if table.source != str(layout.labels)]


def _label_file(tables: Sequence[Table], layout: Layout) -> dict[str, Any] | None:
    """Return the fields for the one table of several that has labels and no times, if there is one."""
    if layout.labels is not None or len(tables) == 1:
        return None
    found = []
    for table in tables:
        cells = next((batch.head(_SEEN) for _, batch in table.batches()), None)
        if cells is not None:
            label = _Guess(table, layout, cells).label_without_times()
            named = {} if label in (None, LABEL) else {"label": label}
            found += [] if label is None else [{"labels": table.source, **named}]
    return found[0] if len(found) == 1 else None


def _texts(tables: Sequence[Table], layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield what the texts in the columns of readings may be: numbers with a decimal comma, or words.

    The values of each sensor of a long table are a column.
    """
    parts: dict[tuple[str, str], list[pl.Series]] = {}
    for table in tables:
        meanings = {*(layout.stream_columns or (STREAM,)), *layout.time_columns, layout.label or LABEL, LABEL}
        not_readings = meanings | table.nameless
        named = (
            [layout.value]
            if layout.value
            else layout.columns or [column for column in table.columns if column not in not_readings]
        )
        for _, batch in table.batches():
            for name in named:
                if name in batch.columns and batch[name].dtype in (pl.String, pl.Categorical, pl.Enum):
                    for sensor, cells in _by_sensor(batch, name, layout.sensor):
                        parts.setdefault((name, sensor), []).append(cells)
    columns = [words_of(pl.concat(part)) for part in parts.values()]
    commas = [pl.concat(part).drop_nulls().str.strip_chars() for part in parts.values()]
    if layout.decimal is None and any(texts.str.contains(_COMMA).any() for texts in commas):
        if any((texts.str.contains(_COMMA) & ~texts.str.contains(_THOUSANDS)).any() for texts in commas):
            yield {"decimal": ","}
    elif values := proposed_values(columns):
        yield {"values": values}


def _by_sensor(batch: pl.DataFrame, name: str, sensor: str | None) -> Iterator[tuple[str, pl.Series]]:
    """Yield the different texts of a column, by sensor if it has the readings of several."""
    cells = pl.col(name).cast(pl.String)
    if sensor is None:
        yield "", batch.select(cells.unique(maintain_order=True))[name]
        return
    for (key,), part in (
        batch.select(sensor, cells).unique(maintain_order=True).partition_by(sensor, as_dict=True).items()
    ):
        yield str(key), part[name]


def _columns(table: Table, layout: Layout) -> dict[str, Any]:
    """Guess the columns of a table."""
    cells = next((batch.head(_SEEN) for _, batch in table.batches()), None)
    if cells is None:
        return {}
    return _Guess(table, layout, cells).fields()


class _Guess:
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
        groups = self._groups_of(stream, label)
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
        is_given = layout.labels is not None or layout.label is not None or LABEL in self.table.columns
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
        return only(words)

    def _groups_of(self, stream: str | None, label: str | None) -> str | None:
        """Return the column that is called as what streams belong to, of which each has one."""
        streams = [*self.layout.stream_columns] or [stream or STREAM]
        if self.layout.groups is not None or not set(streams) <= set(self.table.columns):
            return None
        return self._named(GROUPS, lambda c: c.name not in (*streams, label) and self._names(c.name, streams))

    def _state(self, stream: str | None) -> str | None:
        """Return the only column of some words that come and go: they may be the labels."""
        texts = [c for c in self.free if c != stream and self._is_text(self.cells[c])]
        return only([c for c in texts if not self._is_moment(self.cells[c]) and comes_back(self._whole(c)[c])])

    def _whole(self, *columns: str) -> pl.DataFrame:
        """Return some columns with all rows, of which there may be more than were seen."""
        if len(self.cells) < _SEEN:
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
        end = self._take(ENDS, self._is_time) if self._named(("start", "begin", "from", "von")) else None
        if end is not None:  # what is recorded from start to end is known at its end
            return (end,), None
        date = self._take((TIME,), self._is_time) or self._take(TIMES, self._passes)
        date = date or next((c for c in self.free if self._is_moment(self.cells[c])), None)
        if date is not None and not self._is_day(self.cells[date]):
            self.free = [column for column in self.free if column != date]
            return (date,), None
        return self._date_and_hour(date) or self._other_form(date) or self._date_parts()

    def _said(self, columns: tuple[str, ...]) -> tuple[tuple[str, ...], str | None] | None:
        """Take the columns that were named, with the form of their dates; none if they have no times."""
        if not set(columns) <= set(self.free):
            return None
        cells = moments(self.cells, columns)
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
        counter = next((column for column in self.free if self._counts(self.cells[column])), None)
        self.free = [column for column in self.free if column != counter]
        return None if counter is None else ((counter,), None)

    def _date_and_hour(self, date: str | None) -> tuple[tuple[str, ...], str | None] | None:
        """Take a column of dates and one of times of day."""
        hours = [c for c in self.table.columns if self._is_hour(self.cells[c])]
        for day in [date] if date is not None else self.free:
            for hour in hours:
                both = moments(self.cells, (day, hour)) if day != hour else pl.Series([], dtype=pl.String)
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
        if len(self.cells) >= _COUNTED:
            texts = [c for c in texts if self.cells[c].drop_nulls().n_unique() > 1]  # others name the recording
        when = moments(self.cells, times)
        if when.n_unique() < (1 - MANY) * len(self.cells):
            table = self.cells.with_columns(when.alias("\0time"))
            return next((c for c in [*texts, *self.free] if _divides(table, c, "\0time")), None)
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
        is_counted = len(column) >= _COUNTED and ((steps == 1.0) | (steps < 0.0)).all()
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
        if (
            words
            and column.dtype == pl.String
            and column.drop_nulls().str.strip_chars().str.contains(_COMMA).any()
        ):
            return True
        is_state = are_two_states(words)
        returns = 1 < len(words) <= len(column) / 2
        return len(words) <= MOST_WORDS and (has_numbers or is_state or returns) and not column.dtype.is_temporal()

    def _is_class(self, column: pl.Series) -> bool:
        """Return whether a column repeats its values, and has words, or few numbers."""
        n_values = column.n_unique()
        return 2 * n_values <= len(column) and (n_values <= _MOST_NUMBERS or self._is_text(column))


def _divides(cells: pl.DataFrame, column: str, time: str) -> bool:
    """Return whether a column of few values tells all rows of one time apart."""
    few = 2 * cells[column].n_unique() <= len(cells)
    return few and not cells.select(column, time).is_duplicated().any()


def are_two_states(words: Iterable[object]) -> bool:
    """Return whether words are those of a switch or a contact."""
    values = {str(word).lower() for word in words if word is not None}
    return any(values <= set(pair) for pair in TWO_STATES)


def comes_back(column: pl.Series) -> bool:
    """Return whether a column has some words alone, which come and go, and are not those of a switch."""
    words, has_numbers, _ = words_of(column)
    is_some = 1 < len(words) <= MOST_WORDS and not has_numbers
    return is_some and not is_in_parts(column) and not are_two_states(words)


def only(columns: Sequence[str]) -> str | None:
    """Return the only one of some columns; None if there are others, or none."""
    return columns[0] if len(columns) == 1 else None


def is_in_parts(column: pl.Series) -> bool:
    """Return whether each of several values of a text column is in rows that follow each other: it names parts."""
    texts = column.drop_nulls()
    values = {str(text).lower() for text in texts.unique()}
    n_parts = int((texts != texts.shift(1)).fill_null(value=True).sum())
    is_few = len(texts) < _COUNTED or 2 * len(values) <= len(texts)
    return is_few and n_parts == len(values) > 1 and not are_two_states(values)


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def _reads(read: Callable[[], object]) -> bool:
    try:
        read()
    except DataError:
        return False
    return True

"""What the columns of a recording mean, and how its rows get onto a grid of ticks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamfs.data.recordings.layout_checks import (
    are_names,
    as_text,
    check_period,
    check_word,
    check_zone,
    each_once,
    form_of_times,
    is_number,
)
from streamfs.data.recordings.layout_words import DATE_PARTS, PLACES, RULES, RUNS, TIME
from streamfs.data.recordings.words import UNIT, check_values
from streamfs.errors import DataError


@dataclass(frozen=True)
class Layout:
    """What the columns of a recording mean, and how its rows get onto a grid of ticks.

    Parameters
    ----------
    stream : str or sequence of str, optional
        Column of the stream's name; by default ``stream`` if a file has it. A file without it is one stream, and
        has the name of the file. Of several columns, such as session and device, the names are joined by ``/``.
    time : str or sequence of str
        Column of the time, or two of the date and of the time of day, or three to six of year, month, day, hour,
        minute and second: seconds from any origin, or seconds, milliseconds, microseconds or nanoseconds since
        1970 (by their size), or dates of ISO 8601. If there is none, ``"rows"``: the rows of a stream follow each
        other, a `period` apart, by default 1 s.
        A date without an offset is in `time_zone`.
    label : str, optional
        Column of the label; by default ``label`` if a file has it. With ``labels="runs"`` or a `window`, also a
        sensor of a table with a row for each reading, such as a contact: a value labels the others until its next.
    long : sequence of four str, optional
        Columns of stream, time, sensor and value, of a table with a row for each reading; the sensors become the
        columns of the streams. If the first is empty, each file is one stream.
    columns : sequence of str, optional
        The readings to take, in this order; by default all columns without another meaning, or all sensors.
    labels : str or path, optional
        Where the labels are, if not in a column: ``"folder"``, the name of each file's folder; ``"name"``, what
        its own name begins with, before a number at the end or the first point, as of ``wave_03.csv``; or a CSV
        or Parquet file with the columns ``stream, label``, or with ``start, end, label`` (or ``from, to`` and
        the like), and ``stream`` if the intervals are not those of all streams; ``stream`` and ``label`` may be
        named as in the recording. A column that names all streams and the only other one are found whatever they
        are called. Each interval (its end excluded) then is a stream of its own, such as ``desk/2``, and rows
        outside of all intervals are left out. With ``"runs"``, the column of the label changes within streams:
        each run of rows with one label is a stream, and rows without a label are left out.
    groups : str or path, optional
        Column of what belongs together, such as a person or a room: streams of one group are all either trained or
        tested on. It is no reading. Or a CSV file, such as ``rooms.csv``, with the columns ``stream, group``.
    window : float, optional
        Seconds of the windows, to the nearest tick, into which each stream is cut one after the other; they are
        streams of their own, such as ``desk/2``. The label may change within what is cut: a window has the one
        that nine in ten of its rows have, and is left out if there is none, or without a label if it need not be
        `labelled`. No window spans a hole of more than three usual steps and `max_age`, and what is left at the
        end is left out.
    time_format : str, optional
        What times are, if that is not found by itself: ``s``, ``ms``, ``us`` or ``ns``, or a format of `strftime`,
        such as ``"%d.%m.%Y %H:%M"``; ``.%f`` is the fraction of a second.
    time_zone : str, optional
        Time zone of dates without an offset, such as ``Europe/Berlin``; in the hour that clocks show twice, the
        order of rows tells which it is. By default UTC, but dates that go back as clocks do in autumn are refused.
    values : mapping of str to float, "missing" or "unit", optional
        Words in place of numbers, in any column of readings, such as ``{"open": 1, "NA": "missing"}``; and those
        that follow numbers, such as ``{"°C": "unit"}``, one a column.
    decimal : {",", "."}, optional
        What separates the decimals of numbers that are text; by default a comma, if semicolons separate the cells,
        and else a point.
    period : float, optional
        Seconds per tick; by default the smallest step between two rows of a stream, or, with `resample`, the usual
        step.
    resample : {"last", "mean"}, optional
        What a tick holds if several readings are nearest to it: the last, or their mean. By default, an error.
    header : sequence of str, optional
        The first names of the header of CSV files that have other lines before it, such as ``["Date", "Time"]``:
        as many as no line before begins with. Lines before it that begin with # may be there in any case.
    column_names : sequence of str, optional
        Names of all columns of CSV files without a header; with `header`, in place of those in the file.
    max_age : float, optional
        Seconds for which a tick without a reading of its own holds the previous one; by default it is missing.
    labelled : bool
        Whether every stream must have a label; if not, a missing label is the empty string.

    Raises
    ------
    DataError
        If a field has another form.

    Examples
    --------
    >>> Layout(long=("device", "time", "sensor", "value")).sensor
    'sensor'
    """

    stream: str | Sequence[str] | None = None
    time: str | Sequence[str] = TIME
    label: str | None = None
    long: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    labels: str | Path | None = None
    groups: str | Path | None = None
    window: float | None = None
    time_format: str | None = None
    time_zone: str | None = None
    values: Mapping[str, float | str] | None = None
    decimal: str | None = None
    period: float | None = None
    resample: str | None = None
    header: Sequence[str] | None = None
    column_names: Sequence[str] | None = None
    max_age: float | None = None
    labelled: bool = True

    def __post_init__(self) -> None:
        self._set_names()
        self._set_times()
        self._set_streams()
        if self.long is not None:
            self._set_long(self.long)
        if self.values is not None:
            check_values(self.values)
        check_word("decimal", self.decimal, (",", "."))
        check_word("resample", self.resample, RULES)
        for name in ("columns", "column_names", "header"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, each_once(name, getattr(self, name)))
        if not isinstance(self.labels, str | Path | None):
            places = ", ".join(map(repr, PLACES))
            given = f"labels is of type {type(self.labels).__name__}, expected {places} or the path of a file"
            advice = "labels in memory are a column: frame['label'] = frame['stream'].map(labels)"
            raise DataError(f"{given}; {advice}")
        check_period(self.period)
        check_period(self.window, "window")
        if self.max_age is not None and not (is_number(self.max_age) and self.max_age >= 0):
            raise DataError(f"max_age is {self.max_age!r}, expected a number of seconds of at least 0")
        if not isinstance(self.labelled, bool | np.bool_):
            raise DataError(f"labelled is {self.labelled!r}, expected True or False")
        if self.time_format is not None:
            object.__setattr__(self, "time_format", form_of_times(self.time_format))
        if self.time_zone is not None:
            check_zone(self.time_zone)

    def _set_streams(self) -> None:
        if self.stream is not None and not isinstance(self.stream, str):
            if not are_names(self.stream):
                raise DataError(f"stream is {self.stream!r}, expected a column, or several")
            object.__setattr__(self, "stream", self.stream[0] if len(self.stream) == 1 else tuple(self.stream))

    def _set_names(self) -> None:
        for name in ("stream", "time", "label", "groups", "long"):
            object.__setattr__(self, name, as_text(getattr(self, name)))
        if not isinstance(self.label, str | None):
            raise DataError(f"label is {self.label!r}, expected the name of a column")
        if not isinstance(self.groups, str | None) and self.groups_file is None:
            raise DataError(f"groups is {self.groups!r}, expected the name of a column, or a CSV file")

    def _set_times(self) -> None:
        if not isinstance(self.time, str):
            if not (are_names(self.time) and len(self.time) <= len(DATE_PARTS)):
                others = f"those of date and time of day, or those of {', '.join(DATE_PARTS)}"
                raise DataError(f"time is {self.time!r}, expected a column, {others}")
            object.__setattr__(self, "time", self.time[0] if len(self.time) == 1 else tuple(self.time))

    @property
    def labels_change(self) -> bool:
        """Whether the labels are those of rows, and may change within a stream."""
        return self.labels == RUNS or (self.labels is None and self.window is not None)

    @property
    def zone(self) -> str:
        """Time zone of dates without an offset."""
        return self.time_zone or "UTC"

    @property
    def group_column(self) -> str | None:
        """Column of the streams' groups; None if a file has them, or there are none."""
        return None if self.groups is None or self.groups_file is not None else str(self.groups)

    @property
    def groups_file(self) -> Path | None:
        """The CSV file of the streams' groups; None if a column has them, or there are none."""
        return groups_file(self.groups)

    @property
    def has_units(self) -> bool:
        """Whether units follow numbers."""
        return self.values is not None and UNIT in self.values.values()

    @property
    def names_columns(self) -> bool:
        """Whether the column of the stream's name or of the time is said."""
        return self.stream is not None or self.time != TIME

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the time, or those that make it up."""
        return (self.time,) if isinstance(self.time, str) else tuple(self.time)

    @property
    def stream_columns(self) -> tuple[str, ...]:
        """The columns of the stream's name, if they are said."""
        return (
            () if self.stream is None else (self.stream,) if isinstance(self.stream, str) else tuple(self.stream)
        )

    def _set_long(self, long: Sequence[str]) -> None:
        is_some = isinstance(long, Sequence) and len(long) == 4
        if not (is_some and isinstance(long[0], str | None) and are_names(long[1:]) and len(set(long)) == 4):
            raise DataError(f"long is {long!r}, expected four columns: of stream, time, sensor and value")
        if self.stream not in (None, long[0]) or self.time not in (TIME, long[1]):
            raise DataError("long names the columns of stream and time: leave out stream and time")
        object.__setattr__(self, "stream", long[0] or None)
        object.__setattr__(self, "time", long[1])

    @property
    def sensor(self) -> str | None:
        """Column of the sensor of a long table; None for a wide table."""
        return None if self.long is None else self.long[2]

    @property
    def value(self) -> str | None:
        """Column of the readings of a long table; None for a wide table."""
        return None if self.long is None else self.long[3]


def groups_file(groups: object) -> Path | None:
    """Return the file that a layout's `groups` names; None if it is the name of a column.

    Examples
    --------
    >>> groups_file("rooms.csv"), groups_file("room")
    (PosixPath('rooms.csv'), None)
    """
    is_file = isinstance(groups, str | Path) and str(groups).lower().endswith(".csv")
    return Path(str(groups)) if is_file else None

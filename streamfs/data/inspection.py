"""What recorded streams are like, and what may go wrong when a model is trained on them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.data.alone import alone
from streamfs.data.recordings.grid import MANY, Steps
from streamfs.data.recordings.proposed_windows import proposed_window
from streamfs.data.recordings.window_streams import hole_of
from streamfs.data.recordings.windows import Timeline
from streamfs.data.streams import StreamSet
from streamfs.data.units import guessed_unit

Mask = npt.NDArray[np.bool_]

LEAKS = 0.5
"""How well a column that does not measure tells label or group, from chance (0) to always (1), to be a leak."""

TELLS = 0.9
"""How well a column tells label or group to be worth a note."""

_NO_READINGS = frozenset({-9999.0, -999.0, -127.0, -32768.0, 9999.0, 32767.0, 65535.0})
"""What devices often say instead of a reading."""

BOOKKEEPING = {
    "battery",
    "counter",
    "fcnt",
    "id",
    "identifier",
    "index",
    "number",
    "seq",
    "sequence",
    "serial",
    "session",
    "time",
    "timestamp",
    "uptime",
}
"""Words in the names of columns that do not measure, if they behave so."""

_WORDS = re.compile(r"[a-z]+")
_ONE_WAY = 0.98  # share of changes in one direction of a column that only rises or falls
_COUNTED = 100  # least steps of a count
_FEW = 20  # streams of a class
_SHOWN, _NAMED = 3, 6
_SHORT = 2  # ticks
_LONG = 1e6  # seconds of a tick
_MOST_STATES = 10  # values of a column that may be a label


@dataclass(frozen=True)
class ColumnReport:
    """What a column is like.

    Parameters
    ----------
    column : str
        Its name.
    low, mean, high : float
        Its least reading, the mean, and the greatest; NaN without readings.
    missing : float
        Share of the streams' ticks without a reading.
    tells_label, tells_group : float
        How well the mean over a stream alone tells its label and its group, from chance (0) to always (1).
    fault : str
        Why the column should be left out; empty if nothing is wrong.
    unit : str
        Its unit, guessed; empty if there is nothing to guess it by.
    is_still, is_whole : bool
        Whether it never changes within a stream, and whether it has whole numbers alone.
    """

    column: str
    low: float
    mean: float
    high: float
    missing: float
    tells_label: float
    tells_group: float
    fault: str = ""
    unit: str = ""
    is_still: bool = False
    is_whole: bool = False


@dataclass(frozen=True, eq=False)
class Inspection:
    """What recorded streams are like.

    Parameters
    ----------
    streams : StreamSet
        The streams.
    columns : sequence of ColumnReport
        A report of each column.
    steps : Steps, optional
        Steps of time of the recording, before it was put on the grid of ticks.
    duplicates : sequence of tuple of str
        Names of streams with the same readings.
    longest_gap : tuple of str and int
        The stream with the most ticks in a row without any reading, and their number.
    empty : float
        Share of the ticks without any reading.
    time_tells_label : float
        How well the time at which a stream begins tells its label.
    """

    streams: StreamSet
    columns: Sequence[ColumnReport]
    steps: Steps | None
    duplicates: Sequence[tuple[str, str]]
    longest_gap: tuple[str, int]
    empty: float
    time_tells_label: float

    @property
    def sound_columns(self) -> list[str]:
        """The columns without a fault."""
        return [report.column for report in self.columns if not report.fault]

    def notes(self) -> Iterator[str]:
        """Yield what to know before training."""
        for report in self.columns:
            if report.fault:
                yield f"{report.column} {report.fault}: leave it out"
            elif report.tells_label >= TELLS:
                yield f"{report.column} alone tells the label: would it be known before the label is?"
            elif report.tells_group >= TELLS:
                yield f"{report.column} alone tells the group: its level may be that of a place, not of a class"
            elif report.is_still:
                way = f", such as a room? Then --groups {shlex.quote(report.column)}" if report.is_whole else "?"
                what = f"{report.column} never changes within a stream: does it measure, or name what was recorded"
                yield what + way
        for report in self.columns:
            for value in sorted({report.low, report.high} & _NO_READINGS):
                yield f"{report.column} is {value:g} somewhere: if that means missing, --values {value:g}=missing"
        yield from self._time_notes()
        yield from self._stream_notes()

    def _time_notes(self) -> Iterator[str]:
        """Yield what to know of the times."""
        if self.time_tells_label >= LEAKS:
            yield "streams of a class were recorded at one time: all that drifts tells the label, so name --groups"
        if self.streams.n_ticks == 1 or (self.steps is not None and self.steps.repeated > MANY):
            yield "rows share their times: were these cut short, as 1.79537E+12, or are they days without hours?"
        if self.streams.period >= _LONG:
            days = round(self.streams.period / 86400)
            yield f"a tick is {days} days: if times are in ms, us or ns, not from 1970, say which by --time-format"

    def _stream_notes(self) -> Iterator[str]:
        """Yield what to know of the streams and their classes."""
        for first, second in self.duplicates[:_SHOWN]:
            yield f"streams {first} and {second} have the same readings"
        if len(self.duplicates) > _SHOWN:
            yield f"{len(self.duplicates) - _SHOWN} more streams have the readings of another"
        if len(self.streams) > 1 and np.median(self.streams.lengths) <= _SHORT:
            yield f"half of the streams have {_SHORT} ticks at most: if labels flicker, try --window"
        if self.longest_gap[1] > 1:
            yield f"the longest gap is of {self.longest_gap[1]} ticks, in stream {self.longest_gap[0]}"
        if few := [f"{label} {n}" for label, n in self.classes.items() if label and n < _FEW]:
            some = ", ".join(few[:_NAMED]) + (f" and {len(few) - _NAMED} more" if len(few) > _NAMED else "")
            yield f"little can be shown with fewer than {_FEW} streams of a class: {some}"
        yield from self._window_note()
        if not any(self.classes):
            yield "streams have no labels: name their column by --label, or a file or the folders by --labels"
            for column, n_values in self._states().items():
                options = f"--label {shlex.quote(column)} {self._streams_of(column)}"
                yield f"{column} has {n_values} values: if they are the labels, {options}"
        elif len(self.classes) == 1:
            yield f"all streams have the label {next(iter(self.classes))!r}: there is nothing to tell apart"

    def _states(self) -> dict[str, int]:
        """Return the columns of few whole values that change within streams, and their number of values."""
        found = {}
        for report in self.columns:
            values = self.streams.column(report.column)
            known = np.unique(values[~np.isnan(values)])
            if 1 < len(known) <= _MOST_STATES and not report.is_still and (known == np.round(known)).all():
                found[report.column] = len(known)
        return found

    def _window_note(self) -> Iterator[str]:
        """Yield that streams could be cut, if a class has few, which are long."""
        if self.streams.groups is not None or min(self.classes.values(), default=_FEW) >= _FEW:
            return
        shape = self.streams.values.shape[:2]
        labels = np.broadcast_to(self.streams.labels[:, np.newaxis], shape)
        window = self._window(np.asarray(np.isfinite(self.streams.values).any(axis=2)), labels)
        length = float(np.median(self.streams.lengths)) * self.streams.period
        if window is not None and length >= _FEW * window:
            yield f"streams are long, and may be cut into windows: --window {window:g}"

    def _streams_of(self, column: str) -> str:
        """Return the option that makes streams of rows with one value of a column, or nearly so."""
        values = self.streams.column(column)
        window = self._window(np.isfinite(values), values)
        return "--labels runs" if window is None else f"--window {window:g}"

    def _window(self, known: Mask, labels: npt.NDArray[Any]) -> float | None:
        """Return the seconds of windows that are proposed, if ticks have some labels."""
        stream_of, ticks = np.nonzero(known)
        codes = np.unique(labels[stream_of, ticks], return_inverse=True)[1]
        period = self.streams.period
        line = Timeline(stream_of, ticks.astype(np.float64) * period, codes)
        return proposed_window(line, period, hole_of(period, self.steps))

    @property
    def classes(self) -> dict[str, int]:
        """Number of streams by label."""
        return {label: int((self.streams.labels == label).sum()) for label in self.streams.classes}

    def to_json(self) -> dict[str, Any]:
        """Return all of it but the readings, for machines."""
        lengths = self.streams.lengths
        return {
            "streams": len(self.streams),
            "classes": self.classes,
            "ticks": dict(zip(("least", "median", "most"), _three(lengths), strict=True)),
            "period": self.streams.period,
            "steps": None if self.steps is None else self.steps._asdict(),
            "empty": self.empty,
            "longest_gap": dict(zip(("stream", "ticks"), self.longest_gap, strict=True)),
            "columns": [asdict(report) for report in self.columns],
            "duplicates": [list(pair) for pair in self.duplicates],
            "time_tells_label": self.time_tells_label,
            "notes": [*self.notes()],
        }


def inspect(
    streams: StreamSet,
    groups: Sequence[str] | None = None,
    steps: Steps | None = None,
    starts: Array | None = None,
) -> Inspection:
    """Look at recorded streams, for what may go wrong when a model is trained on them.

    A column has a fault if it has no readings or only one value, repeats another column, or leaks: it does not
    change within a stream, or only rises or only falls, as an identifier, an absolute time or the charge of a
    battery does, and yet its mean alone tells the label or the group better than half way from chance.

    Parameters
    ----------
    streams : StreamSet
        The recorded streams.
    groups : sequence of str, optional
        The group of each stream, such as its session or its room.
    steps : Steps, optional
        Steps of time, as the reader measured them.
    starts : ndarray of shape (n_streams,), optional
        Seconds at which the streams begin; of a group, the first is taken.

    Examples
    --------
    >>> streams = StreamSet([[[1.0, 3.0], [2.0, 3.0]], [[5.0, 3.0], [4.0, 3.0]]], ["a", "b"], ["x", "y"])
    >>> inspect(streams).sound_columns
    ['x']
    """
    inside = np.arange(streams.n_ticks) < streams.lengths[:, np.newaxis]
    empty = inside & np.isnan(streams.values).all(axis=2)
    reports: list[ColumnReport] = []
    for column in streams.columns:
        before = [report.column for report in reports if not report.fault]
        reports.append(_report(streams, column, before, inside, groups))
    known = np.full(len(streams), np.nan) if starts is None else np.where(np.isfinite(starts), starts, np.nan)
    if streams.groups is not None:  # windows that follow each other are of one time
        known[np.setdiff1d(np.arange(len(known)), np.unique(streams.groups, return_index=True)[1])] = np.nan
    return Inspection(
        streams,
        reports,
        steps,
        _duplicates(streams),
        _longest_gap(streams, empty),
        float(empty.sum() / max(inside.sum(), 1)),
        alone(known, streams.labels),
    )


def _report(
    streams: StreamSet, column: str, before: Sequence[str], inside: Mask, groups: Sequence[str] | None
) -> ColumnReport:
    readings = streams.column(column)
    known = np.isfinite(readings)
    missing = float(1 - known.sum() / max(inside.sum(), 1))
    nan = float("nan")
    if not known.any():
        return ColumnReport(column, nan, nan, nan, missing, nan, nan, "has no readings")
    low, mean, high = np.nanmin(readings), readings[known].mean(), np.nanmax(readings)
    counts = known.sum(axis=1)
    means = np.where(counts, np.where(known, readings, 0.0).sum(axis=1) / np.maximum(counts, 1), nan)
    tells_label = alone(means, streams.labels)
    tells_group = nan if groups is None else alone(means, groups)
    fault = _fault(streams, column, before, max(np.nan_to_num([tells_label, tells_group])))
    unit = guessed_unit(column, float(low), float(high))
    some = readings[counts > 0]
    is_still = streams.n_ticks > 1 and bool((np.nanmax(some, axis=1) == np.nanmin(some, axis=1)).all())
    shown = float(low), float(mean), float(high), missing, tells_label, tells_group
    is_whole = bool((readings[known] == np.round(readings[known])).all())
    return ColumnReport(column, *shown, fault, unit, is_still, is_whole)


def _fault(streams: StreamSet, column: str, before: Sequence[str], tells: float) -> str:
    """Return why a column with readings should be left out."""
    readings = streams.column(column)
    known = readings[np.isfinite(readings)]
    if (known == known[0]).all():
        return f"is {known[0]:g} always"
    for other in before:
        if np.array_equal(readings, streams.column(other), equal_nan=True):
            return f"repeats {other}"
    changes = np.concatenate([np.diff(row[np.isfinite(row)]) for row in readings])
    behaves = _behaves(changes)
    if behaves and tells >= LEAKS:
        return f"{behaves}, and tells label or group: it leaks"
    if len(changes) >= _COUNTED and (changes == 1.0).all():
        return "counts the rows"
    is_named = not BOOKKEEPING.isdisjoint(_WORDS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column).lower()))
    return f"{behaves}, and is no measurement by its name" if behaves and is_named else ""


def _behaves(changes: Array) -> str:
    """Return how a column changes within streams if it measures nothing; empty if it may measure something."""
    rises, falls = int((changes > 0).sum()), int((changes < 0).sum())
    if not rises + falls:
        return "never changes within a stream"
    if max(rises, falls) < _ONE_WAY * (rises + falls):
        return ""
    return "only rises" if rises > falls else "only falls"


def _duplicates(streams: StreamSet) -> list[tuple[str, str]]:
    """Return each stream with the readings of an earlier one, after that."""
    first: dict[bytes, str] = {}
    found = []
    for name, length, values in zip(streams.names, streams.lengths, streams.values, strict=True):
        other = first.setdefault(values[:length].tobytes(), name)
        if other != name and np.isfinite(values[:length]).any():
            found.append((other, name))
    return found


def _longest_gap(streams: StreamSet, empty: Mask) -> tuple[str, int]:
    """Return the stream with the most empty ticks in a row, and their number."""
    ticks = np.arange(streams.n_ticks)
    if not empty.any():
        return streams.names[0] if len(streams) else "", 0
    runs = np.where(empty, ticks - np.maximum.accumulate(np.where(empty, -1, ticks), axis=1), 0)
    stream, _ = np.unravel_index(runs.argmax(), runs.shape)
    return streams.names[stream], int(runs.max())


def _three(numbers: Integers) -> tuple[int, float, int]:
    return (int(numbers.min()), float(np.median(numbers)), int(numbers.max())) if len(numbers) else (0, 0.0, 0)

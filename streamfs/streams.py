"""Recorded, labelled streams, and the files that hold them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from feature_extractors.report import split_channel
from streamfs.errors import DataError

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Labels = npt.NDArray[np.str_]

STREAM, TIME, LABEL = "stream", "time", "label"
"""The columns of a file that are not readings: one row is one tick of one stream."""


class StreamSet:
    """Recorded streams on one grid of ticks, each with its label.

    Parameters
    ----------
    values : array_like of shape (n_streams, n_ticks, n_columns)
        The samples; NaN is a missing reading.
    labels : array_like of shape (n_streams,)
        The class of each stream, as text.
    columns : sequence of str
        Names of the columns, such as ``a.temperature``.
    period : float
        Seconds from one tick to the next.
    names : sequence of str, optional
        Names of the streams; by default ``stream-0`` and so on.
    lengths : array_like of shape (n_streams,), optional
        Ticks of each stream; by default all. Values beyond are ignored.

    Raises
    ------
    DataError
        If shapes do not fit, names repeat, or a value is infinite.

    Examples
    --------
    >>> streams = StreamSet([[[1.0], [2.0]], [[5.0], [4.0]]], ["calm", "busy"], ["noise"])
    >>> streams
    StreamSet(2 streams of up to 2 ticks of 1 s, columns noise, labels busy 1, calm 1)
    """

    def __init__(
        self,
        values: npt.ArrayLike,
        labels: npt.ArrayLike,
        columns: Sequence[str],
        period: float = 1.0,
        names: Sequence[str] | None = None,
        lengths: npt.ArrayLike | None = None,
    ) -> None:
        self.values: Array = np.array(values, dtype=np.float64)
        if self.values.ndim != 3:
            raise DataError(f"values have shape {self.values.shape}, expected (n_streams, n_ticks, n_columns)")
        n_streams, n_ticks, n_columns = self.values.shape
        self.labels: Labels = np.asarray(labels).astype(np.str_)
        self.columns = tuple(columns)
        self.period = float(period)
        self.names = tuple(names) if names is not None else tuple(f"stream-{i}" for i in range(n_streams))
        self.lengths: Integers = np.asarray(
            np.full(n_streams, n_ticks) if lengths is None else lengths, dtype=np.int64
        )
        _expect("labels", self.labels.shape, (n_streams,))
        _expect("columns", (len(self.columns),), (n_columns,))
        _expect("names", (len(self.names),), (n_streams,))
        _expect("lengths", self.lengths.shape, (n_streams,))
        _reject_repeated("column", self.columns)
        _reject_repeated("stream", self.names)
        if not (np.isfinite(self.period) and self.period > 0):
            raise DataError(f"period is {period}, expected a positive number of seconds")
        if n_streams and not 0 <= self.lengths.min() <= self.lengths.max() <= n_ticks:
            wrong = self.lengths[(self.lengths < 0) | (self.lengths > n_ticks)][0]
            raise DataError(f"a length is {wrong}, expected 0 to {n_ticks} ticks")
        self.values[np.arange(n_ticks) >= self.lengths[:, np.newaxis]] = np.nan
        if np.isinf(self.values).any():
            stream, tick, column = np.argwhere(np.isinf(self.values))[0]
            raise DataError(
                f"{self.columns[column]} of stream {self.names[stream]} is infinite at tick {tick + 1}; "
                "a missing reading is NaN"
            )

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        counts = ", ".join(f"{c} {(self.labels == c).sum()}" for c in self.classes)
        return (
            f"StreamSet({len(self)} streams of up to {self.n_ticks} ticks of {self.period:g} s, "
            f"columns {', '.join(self.columns)}, labels {counts})"
        )

    @property
    def n_ticks(self) -> int:
        """Ticks of the longest stream that the arrays can hold."""
        return int(self.values.shape[1])

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(str(c) for c in np.unique(self.labels))

    def take(self, indices: npt.ArrayLike) -> "StreamSet":
        """Some of the streams, in the order asked for."""
        index = np.asarray(indices, dtype=np.intp)
        names = [self.names[i] for i in index]
        return StreamSet(
            self.values[index], self.labels[index], self.columns, self.period, names, self.lengths[index]
        )

    def split(self, share: float, seed: int) -> tuple["StreamSet", "StreamSet"]:
        """Cut in two, class by class, at random: the first part holds that share of each class."""
        rng = np.random.default_rng(seed)
        first = np.zeros(len(self), dtype=bool)
        for label in self.classes:
            members = rng.permutation(np.flatnonzero(self.labels == label))
            first[members[: round(share * len(members))]] = True
        return self.take(np.flatnonzero(first)), self.take(np.flatnonzero(~first))

    def seen_through(self, channels: Sequence[str]) -> "StreamSet":
        """The streams as a gateway sees them: each channel is a column under its report policy.

        Parameters
        ----------
        channels : sequence of str
            Columns, optionally with a report policy after ``@``.

        Returns
        -------
        StreamSet
            With the channels as columns, on the same ticks.

        Raises
        ------
        DataError
            If a channel's column is not there.

        Examples
        --------
        >>> streams = StreamSet([[[20.0], [20.1], [20.9]]], ["a"], ["t"])
        >>> streams.seen_through(["t@delta:0.5"]).values.ravel().tolist()
        [20.0, 20.0, 20.9]
        """
        seen = np.empty((len(self), self.n_ticks, len(channels)))
        for index, channel in enumerate(channels):
            column, policy = split_channel(channel)
            seen[:, :, index] = policy.seen(self.column(column))
        return StreamSet(seen, self.labels, channels, self.period, self.names, self.lengths)

    def episodes(self) -> "StreamSet":
        """Each stream from its first complete tick, at which its episode opens; one without keeps no tick.

        Examples
        --------
        >>> streams = StreamSet([[[float("nan")], [3.0], [4.0]]], ["a"], ["t"]).episodes()
        >>> streams.values.ravel().tolist(), streams.lengths.tolist()
        ([3.0, 4.0, nan], [2])
        """
        ticks = np.arange(self.n_ticks)
        inside = ticks < self.lengths[:, np.newaxis]
        complete = inside & ~np.isnan(self.values).any(axis=2)
        first = np.where(complete.any(axis=1), complete.argmax(axis=1), self.lengths)
        shifted = np.minimum(ticks + first[:, np.newaxis], max(self.n_ticks - 1, 0))
        moved = np.take_along_axis(self.values, shifted[:, :, np.newaxis], axis=1)
        return StreamSet(moved, self.labels, self.columns, self.period, self.names, self.lengths - first)

    def column(self, name: str) -> Array:
        """Readings of one column, shape (n_streams, n_ticks); NaN beyond a stream's length.

        Raises
        ------
        DataError
            If there is no such column.
        """
        if name not in self.columns:
            raise DataError(f"column {name!r} is not there, expected one of {', '.join(self.columns)}")
        return self.values[:, :, self.columns.index(name)]

    @classmethod
    def read(cls, path: str | Path, period: float | None = None, *, labelled: bool = True) -> Self:
        """Read streams from a CSV or Parquet file of the columns ``stream, time, label`` and the readings.

        Parameters
        ----------
        path : path
            The file; ``.csv``, ``.csv.gz`` or ``.parquet``. Rows of a stream are its ticks, in any order.
        period : float, optional
            Seconds a tick; by default the smallest step of time in the file.
        labelled : bool
            Whether the file must have labels; without them every label is the empty text.

        Raises
        ------
        DataError
            If the file cannot be read, a column is missing, a reading is no number, a stream has two labels, or
            two rows of one stream fall on one tick.

        Notes
        -----
        A tick without a row is a missing sample. An empty cell is a missing reading.
        """
        table = _read_table(Path(path))
        if not labelled and LABEL not in table.columns:
            table = table.with_columns(pl.lit("").alias(LABEL))
        for column in (STREAM, TIME, LABEL):
            if column not in table.columns:
                raise DataError(f"{path} has no column {column!r}, only {', '.join(table.columns)}")
        columns = [c for c in table.columns if c not in (STREAM, TIME, LABEL)]
        if table.is_empty() or not columns:
            raise DataError(f"{path} holds no readings")
        times = _numbers(table, TIME, path)
        if not np.isfinite(times).all():
            raise DataError(f"{path} has a row without a time: row {int(np.argmin(np.isfinite(times))) + 1}")
        names, stream_of = _in_order(table[STREAM].cast(pl.String).fill_null("").to_numpy())
        labels = _labels(table[LABEL], stream_of, names, path)
        start = np.full(len(names), np.inf)
        np.minimum.at(start, stream_of, times)
        elapsed = times - start[stream_of]
        if period is None:
            period = _smallest_step(stream_of, times)
        ticks = np.floor(elapsed / period + 0.5).astype(np.int64)
        cells, counts = np.unique(np.stack([stream_of, ticks]), axis=1, return_counts=True)
        if (counts > 1).any():
            stream, tick = cells[:, counts > 1][:, 0]
            raise DataError(f"stream {names[stream]} of {path} has two rows at tick {tick + 1} of {period:g} s")
        values = np.full((len(names), int(ticks.max()) + 1, len(columns)), np.nan)
        for index, column in enumerate(columns):
            values[stream_of, ticks, index] = _numbers(table, column, path)
        lengths = np.zeros(len(names), dtype=np.int64)
        np.maximum.at(lengths, stream_of, ticks + 1)
        return cls(values, labels, columns, period, names, lengths)

    def write(self, path: str | Path) -> None:
        """Write streams to a CSV or Parquet file, as `read` reads them.

        Raises
        ------
        DataError
            If the file's ending is neither ``.csv`` nor ``.parquet``.
        """
        path = Path(path)
        stream_of, ticks = np.nonzero(np.arange(self.n_ticks) < self.lengths[:, np.newaxis])
        table = pl.DataFrame(
            {
                STREAM: np.asarray(self.names, dtype=np.str_)[stream_of],
                TIME: ticks * self.period,
                LABEL: self.labels[stream_of],
                **{c: self.values[stream_of, ticks, i] for i, c in enumerate(self.columns)},
            }
        ).with_columns(pl.col(c).fill_nan(None) for c in self.columns)
        if path.suffix == ".parquet":
            table.write_parquet(path)
        elif path.suffix == ".csv":
            table.write_csv(path)
        else:
            raise DataError(f"{path} ends in {path.suffix!r}, expected .csv or .parquet")


def _expect(what: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise DataError(f"{what} have shape {shape}, expected {expected}")


def _reject_repeated(what: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        repeated = next(name for index, name in enumerate(names) if name in names[:index])
        raise DataError(f"{what} {repeated!r} occurs twice")


def _read_table(path: Path) -> pl.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        if path.name.endswith((".csv", ".csv.gz")):
            return pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    raise DataError(f"{path} ends in {path.suffix!r}, expected .csv, .csv.gz or .parquet")


def _numbers(table: pl.DataFrame, column: str, path: str | Path) -> Array:
    """A column of the table as floats, NaN where a cell is empty."""
    text = table[column]
    numbers = text.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & text.is_not_null()).arg_true()
    if len(wrong):
        raise DataError(f"{column} of {path} is {text[wrong[0]]!r} in row {wrong[0] + 1}, expected a number")
    return numbers.fill_null(np.nan).to_numpy()


def _in_order(rows: npt.NDArray[np.object_]) -> tuple[list[str], Integers]:
    """Distinct values in the order in which they first occur, and which of them each row has."""
    sorted_names, first, inverse = np.unique(rows.astype(np.str_), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return [str(name) for name in sorted_names[order]], place[inverse]


def _labels(column: pl.Series, stream_of: Integers, names: Sequence[str], path: str | Path) -> Labels:
    text = column.cast(pl.String)
    if text.null_count():
        stream = int(stream_of[int(text.is_null().arg_max() or 0)])
        raise DataError(f"stream {names[stream]} of {path} has a row without a label")
    row_labels = text.to_numpy().astype(np.str_)
    _, first = np.unique(stream_of, return_index=True)
    labels = row_labels[first]
    differs = np.flatnonzero(row_labels != labels[stream_of])
    if len(differs):
        stream = stream_of[differs[0]]
        raise DataError(
            f"stream {names[stream]} of {path} has two labels, {labels[stream]!r} and {row_labels[differs[0]]!r}"
        )
    return labels


def _smallest_step(stream_of: Integers, times: Array) -> float:
    """The smallest positive step of time within a stream; 1 s where no stream has two times."""
    order = np.lexsort((times, stream_of))
    steps = np.diff(times[order])[np.diff(stream_of[order]) == 0]
    steps = steps[steps > 0]
    return float(steps.min()) if len(steps) else 1.0

"""Recorded, labelled streams on a common grid of ticks."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamfs.base.plain_files import path_of
from streamfs.data.given_values import given_values
from streamfs.data.recordings.layout import Layout
from streamfs.data.stream_arrays import StreamArrays
from streamfs.data.stream_files import ReadStreams, read_frame, read_recording, streams_frame, write_streams
from streamfs.data.viewed_streams import ViewedStreams
from streamfs.data.xarray_streams import read_xarray, streams_xarray


class StreamSet(ViewedStreams):
    """Recorded streams on a common grid of ticks, each with its label.

    Parameters
    ----------
    values : array_like of shape (n_streams, n_ticks, n_columns), or list of array_like
        Readings; NaN is missing, and what a mask of numpy hides. A list has an array of shape (n_ticks, n_columns)
        for each stream, as long as that.
    labels : array_like of shape (n_streams,)
        The class of each stream, as text.
    columns : sequence of str
        Names of the columns, such as ``a.temperature``.
    period : float
        Seconds from one tick to the next.
    names : sequence of str, optional
        Names of the streams; by default ``stream-0`` and so on.
    lengths : array_like of shape (n_streams,), optional
        Number of ticks of each stream; by default `n_ticks`. Values beyond are ignored.

    Attributes
    ----------
    groups : ndarray of shape (n_streams,), or None
        What streams belong together, as `grouped` was told, or as windows of one label follow each other.
    weights : ndarray of shape (n_streams,), or None
        What streams count, as `weighted` was told.
    starts : ndarray of shape (n_streams,), or None
        When streams began, in seconds, as `starting` was told, or the files say; NaN is not known.
    n_left_out : int
        How many windows `read` or `from_frame` left out beside these streams, since their rows do not have one
        label to nine in ten. Some of the streams, as `take` returns them, have 0.

    Raises
    ------
    DataError
        If shapes do not match, a name is empty or repeated, or a value is infinite, complex or a time.

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
        given, found = given_values(values)
        self._set(given, labels, columns, period, names, found if lengths is None else lengths)

    @classmethod
    def of_read(cls, found: ReadStreams) -> Self:
        """Make a set of what was read from files, with the times at which streams began, and their groups."""
        streams = cls.of_arrays(found.arrays)
        streams.starts = np.where(np.isfinite(found.starts), found.starts, np.nan)
        of_windows = None if found.windows is None else found.windows.groups
        streams.n_left_out = 0 if found.windows is None else found.windows.n_left_out
        streams.groups = of_windows if found.groups is None else np.asarray(found.groups)
        return streams

    def __repr__(self) -> str:
        counts = ", ".join(f"{c} {(self.labels == c).sum()}" for c in self.classes)
        left_out = f", windows left out {self.n_left_out}" if self.n_left_out else ""
        return (
            f"StreamSet({len(self)} streams of up to {self.n_ticks} ticks of {self.period:g} s, "
            f"columns {', '.join(self.columns)}, labels {counts}{left_out})"
        )

    def _repr_html_(self) -> str:
        from streamfs.data.notebook import stream_set_html  # noqa: PLC0415 - for notebooks alone

        return stream_set_html(self)

    @classmethod
    def read(
        cls,
        paths: str | Path | Iterable[str | Path],
        period: float | None = None,
        *,
        labelled: bool = True,
        **layout: Any,
    ) -> Self:
        """Read recorded streams: files with a row per stream and time, or with a row per reading.

        Parameters
        ----------
        paths : path or sequence of paths
            CSV and Parquet files (``.csv``, ``.csv.gz``, ``.parquet``), folders of such files, patterns such as
            ``runs/*.csv``, or series of an archive (``.ts``, ``.tsv``, ``.arff``). By default, they have the
            columns ``stream, time, label`` and the readings. Or what a gateway has kept, its state or spool, or
            another system: see ``docs/recordings.md``.
        period : float, optional
            Seconds per tick; by default the smallest time step, or, if rows are resampled, the usual one.
        labelled : bool
            Whether every stream must have a label; if not, a missing label is the empty string.
        **layout
            Other fields of a `Layout`, such as ``stream="device"``, ``labels="folder"`` or ``resample="last"``.

        Raises
        ------
        LayoutError
            If the files are laid out in another way; it proposes fields with which they are read.
        DataError
            If a file cannot be read, a reading is not a number, a stream has two labels, or the ticks would need
            more than 2 GiB. Rows are counted from 1, after the header.
        TypeError
            If a layout has no such field.
        LogError
            If the log of a gateway is damaged, or has no records.

        Notes
        -----
        A stream begins at its first row, and a row belongs to the nearest tick. A tick without a row is a missing
        sample. An empty cell is a missing reading. A row without time and readings stands for a stream without
        ticks. Of streams in several files, the rows are put together.
        """
        return cls.of_read(read_recording(paths, Layout(period=period, labelled=labelled, **layout)))

    @classmethod
    def from_frame(cls, frame: Any, period: float | None = None, *, labelled: bool = True, **layout: Any) -> Self:
        """Make streams of a frame with a row per stream and time, or with a row per reading.

        Parameters
        ----------
        frame : DataFrame
            A frame of polars or pandas, an Arrow table, or what offers Arrow's stream. An index of pandas that is
            not a mere count is a column; without a name it is called ``index``, or its levels ``level_0`` and so
            on, and is no reading unless `columns` has it. Numbers are not copied but onto the grid.
        period, labelled, **layout
            As for `read`.

        Raises
        ------
        LayoutError, DataError
            As for `read`.
        TypeError
            If `frame` is something else, or a layout has no such field.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"node": ["n1", "n1"], "at": [0, 10], "is": ["on", "on"], "x": [1.0, 2.0]})
        >>> StreamSet.from_frame(frame, stream="node", time="at", label="is")
        StreamSet(1 streams of up to 2 ticks of 10 s, columns x, labels on 1)
        """
        return cls.of_read(read_frame(frame, Layout(period=period, labelled=labelled, **layout)))

    def write(self, path: str | Path) -> None:
        """Write the streams to a CSV or Parquet file that `read` reads.

        Raises
        ------
        DataError
            If the file's ending is neither ``.csv`` nor ``.parquet``, no file can have its name, or a column is
            named ``stream``, ``time`` or ``label``.
        OSError
            If the file cannot be written.
        """
        write_streams(self._arrays(), path_of(path))

    def to_frame(self) -> Any:
        """Return a frame of polars with a row for each stream and tick, which `from_frame` reads.

        Raises
        ------
        DataError
            If a column is named ``stream``, ``time`` or ``label``.

        Examples
        --------
        >>> StreamSet([[[1.0], [2.0]]], ["calm"], ["noise"]).to_frame().columns
        ['stream', 'time', 'label', 'noise']
        """
        return streams_frame(self._arrays())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows of `to_frame` as Arrow's stream, which pyarrow, pandas and others read."""
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def to_xarray(self) -> Any:
        """Return an array of xarray, of stream, time (seconds) and column, with the labels as a coordinate.

        Raises
        ------
        MissingExtraError
            If xarray is not installed.
        """
        return streams_xarray(self._arrays())

    @classmethod
    def from_xarray(cls, array: Any, label: str = "label") -> Self:
        """Make streams of an array of xarray with the dimensions ``stream``, ``time`` and ``column``.

        Parameters
        ----------
        array : xarray.DataArray or xarray.Dataset
            With labels as a coordinate of ``stream``; a stream ends at its last tick with a value. Times are
            seconds, dates or durations. The variables of a Dataset are the columns.
        label : str
            Name of that coordinate.

        Raises
        ------
        DataError
            If a dimension or the labels are missing, or times are not evenly spread.
        TypeError
            If `array` is something else, or `label` is no name.
        """
        return cls.of_arrays(read_xarray(array, label))

    def _arrays(self) -> StreamArrays:
        labels = self.labels.tolist()
        return StreamArrays(self.values, labels, self.columns, self.period, self.names, self.lengths)


def require_streams(streams: object) -> None:
    """Raise a TypeError unless `streams` is a `StreamSet`."""
    if not isinstance(streams, StreamSet):
        raise TypeError(f"streams is {streams!r}, expected a StreamSet, such as StreamSet.read('streams.csv')")

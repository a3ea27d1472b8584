"""Recorded, labelled streams on a common grid of ticks."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import LARGEST
from feature_extractors.report import Policy, split_opening
from feature_extractors.spelling import nearest
from streamfs.data.drawing import draw_groups, draw_streams
from streamfs.data.ends import first_complete
from streamfs.data.given_values import given_values
from streamfs.data.recordings.layout import Layout, check_period
from streamfs.data.recordings.tables import check_names
from streamfs.data.stream_files import (
    ReadStreams,
    StreamArrays,
    read_frame,
    read_recording,
    streams_frame,
    write_streams,
)
from streamfs.data.views import views
from streamfs.data.xarray_streams import read_xarray, streams_xarray
from streamfs.errors import DataError

Labels = npt.NDArray[np.str_]

_AXES = "(n_streams, n_ticks, n_columns)"

MISSING_LABELS = {"none", "nan", "nat", "<na>"}
"""The texts of what stands for no label in frames and arrays, in lower case."""


class StreamSet:
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

    groups: npt.NDArray[Any] | None = None
    weights: Array | None = None
    starts: Array | None = None
    n_left_out: int = 0

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
    def of_arrays(cls, arrays: StreamArrays) -> Self:
        """Make a set of arrays that nobody else holds: they are not copied."""
        streams = cls.__new__(cls)
        streams._set(*arrays)  # noqa: SLF001 - its own
        return streams

    @classmethod
    def of_read(cls, found: ReadStreams) -> Self:
        """Make a set of what was read from files, with the times at which streams began, and their groups."""
        streams = cls.of_arrays(found.arrays)
        streams.starts = np.where(np.isfinite(found.starts), found.starts, np.nan)
        of_windows = None if found.windows is None else found.windows.groups
        streams.n_left_out = 0 if found.windows is None else found.windows.n_left_out
        streams.groups = of_windows if found.groups is None else np.asarray(found.groups)
        return streams

    def _set(
        self,
        values: Array,
        labels: npt.ArrayLike,
        columns: Sequence[str],
        period: float,
        names: Sequence[str] | None,
        lengths: npt.ArrayLike | None,
    ) -> None:
        self.values = values
        if self.values.ndim != 3:
            axes = ": give streams of one column as values[:, :, np.newaxis]" if self.values.ndim == 2 else ""
            raise DataError(f"values have shape {self.values.shape}, expected {_AXES}{axes}")
        n_streams, n_ticks, n_columns = self.values.shape
        given = np.asarray(labels)
        self.labels: Labels = given.astype(np.str_)
        self.columns = _texts("column", columns)
        self.period = float(period)
        self.names = _texts("stream", [f"stream-{i}" for i in range(n_streams)] if names is None else names)
        self.lengths = np.full(n_streams, n_ticks) if lengths is None else _whole(lengths)
        _expect("labels", self.labels.shape, (n_streams,))
        if len(self.columns) == n_ticks != n_columns:
            turned = f"expected {_AXES} with {n_ticks} columns: turn the axes by values.transpose(0, 2, 1)"
            raise DataError(f"values have shape {self.values.shape}, {turned}")
        _expect("columns", (len(self.columns),), (n_columns,))
        _expect("names", (len(self.names),), (n_streams,))
        _expect("lengths", self.lengths.shape, (n_streams,))
        check_names("column", self.columns)
        check_names("stream", self.names)
        _require_labels(given, self.names)
        check_period(self.period)
        if n_streams and not 0 <= self.lengths.min() <= self.lengths.max() <= n_ticks:
            wrong = self.lengths[(self.lengths < 0) | (self.lengths > n_ticks)][0]
            raise DataError(f"a length is {wrong}, expected 0 to {n_ticks} ticks")
        self.values[np.arange(n_ticks) >= self.lengths[:, np.newaxis]] = np.nan
        if (self.values > LARGEST).any() or (self.values < -LARGEST).any():
            stream, tick, column = np.argwhere(np.abs(self.values) > LARGEST)[0]
            raise DataError(
                f"{self.columns[column]} of stream {self.names[stream]} is {self.values[stream, tick, column]:g} "
                f"at tick {tick + 1}, expected at most {LARGEST:g}; a missing reading is NaN, "
                "or in a file a word that values take as missing, such as inf=missing"
            )

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, key: Any) -> "StreamSet":
        """Return some of the streams: by an index, a slice, a mask or several indices, as scikit-learn does.

        Examples
        --------
        >>> import numpy as np
        >>> StreamSet(np.zeros((6, 1, 1)), [*"abcabc"], ["t"])[2:4].labels.tolist()
        ['c', 'a']
        """
        chosen = key[0] if isinstance(key, tuple) and key[1:] == (...,) else key
        return self.take(np.atleast_1d(np.arange(len(self))[chosen]))

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

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of streams, ticks and columns."""
        return self.values.shape

    @property
    def n_ticks(self) -> int:
        """Number of ticks of the array of values; streams may be shorter."""
        return int(self.values.shape[1])

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(str(c) for c in np.unique(self.labels))

    def take(self, indices: npt.ArrayLike) -> "StreamSet":
        """Return some of the streams, in the given order; `indices` may be a mask."""
        index = np.arange(len(self))[np.asarray(indices, dtype=None if np.size(indices) else np.intp)]
        names = [self.names[i] for i in index]
        taken = StreamSet(
            self.values[index], self.labels[index], self.columns, self.period, names, self.lengths[index]
        )
        return taken._belonging(self, index)

    def grouped(self, groups: npt.ArrayLike | None) -> "StreamSet":
        """Return the same streams, of which those of one group belong together.

        `train` never holds out streams of a group while it trains on others of it.

        Parameters
        ----------
        groups : array_like of shape (n_streams,), optional
            The group of each stream, such as its node or its day; None for none.

        Raises
        ------
        DataError
            If there is not one group a stream.

        Examples
        --------
        >>> import numpy as np
        >>> streams = StreamSet(np.zeros((4, 1, 1)), [*"abab"], ["t"]).grouped(["n1", "n1", "n2", "n2"])
        >>> streams.take([0, 3]).groups.tolist()
        ['n1', 'n2']
        """
        same, found = copy(self), None if groups is None else np.asarray(groups)
        if found is not None:
            _expect("groups", found.shape, (len(self),))
        same.groups = found
        return same

    def weighted(self, weights: npt.ArrayLike | None) -> "StreamSet":
        """Return the same streams, each of which counts as much in training as its weight says.

        What `train` fits, calibrates and chooses counts streams by their weights. Those of weight 0 are left out.
        What it reports of held-out streams, and what it estimates that messages cost, counts each once.

        Parameters
        ----------
        weights : array_like of shape (n_streams,), optional
            At least 0, with a positive sum; None for none.

        Raises
        ------
        DataError
            If there is not one such weight a stream.

        Examples
        --------
        >>> import numpy as np
        >>> streams = StreamSet(np.zeros((3, 1, 1)), [*"aba"], ["t"]).weighted([0.5, 2.0, 1.0])
        >>> streams.take([1, 2]).weights.tolist()
        [2.0, 1.0]
        """
        same, found = copy(self), None if weights is None else np.asarray(weights, dtype=np.float64)
        if found is not None:
            _expect("weights", found.shape, (len(self),))
            for place in np.flatnonzero(~(np.isfinite(found) & (found >= 0.0))):
                raise DataError(f"the weight of stream {self.names[place]} is {found[place]}, expected at least 0")
            if len(found) and not found.any():
                raise DataError("weights are 0 for every stream, expected a positive one")
            with np.errstate(over="ignore"):
                if np.isinf(found.sum()):
                    raise DataError(f"weights are up to {found.max():g}, expected a sum that a number can hold")
        same.weights = found
        return same

    def starting(self, starts: npt.ArrayLike | None) -> "StreamSet":
        """Return the same streams, each of which began at its time.

        Of streams whose times are known, `train` says whether what it learns of earlier ones holds of later ones.

        Parameters
        ----------
        starts : array_like of shape (n_streams,), optional
            In seconds since any time; NaN is not known. None for none.

        Raises
        ------
        DataError
            If there is not one such time a stream.

        Examples
        --------
        >>> import numpy as np
        >>> streams = StreamSet(np.zeros((3, 1, 1)), [*"aba"], ["t"]).starting([0.0, 60.0, 120.0])
        >>> streams.take([1, 2]).starts.tolist()
        [60.0, 120.0]
        """
        same, found = copy(self), None if starts is None else np.asarray(starts, dtype=np.float64)
        if found is not None:
            _expect("starts", found.shape, (len(self),))
            for place in np.flatnonzero(np.isinf(found)):
                raise DataError(f"the start of stream {self.names[place]} is {found[place]}, expected a time")
        same.starts = found
        return same

    def _belonging(self, source: "StreamSet", index: Integers | slice = slice(None)) -> "StreamSet":
        """Return the same streams with the groups, weights and starts of some of another set."""
        groups, weights, starts = (
            None if each is None else each[index] for each in (source.groups, source.weights, source.starts)
        )
        return self.grouped(groups).weighted(weights).starting(starts)

    def until(self, n_ticks: int) -> "StreamSet":
        """Return the first ticks of each stream, at most `n_ticks` of them."""
        if n_ticks >= self.n_ticks:
            return self
        lengths = np.minimum(self.lengths, n_ticks)
        first = StreamSet(self.values[:, :n_ticks], self.labels, self.columns, self.period, self.names, lengths)
        return first._belonging(self)

    def lasting(self) -> "StreamSet":
        """Return the same streams, each of which lasts as long as the longest; what has ended is silent.

        A gateway does not know that a stream has ended: it waits for its nodes until the time limit, and labels
        what it has received, with features that keep their last values. Otherwise a stream that ends before it is
        decided is taken to be closed there, without a label.

        Examples
        --------
        >>> streams = StreamSet([[[3.0], [4.0]], [[5.0], [6.0]]], ["a", "b"], ["t"], lengths=[1, 2]).lasting()
        >>> streams.lengths.tolist(), streams.values.ravel().tolist()
        ([2, 2], [3.0, nan, 5.0, 6.0])
        """
        silent = StreamSet(self.values, self.labels, self.columns, self.period, self.names)
        return silent._belonging(self)

    def split(self, share: float, seed: int) -> tuple["StreamSet", "StreamSet"]:
        """Split at random, stratified by class; the first part has the given share of each class.

        Streams of one group stay together; then it is about that share.

        Raises
        ------
        ValueError
            If the share is not between 0 and 1.

        Examples
        --------
        >>> import numpy as np
        >>> streams = StreamSet(np.zeros((6, 1, 1)), ["a", "b", "a", "b", "a", "a"], ["t"])
        >>> [part.labels.tolist() for part in streams.split(0.5, seed=0)]
        [['a', 'b', 'a'], ['b', 'a', 'a']]
        """
        if self.groups is None:
            first = draw_streams(self.labels, share, seed)
        else:
            first = draw_groups(self.labels, self.groups, share, seed)
        return self.take(first), self.take(np.setdiff1d(np.arange(len(self)), first))

    def seen_through(self, channels: Sequence[str], max_silence: float | None = None) -> "StreamSet":
        """Return the streams as a gateway sees them: each channel is a column under its report policy.

        Parameters
        ----------
        channels : sequence of str
            Columns, each optionally with a report policy after ``@``, and, after ``@from:``, with the tick of the
            episode from which it is asked for.
        max_silence : float, optional
            Seconds after which a channel that sends on change repeats its value, and after which a value is no
            longer held; by default, values are held indefinitely.

        Returns
        -------
        StreamSet
            With the channels as columns, on the same ticks. A column that is named as a channel, with its policy,
            is taken as it is: it is what a gateway has seen.

        Raises
        ------
        DataError
            If the streams have no column of a channel.
        ValueError
            If `max_silence` is shorter than a tick.

        Examples
        --------
        >>> streams = StreamSet([[[20.0], [20.1], [20.9]]], ["a"], ["t"])
        >>> streams.seen_through(["t@delta:0.5"]).values.ravel().tolist()
        [20.0, 20.0, 20.9]
        """
        seen = np.empty((len(self), self.n_ticks, len(channels)))
        for index, view in enumerate(views(self, Policy.seen, channels, max_silence)):
            seen[:, :, index] = view
        found = StreamSet(seen, self.labels, channels, self.period, self.names, self.lengths)
        return found._belonging(self)

    def sent_through(self, channels: Sequence[str], max_silence: float | None = None) -> Iterator[Array]:
        """Yield what nodes send of each channel at each tick, shape (n_streams, n_ticks); NaN if nothing.

        Parameters and errors are those of `seen_through`.

        Examples
        --------
        >>> streams = StreamSet([[[20.0, 1.0], [20.1, 2.0], [20.9, 3.0]]], ["a"], ["t", "u"])
        >>> [sent.ravel().tolist() for sent in streams.sent_through(["t@delta:0.5", "u@from:3"])]
        [[20.0, nan, 20.9], [nan, nan, 3.0]]
        """
        return views(self, Policy.sent, channels, max_silence)

    def episodes(self) -> "StreamSet":
        """Return each stream from its first complete tick on, when its episode opens; if none is, it has no ticks.

        Channels that open later may lack there.

        Examples
        --------
        >>> streams = StreamSet([[[float("nan")], [3.0], [4.0]]], ["a"], ["t"]).episodes()
        >>> streams.values.ravel().tolist(), streams.lengths.tolist()
        ([3.0, 4.0, nan], [2])
        """
        needed = [split_opening(channel)[1] == 1 for channel in self.columns]
        if not np.isnan(self.values[:, :1, needed]).any():
            return self  # all open at their first tick
        ticks, first = np.arange(self.n_ticks), first_complete(self.values[:, :, needed], self.lengths)
        shifted = np.minimum(ticks + first[:, np.newaxis], max(self.n_ticks - 1, 0))
        moved = np.take_along_axis(self.values, shifted[:, :, np.newaxis], axis=1)
        opened = StreamSet(moved, self.labels, self.columns, self.period, self.names, self.lengths - first)
        return opened._belonging(self)

    def column(self, name: str) -> Array:
        """Return the readings of a column, shape (n_streams, n_ticks); NaN beyond a stream's length.

        Raises
        ------
        DataError
            If there is no such column.
        """
        if name not in self.columns:
            known = f"expected one of {', '.join(self.columns)}{nearest(str(name), self.columns)}"
            raise DataError(f"column {name!r} does not exist, {known}")
        return self.values[:, :, self.columns.index(name)]

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
            CSV and Parquet files (``.csv``, ``.csv.gz``, ``.parquet``), folders of such files, or patterns such as
            ``runs/*.csv``. By default, they have the columns ``stream, time, label`` and the readings. Or what a
            gateway has kept, its state or its spool, or another system: see ``docs/recordings.md``.
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
            If the file's ending is neither ``.csv`` nor ``.parquet``, or a column is named ``stream``, ``time`` or
            ``label``.
        OSError
            If the file cannot be written.
        """
        write_streams(self._arrays(), Path(path))

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
            If it is something else.
        """
        return cls(*read_xarray(array, label))

    def _arrays(self) -> StreamArrays:
        labels = self.labels.tolist()
        return StreamArrays(self.values, labels, self.columns, self.period, self.names, self.lengths)


def _expect(what: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise DataError(f"{what} have shape {shape}, expected {expected}")


def _texts(what: str, names: Iterable[object]) -> tuple[str, ...]:
    """Return names as text, which numbers may be."""
    found = tuple(names)
    for number, name in enumerate(found, 1):
        if not isinstance(name, str | Integral):
            raise DataError(f"{what} {number} has the name {name!r}, expected a text")
    return tuple(map(str, found))


def _require_labels(labels: npt.NDArray[Any], names: Sequence[str]) -> None:
    """Refuse labels that are missing, as frames have them: their texts would be classes."""
    for name, label in zip(names, labels.tolist(), strict=True) if labels.dtype.kind in "fMOm" else ():
        if not isinstance(label, str) and str(label).lower() in MISSING_LABELS:
            raise DataError(f"the label of stream {name} is {label}: leave out streams without one")


def _whole(lengths: npt.ArrayLike) -> Integers:
    asked = np.asarray(lengths)
    whole: Integers = np.nan_to_num(asked).astype(np.int64)
    if (whole != asked).any():
        raise DataError(f"a length is {asked[whole != asked][0]}, expected a whole number of ticks")
    return whole


def require_streams(streams: object) -> None:
    """Raise a TypeError unless `streams` is a `StreamSet`."""
    if not isinstance(streams, StreamSet):
        raise TypeError(f"streams is {streams!r}, expected a StreamSet, such as StreamSet.read('streams.csv')")

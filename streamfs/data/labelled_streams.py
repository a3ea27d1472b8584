"""Streams on a common grid of ticks, each with its label, and what else is known of each."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from feature_extractors.spelling import nearest
from streamfs.data.drawing import draw_groups, draw_streams
from streamfs.data.given_values import one_each, real
from streamfs.data.recordings.layout_checks import require_seconds
from streamfs.data.recordings.tables import check_names
from streamfs.data.stream_arrays import (
    Labels,
    StreamArrays,
    as_names,
    require_axes,
    require_columns_last,
    require_labels,
    require_lengths,
    require_numbers,
    require_shape,
    whole_lengths,
)
from streamfs.errors import DataError


class LabelledStreams:
    """What a `StreamSet` holds, and which of its streams are taken."""

    values: Array
    labels: Labels
    columns: tuple[str, ...]
    period: float
    names: tuple[str, ...]
    lengths: Integers
    groups: npt.NDArray[Any] | None = None
    weights: Array | None = None
    starts: Array | None = None
    n_left_out: int = 0

    @classmethod
    def of_arrays(cls, arrays: StreamArrays) -> Self:
        """Make a set of arrays that nobody else holds: they are not copied."""
        streams = cls.__new__(cls)
        streams._set(*arrays)  # noqa: SLF001 - its own
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
        require_axes(values)
        n_streams, n_ticks, n_columns = values.shape
        given = one_each(labels, "labels")
        self.values = values
        self.labels = given.astype(np.str_)
        self.columns = as_names("column", columns)
        require_seconds("period", period)
        self.period = float(period)
        self.names = as_names("stream", [f"stream-{i}" for i in range(n_streams)] if names is None else names)
        self.lengths = np.full(n_streams, n_ticks) if lengths is None else whole_lengths(lengths)
        require_shape("labels", self.labels.shape, (n_streams,))
        require_columns_last(values, len(self.columns))
        require_shape("columns", (len(self.columns),), (n_columns,))
        require_shape("names", (len(self.names),), (n_streams,))
        require_shape("lengths", self.lengths.shape, (n_streams,))
        check_names("column", self.columns)
        check_names("stream", self.names)
        require_labels(given, self.names)
        require_lengths(self.lengths, n_ticks)
        values[np.arange(n_ticks) >= self.lengths[:, np.newaxis]] = np.nan
        require_numbers(values, self.columns, self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, key: Any) -> Self:
        """Return some of the streams: by an index, a slice, a mask or several indices, as scikit-learn does.

        Examples
        --------
        >>> import numpy as np
        >>> from streamfs import StreamSet
        >>> StreamSet(np.zeros((6, 1, 1)), [*"abcabc"], ["t"])[2:4].labels.tolist()
        ['c', 'a']
        """
        chosen = key[0] if isinstance(key, tuple) and key[1:] == (...,) else key
        return self.take(np.atleast_1d(np.arange(len(self))[chosen]))

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

    def take(self, indices: npt.ArrayLike) -> Self:
        """Return some of the streams, in the given order; `indices` may be a mask."""
        index = np.arange(len(self))[np.asarray(indices, dtype=None if np.size(indices) else np.intp)]
        names = [self.names[i] for i in index]
        arrays = self.values[index], self.labels[index], self.columns, self.period, names, self.lengths[index]
        return self._of(StreamArrays(*arrays), index)

    def grouped(self, groups: npt.ArrayLike | None) -> Self:
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
        >>> from streamfs import StreamSet
        >>> streams = StreamSet(np.zeros((4, 1, 1)), [*"abab"], ["t"]).grouped(["n1", "n1", "n2", "n2"])
        >>> streams.take([0, 3]).groups.tolist()
        ['n1', 'n2']
        """
        same, found = copy(self), None if groups is None else one_each(groups, "groups")
        if found is not None:
            require_shape("groups", found.shape, (len(self),))
        same.groups = found
        return same

    def weighted(self, weights: npt.ArrayLike | None) -> Self:
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
        >>> from streamfs import StreamSet
        >>> streams = StreamSet(np.zeros((3, 1, 1)), [*"aba"], ["t"]).weighted([0.5, 2.0, 1.0])
        >>> streams.take([1, 2]).weights.tolist()
        [2.0, 1.0]
        """
        same, found = copy(self), None if weights is None else real(one_each(weights, "weights"), "weights")
        if found is not None:
            require_shape("weights", found.shape, (len(self),))
            for place in np.flatnonzero(~(np.isfinite(found) & (found >= 0.0))):
                raise DataError(f"the weight of stream {self.names[place]} is {found[place]}, expected at least 0")
            if len(found) and not found.any():
                raise DataError("weights are 0 for every stream, expected a positive one")
            with np.errstate(over="ignore"):
                if np.isinf(found.sum()):
                    raise DataError(f"weights are up to {found.max():g}, expected a sum that a number can hold")
        same.weights = found
        return same

    def starting(self, starts: npt.ArrayLike | None) -> Self:
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
        >>> from streamfs import StreamSet
        >>> streams = StreamSet(np.zeros((3, 1, 1)), [*"aba"], ["t"]).starting([0.0, 60.0, 120.0])
        >>> streams.take([1, 2]).starts.tolist()
        [60.0, 120.0]
        """
        same, found = copy(self), None if starts is None else real(one_each(starts, "starts"), "starts")
        if found is not None:
            require_shape("starts", found.shape, (len(self),))
            for place in np.flatnonzero(np.isinf(found)):
                raise DataError(f"the start of stream {self.names[place]} is {found[place]}, expected a time")
        same.starts = found
        return same

    def _of(self, arrays: StreamArrays, index: Integers | slice = slice(None)) -> Self:
        """Return a set of arrays, with the groups, weights and starts of some of these streams."""
        groups, weights, starts = (
            None if each is None else each[index] for each in (self.groups, self.weights, self.starts)
        )
        return self.of_arrays(arrays).grouped(groups).weighted(weights).starting(starts)

    def _with(self, values: Array, lengths: Integers, columns: Sequence[str] | None = None) -> Self:
        """Return the same streams with other values, which nobody else holds."""
        named = self.columns if columns is None else columns
        return self._of(StreamArrays(values, self.labels, named, self.period, self.names, lengths))

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Split at random, stratified by class; the first part has the given share of each class.

        Streams of one group stay together; then it is about that share.

        Raises
        ------
        ValueError
            If the share is not between 0 and 1.

        Examples
        --------
        >>> import numpy as np
        >>> from streamfs import StreamSet
        >>> streams = StreamSet(np.zeros((6, 1, 1)), ["a", "b", "a", "b", "a", "a"], ["t"])
        >>> [part.labels.tolist() for part in streams.split(0.5, seed=0)]
        [['a', 'b', 'a'], ['b', 'a', 'a']]
        """
        if self.groups is None:
            first = draw_streams(self.labels, share, seed)
        else:
            first = draw_groups(self.labels, self.groups, share, seed)
        return self.take(first), self.take(np.setdiff1d(np.arange(len(self)), first))

"""Features of recorded streams that lie in many files: a row a stream, and the table that rows make."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from feature_extractors.base import Feature, channels_of
from feature_extractors.report import split_channel
from streamfs.data.feature_table import FeatureTable, tabulate
from streamfs.data.streams import StreamSet

TABLE = "stream string, label string, width int, length int, cells binary"
"""Columns of rows."""


class TableRow(NamedTuple):
    """The features of a stream at its first `length` of `width` ticks, as the bytes of numbers."""

    stream: str
    label: str
    width: int
    length: int
    cells: bytes


@dataclass(frozen=True)
class Tabulation:
    """What is computed of each stream, as `tabulate` has it, and the seconds of a tick.

    Streams are read as by `StreamSet.from_frame`, from columns stream, time, label and those that features read.
    """

    features: tuple[Feature, ...]
    period: float
    max_silence: float | None = None
    ticks: tuple[int, ...] | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of readings that are needed."""
        return list(dict.fromkeys(split_channel(channel)[0] for channel in channels_of(self.features)))

    def rows(self, samples: pa.Table) -> Iterator[TableRow]:
        """Yield the rows of whole streams, whose samples may be in any order."""
        streams = StreamSet.from_frame(samples, self.period, columns=self.columns)
        table = tabulate(streams, self.features, self.max_silence, self._kept)
        for name, label, length, values in zip(
            streams.names, streams.labels.tolist(), table.lengths.tolist(), table.values, strict=True
        ):
            yield TableRow(name, label, table.n_ticks, length, values[:length].tobytes())

    def table(self, rows: Iterable[TableRow]) -> tuple[list[str], FeatureTable]:
        """Return the names of streams, in order, and their table."""
        known = sorted(rows)
        shape = len(known), max((row.width for row in known), default=0), len(self.features)
        values = np.full(shape, np.nan)
        for place, row in enumerate(known):
            values[place, : row.length] = np.frombuffer(row.cells).reshape(row.length, len(self.features))
        labels, lengths = np.array([row.label for row in known], np.str_), np.array([row.length for row in known])
        table = FeatureTable(values, labels, self.features, lengths.astype(np.int64), self.period)
        return [row.stream for row in known], table

    @property
    def _kept(self) -> npt.NDArray[np.int64] | None:
        return None if self.ticks is None else np.array(self.ticks, np.int64)


def row_batch(rows: Sequence[TableRow]) -> pa.RecordBatch:
    """Return rows as Arrow has them."""
    kinds = (pa.string(), pa.string(), pa.int32(), pa.int32(), pa.binary())
    columns = zip(*rows, strict=True) if rows else [[]] * len(kinds)
    arrays = [pa.array([*column], kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[*TableRow._fields])

"""The rows of recordings: to which stream each belongs, and when it was."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from feature_extractors.spelling import nearest
from streamfs.base.ahead import map_ahead
from streamfs.data.recordings.blocks import LEFT_OUT, TIMELESS, Block, Codes, Few
from streamfs.data.recordings.clock_changes import order_repeated, refuse_repeated
from streamfs.data.recordings.csv_text import ARRAYS, first_cells
from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import LABEL, RUNS, STREAM
from streamfs.data.recordings.pool import Pool
from streamfs.data.recordings.tables import Table, numbers_of, texts_of
from streamfs.data.recordings.times import Times, check_times, in_seconds, moments, times_of
from streamfs.data.recordings.windows import Windows
from streamfs.data.recordings.words import coded, units_of
from streamfs.errors import DataError, LayoutError

MOST_COLUMNS = 2**15 - 1


@dataclass
class Rows:
    """The rows of some tables.

    Parameters
    ----------
    layout : Layout
        What the columns of the tables mean.
    tables : sequence of Table
        The tables.
    streams, columns : dict of str to int
        Numbers of the streams and of their columns, in the order in which they first occur.
    labels : dict of int to str
        Label of each stream that has one in a column.
    label_codes, group_codes : dict of str to int
        Numbers of the labels, and of the groups, if rows have them.
    files : dict of int to set of pairs of str
        Folder and name of each stream's files.
    blocks : list of list of Block
        The batches of each table.
    windows : Windows, optional
        The windows that are the streams, if they were cut into some.
    """

    layout: Layout
    tables: Sequence[Table]
    streams: dict[str, int] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)
    label_codes: dict[str, int] = field(default_factory=dict)
    group_codes: dict[str, int] = field(default_factory=dict)
    files: dict[int, set[tuple[str, str]]] = field(default_factory=dict)
    blocks: list[list[Block]] = field(default_factory=list)
    windows: Windows | None = None

    @property
    def label_sensor(self) -> str | None:
        """The sensor of a long table whose values label the readings until its next one, if there is one."""
        return _label_sensor(self.tables[0], self.layout)

    def all_blocks(self) -> Iterator[Block]:
        """Yield the batches of all tables."""
        for blocks in self.blocks:
            yield from blocks

    def readings(self) -> Iterator[tuple[Block, Codes, Array]]:
        """Yield the readings of each batch, and the cells into which they go."""
        units: dict[str, str] = {}
        for table, blocks in zip(self.tables, self.blocks, strict=True):
            for (n_before, batch), block in zip(table.batches(), blocks, strict=True):
                named = {self.layout.value: 0} if self.layout.value else self.columns
                cells = np.zeros(0, dtype=np.int32) if block.cells is None else block.cells
                for name, index in named.items():
                    if name in batch.columns:
                        taken = _taken(batch[name], cells) if self.layout.value else batch[name]
                        if self.layout.has_units:
                            _require_one_unit(units, taken, table)
                        cells_of = coded(taken, self.layout.values)
                        numbers = numbers_of(cells_of, table.source, n_before, table.decimal)
                        _require_times(numbers, cells, table, n_before)
                        yield block, np.where(cells < 0, cells, cells + np.int32(index)), numbers


def _taken(values: pl.Series, cells: Codes) -> pl.Series:
    """Return the values of a long table without those of sensors that are left out, which may be any text."""
    left_out = np.flatnonzero(cells == LEFT_OUT)
    return values.clone().scatter(left_out, None) if len(left_out) else values


def _require_one_unit(units: dict[str, str], cells: pl.Series, table: Table) -> None:
    """Refuse readings of one column in two units; note the first."""
    for unit in units_of(cells):
        if units.setdefault(cells.name, unit) != unit:
            both = f"{units[cells.name]} and in {unit}"
            raise DataError(f"{cells.name} of {table.source} is in {both}, expected one unit")


def _require_times(numbers: Array, cells: Codes, table: Table, n_before: int) -> None:
    timeless = (cells == TIMELESS) & ~np.isnan(numbers)
    if timeless.any():
        raise DataError(f"row {n_before + timeless.argmax() + 1} of {table.source} has readings but no time")


class _Meaning(NamedTuple):
    """Columns of one table."""

    streams: tuple[str, ...]
    times: tuple[str, ...]
    label: str | None
    groups: str | None

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The columns that are not readings."""
        return (*self.streams, *self.times, self.label, self.groups)


def read_rows(tables: Sequence[Table], layout: Layout) -> Rows:
    """Read streams, times, labels and sensors of some tables."""
    rows, pool = Rows(layout, tables), Pool()
    if layout.columns is not None:
        rows.columns = {name: index for index, name in enumerate(layout.columns)}
        if rows.label_sensor is not None:
            _refuse_as_reading(rows.label_sensor, layout)
            rows.columns[rows.label_sensor] = len(rows.columns)
    for table in tables:
        meaning = _meaning(table, layout)
        if layout.long is None:
            _add_columns(rows, table, meaning)
        timed = map_ahead(partial(_timed, table, meaning, layout), table.batches())
        blocks = [_block(rows, pool, table, meaning, *each) for each in timed]
        if not blocks and len(tables) == 1:
            raise DataError(f"{table.source} has no readings: it has no rows")
        _to_seconds(blocks, layout, table)
        what = f"{' and '.join(layout.time_columns)} of {table.source}"
        if layout.time_zone is None:
            refuse_repeated(blocks, len(rows.columns), what)
        else:
            order_repeated(blocks, len(rows.columns), layout.time_zone, what)
        rows.blocks.append(blocks)
    if not rows.columns or not rows.streams:
        what = "column of readings" if rows.streams else "readings: it has no rows"
        raise DataError(f"{tables[0].source} has no {what}")
    return rows


def _meaning(table: Table, layout: Layout) -> _Meaning:
    """Return the columns of a table that are not readings; refuse a table that lacks what the layout names."""
    streams = layout.stream_columns or ((STREAM,) if layout.long is None and STREAM in table.columns else ())
    label = (
        None
        if layout.labels not in (None, RUNS) or _label_sensor(table, layout) is not None
        else layout.label or (LABEL if layout.labels == RUNS or LABEL in table.columns else None)
    )
    for field_name, column in (
        ("groups", layout.group_column),
        ("label", label),
        *(("time", column) for column in layout.time_columns),
        *(("stream", column) for column in streams),
        ("sensor", layout.sensor),
        ("value", layout.value),
    ):
        if column is not None and column not in table.columns:
            raise MissingColumnError(table, field_name, column)
    return _Meaning(streams, layout.time_columns, label, layout.group_column)


def _label_sensor(table: Table, layout: Layout) -> str | None:
    """Return what a layout names as the label if that is no column of a long table, but perhaps a sensor."""
    is_sensor = layout.long is not None and layout.labels in (None, RUNS) and layout.label not in table.columns
    return layout.label if is_sensor else None


_SERIES = re.compile(r"\S+( [A-Za-z_]*\d+){3,}( \S+)?")  # columns: a label, and readings that are numbered


class MissingColumnError(LayoutError):
    """A table without a column that its layout names."""

    def __init__(self, table: Table, field_name: str, column: str) -> None:
        known = f"only {first_cells(table.columns)}{nearest(str(column), table.columns)}"
        if _SERIES.fullmatch(" ".join(table.columns)):
            known = f"{known}; if a stream is on each line, {ARRAYS}"
        super().__init__(f"{table.source} has no column {column!r}, {known}")
        self.field_name = field_name


def _add_columns(rows: Rows, table: Table, meaning: _Meaning) -> None:
    """Number the columns of readings of a wide table; refuse one without those that were asked for."""
    if rows.layout.columns is not None:
        for column in rows.layout.columns:
            if column not in table.columns:
                raise MissingColumnError(table, "columns", column)
        _refuse_as_reading(meaning.label, rows.layout)
        _refuse_as_reading(meaning.groups, rows.layout, "group")
        return
    for column in table.columns:
        if column not in (*meaning.columns, LABEL, rows.layout.label, *table.nameless):
            rows.columns.setdefault(column, len(rows.columns))


def _refuse_as_reading(column: str | None, layout: Layout, what: str = "label") -> None:
    """Refuse the label, or what else a column is, among the readings that are asked for."""
    if column in (layout.columns or ()):
        raise DataError(f"columns has {column!r}, which is the {what} of the streams: leave it out")


def _timed(
    table: Table, meaning: _Meaning, layout: Layout, numbered: tuple[int, pl.DataFrame]
) -> tuple[int, pl.DataFrame, Times]:
    """Read the times of a batch."""
    n_before, batch = numbered
    times = times_of(moments(batch, meaning.times, table.source), layout, table.source, n_before, table.decimal)
    return n_before, batch, times


def _block(
    rows: Rows, pool: Pool, table: Table, meaning: _Meaning, n_before: int, batch: pl.DataFrame, times: Times
) -> Block:
    """Read the streams, labels and sensors of a batch."""
    if not meaning.streams:
        streams = np.full(len(batch), rows.streams.setdefault(table.name, len(rows.streams)), dtype=np.int32)
    else:
        parts = [texts_of(batch[column], table.source) for column in meaning.streams]
        for part in parts:
            _require(part, "stream", table, n_before)
        names = parts[0] if len(parts) == 1 else pl.select(pl.concat_str(parts, separator="/")).to_series()
        _number(names, rows.streams)
        narrow = pl.Int16 if len(rows.streams) <= MOST_COLUMNS else pl.Int32
        streams = names.replace_strict(rows.streams, return_dtype=narrow).to_numpy()
    _add_labels(rows, table, meaning, n_before, batch, streams)
    labels, groups = _label_codes(rows, table, meaning, batch), _group_codes(rows, table, n_before, batch)
    if rows.layout.sensor is None:
        return Block(pool.keep(streams), pool.keep(times.numbers), 0, labels, groups, is_local=times.is_local)
    columns = _sensors(rows, texts_of(batch[rows.layout.sensor], table.source), table, n_before)
    taken = np.where(columns < 0, streams.dtype.type(-1), streams)
    kept = pool.keep(taken), pool.keep(times.numbers), pool.keep(columns)
    return Block(*kept, labels, groups, is_local=times.is_local)


def _sensors(rows: Rows, sensors: pl.Series, table: Table, n_before: int) -> Few:
    """Return the columns that the rows of a long table belong to; -1 if a row is left out."""
    _require(sensors, "sensor", table, n_before)
    if rows.layout.columns is None:
        _number(sensors, rows.columns)
    if len(rows.columns) > MOST_COLUMNS:
        raise DataError(f"{table.source} has more than {MOST_COLUMNS} sensors")
    return np.asarray(sensors.replace_strict(rows.columns, default=-1, return_dtype=pl.Int16).to_numpy())


def _add_labels(
    rows: Rows, table: Table, meaning: _Meaning, n_before: int, batch: pl.DataFrame, streams: Codes | Few
) -> None:
    """Note the label and the files of each stream; refuse two labels of one stream."""
    for stream in np.unique(streams):
        rows.files.setdefault(int(stream), set()).add((table.folder, table.name))
    if meaning.label is None or rows.layout.labels_change:
        return
    labels = texts_of(batch[meaning.label], table.source)
    found = pl.DataFrame({STREAM: streams, LABEL: labels}).unique(maintain_order=True)
    for stream, label in found.iter_rows():
        first = rows.labels.setdefault(stream, label)
        if first != label and not (rows.layout.labelled and "" in (first, label)):  # that is refused below
            name = list(rows.streams)[stream]
            raise LayoutError(
                f"stream {name} of {table.source} has two labels, {first!r} and {label!r}", {"labels": RUNS}
            )
    if rows.layout.labelled:
        _require(labels, "label", table, n_before)


def _label_codes(rows: Rows, table: Table, meaning: _Meaning, batch: pl.DataFrame) -> Codes | None:
    """Return the numbers of the rows' labels, if these may change within a stream; -1 if a row has none."""
    if not rows.layout.labels_change or meaning.label is None:
        return None
    labels = texts_of(batch[meaning.label], table.source)
    _number(labels.filter(labels != ""), rows.label_codes)
    return np.asarray(labels.replace_strict(rows.label_codes, default=-1, return_dtype=pl.Int32).to_numpy())


def _group_codes(rows: Rows, table: Table, n_before: int, batch: pl.DataFrame) -> Codes | None:
    """Return the numbers of the rows' groups, if they have some."""
    if rows.layout.group_column is None:
        return None
    groups = texts_of(batch[rows.layout.group_column], table.source)
    _require(groups, "group", table, n_before)
    _number(groups, rows.group_codes)
    return np.asarray(groups.replace_strict(rows.group_codes, return_dtype=pl.Int32).to_numpy())


def _require(texts: pl.Series, what: str, table: Table, n_before: int) -> None:
    missing = (texts == "").arg_true()
    if len(missing):
        way = ": leave out streams without one" if what == "label" else ""
        raise DataError(f"row {n_before + missing[0] + 1} of {table.source} has no {what}{way}")


def _number(texts: pl.Series, known: dict[str, int]) -> None:
    """Number new texts."""
    for text in texts.unique(maintain_order=True):
        known.setdefault(text, len(known))


def _to_seconds(blocks: Sequence[Block], layout: Layout, table: Table) -> None:
    """Convert the times of a table to seconds; numbers have one unit in it."""
    ends = [end for block in blocks for end in block.ends]
    unit = in_seconds(np.array(ends), layout) if ends else 1.0
    n_before = 0
    for block in blocks:
        block.times /= unit
        check_times(block.times, table.source, n_before)
        n_before += len(block.times)

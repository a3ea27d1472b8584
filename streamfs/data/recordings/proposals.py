"""Proposals of a layout for tables that are laid out in another way than was said."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from streamfs.data.recordings.cells import MixedStreamsError
from streamfs.data.recordings.column_guesses import SEEN, ColumnGuess
from streamfs.data.recordings.counted_rows import with_times
from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import LABEL, RUNS, STREAM
from streamfs.data.recordings.tables import Table
from streamfs.data.recordings.words import COMMA, proposed_values, words_of
from streamfs.errors import LayoutError

_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"


def guess(tables: Sequence[Table], layout: Layout, error: LayoutError) -> Iterator[dict[str, Any]]:
    """Yield fields of a layout that may be missing: those of the error, or columns by name and content."""
    tables = recorded(tables, layout)
    if error.proposal:
        if error.proposal == {"labels": RUNS} and (naming := _naming(tables[0], layout)):
            yield naming  # of one label each, perhaps
        yield error.proposal
        return
    if (labels := _label_file(tables, layout)) is not None:
        yield labels
    guessed = _columns(tables[0], replace(layout, **_groups_of_files(tables, layout)))
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


def _naming(table: Table, layout: Layout) -> dict[str, Any]:
    """Return the field that names streams, if it is guessed."""
    guessed = {} if layout.stream_columns or layout.long else _columns(table, layout)
    if guessed.get("long", ("",))[0]:
        return {"long": guessed["long"]}
    return {"stream": guessed["stream"]} if "stream" in guessed else {}


def recorded(tables: Sequence[Table], layout: Layout) -> list[Table]:
    """Return the tables of readings: all but that of the labels, with times if these are those of counted rows.

    Ticks are counted in seconds beside tables with times.
    """
    found = [table for table in tables if table.source != str(layout.labels)]
    counts = all(table.counts_ticks for table in found)
    return [with_times(table._replace(counts_ticks=counts), layout) for table in found]


def _label_file(tables: Sequence[Table], layout: Layout) -> dict[str, Any] | None:
    """Return the fields for the one table of several that has labels and no times, if there is one."""
    if layout.labels is not None or len(tables) == 1:
        return None
    found = []
    for table in tables:
        cells = next((batch.head(SEEN) for _, batch in table.batches()), None)
        if cells is not None:
            label = ColumnGuess(table, layout, cells).label_without_times()
            named = {} if label in (None, LABEL) else {"label": label}
            found += [] if label is None else [{"labels": table.source, **named}]
    return found[0] if len(found) == 1 else None


def _groups_of_files(tables: Sequence[Table], layout: Layout) -> dict[str, Any]:
    """Return the field for a column that is called as groups are, of one value in each file, and fewer in all."""
    cells = next((batch.head(SEEN) for _, batch in tables[0].batches()), None)
    if layout.groups is not None or cells is None:
        return {}
    column = ColumnGuess(tables[0], layout, cells).groups_of_files()
    others = {*layout.stream_columns, *layout.time_columns, layout.sensor, layout.value}
    if column is None or column in others or not all(column in table.columns for table in tables):
        return {}
    values = [{value for _, batch in table.batches() for value in batch[column].unique()} for table in tables]
    is_named = all(len(each) == 1 for each in values) and 1 < len(set().union(*values)) < len(values)
    return {"groups": column} if is_named else {}


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
    is_open = layout.decimal is None and any(table.decimal != "," for table in tables)
    if is_open and any(texts.str.contains(COMMA).any() for texts in commas):
        if any((texts.str.contains(COMMA) & ~texts.str.contains(_THOUSANDS)).any() for texts in commas):
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
    cells = next((batch.head(SEEN) for _, batch in table.batches()), None)
    if cells is None:
        return {}
    return ColumnGuess(table, layout, cells).fields()

"""Times of rows that have none, or only count: those of a stream follow each other, a period apart."""

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.layout_words import ROWS, STREAM, TIME
from streamfs.data.recordings.tables import Table

_NAME = "\0name"


def with_times(table: Table, layout: Layout) -> Table:
    """Return a table with times, if these are those of counted rows and no column is called so, or count ticks.

    To resample, a tick of a series is a second, of which `period` are put together.
    """
    if table.counts_ticks and layout.time_columns == (TIME,) and layout.resample is layout.time_format is None:
        return table._replace(parts=partial(_in_seconds, table, layout.period or 1.0))
    if layout.time != ROWS or ROWS in table.columns or layout.long is not None:
        return table
    named = layout.stream_columns or (STREAM,)
    counted = partial(
        _counted, table, [column for column in named if column in table.columns], layout.period or 1.0
    )
    return table._replace(columns=[*table.columns, ROWS], parts=counted)


def _in_seconds(table: Table, period: float) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table whose times are numbers of ticks."""
    for rows in table.parts():
        yield rows.with_columns(pl.col(TIME) * period)


def _counted(table: Table, streams: Sequence[str], period: float) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table with their times, each stream from 0 on."""
    parts = [pl.col(name).cast(pl.String).fill_null("") for name in streams]
    name = pl.concat_str([pl.lit(""), *parts], separator="\0").alias(_NAME)
    counts: dict[str, int] = {}
    for _, batch in table.batches():
        rows = batch.with_columns(name)
        before = pl.col(_NAME).replace_strict(counts, default=0, return_dtype=pl.Int64)
        times = (pl.int_range(pl.len()).over(_NAME) + before) * period
        yield rows.with_columns(times.alias(ROWS)).drop(_NAME)
        for key, n in rows[_NAME].value_counts().iter_rows():
            counts[key] = counts.get(key, 0) + n

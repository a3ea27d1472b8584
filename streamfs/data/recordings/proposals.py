"""Proposals of a layout for tables that are laid out in another way than was said."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import polars as pl

from streamfs.data.recordings.grid import MANY
from streamfs.data.recordings.layout import LABEL, STREAM, TIME, Layout
from streamfs.data.recordings.tables import Table, numbers_of
from streamfs.data.recordings.times import is_epoch, times_of
from streamfs.errors import DataError, LayoutError

TIMES = (
    TIME,
    "timestamp",
    "datetime",
    "date time",
    "ts",
    "date",
    "last changed",
    "received at",
    "epoch",
    "when",
    "t",
)
STREAMS = (
    STREAM,
    "device",
    "device id",
    "node",
    "node id",
    "mote",
    "entity id",
    "subject",
    "session",
    "id",
    "name",
)
SENSORS = ("sensor", "quantity", "metric", "channel", "field", "variable", "parameter", "property", "measurement")
VALUES = ("value", "v", "reading", "val", "state", "measurement")
LABELS = (LABEL, "class", "activity", "target", "category", "annotation", "condition")
"""What columns are often called; the first that is there is proposed."""

_SEEN = 1000  # rows


def guess(tables: Sequence[Table], layout: Layout, error: LayoutError) -> Iterator[dict[str, Any]]:
    """Yield fields of a layout that may be missing: those of the error, or columns by name and content."""
    if error.proposal:
        yield error.proposal
        return
    guessed = _columns(tables[0], layout)
    fields = {name: value for name, value in guessed.items() if getattr(layout, name) != value}
    without = {name: value for name, value in fields.items() if name != "stream"}
    if len(tables) > 1 and without:
        yield without  # each file is a stream
    if fields and (len(tables) == 1 or fields != without):
        yield fields


def _columns(table: Table, layout: Layout) -> dict[str, Any]:
    """Guess the columns of a table."""
    cells = next((batch.head(_SEEN) for _, batch in table.batches()), None)
    if cells is None:
        return {}
    free = set(table.columns)

    def take(names: Sequence[str], fits: Callable[[pl.Series], bool]) -> str | None:
        found = _named(cells, names, free, fits)
        free.discard(found or "")
        return found

    def is_time(column: pl.Series) -> bool:
        return _reads(lambda: times_of(column, layout, table.source, 0, table.decimal))

    def is_number(column: pl.Series) -> bool:
        return _reads(lambda: numbers_of(column, table.source, 0, table.decimal))

    def is_moment(column: pl.Series) -> bool:
        return is_time(column) and (not is_number(column) or is_epoch(times_of(column, layout, table.source)))

    time = take(TIMES, is_time) or next((c for c in table.columns if is_moment(cells[c])), None)
    if time is None:
        return {}
    free.discard(time)
    label = take(LABELS, lambda column: 2 * column.n_unique() <= len(column)) if layout.labels is None else None
    labelled = {} if label in (None, LABEL) else {"label": label}
    stream = take(STREAMS, lambda _: True)
    sensor, value = take(SENSORS, lambda column: not is_number(column)), take(VALUES, is_number)
    if sensor is not None and value is not None:
        return {"long": (stream or "", time, sensor, value), **labelled}
    readings = [c for c in table.columns if c in (free | {sensor, value}) and is_number(cells[c])]
    left_out = {c for c in free if c not in readings}
    if stream is None and cells[time].n_unique() < (1 - MANY) * len(cells):
        stream = next((c for c in readings if _divides(cells, c, time)), None)
        readings = [c for c in readings if c != stream]
    if stream is None and len(left_out) == 1:
        stream = left_out.pop()
    return {
        **({} if stream in (None, STREAM) else {"stream": stream}),
        **({} if time == TIME else {"time": time}),
        **labelled,
        **({"columns": tuple(readings)} if left_out and readings else {}),
    }


def _named(
    cells: pl.DataFrame, names: Sequence[str], free: Collection[str], fits: Callable[[pl.Series], bool]
) -> str | None:
    """Return the column with the first of some names that fits, whatever case, punctuation and further words."""
    plain = {_plain(column): column for column in cells.columns if column in free}
    exact = [plain[name] for name in names if name in plain]
    longer = [column for name in names for text, column in plain.items() if text.startswith(f"{name} ")]
    return next((column for column in exact + longer if fits(cells[column])), None)


def _divides(cells: pl.DataFrame, column: str, time: str) -> bool:
    """Return whether a column of few values tells all rows of one time apart."""
    few = 2 * cells[column].n_unique() <= len(cells)
    return few and not cells.select(column, time).is_duplicated().any()


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def _reads(read: Callable[[], object]) -> bool:
    try:
        read()
    except DataError:
        return False
    return True

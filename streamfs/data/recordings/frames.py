"""Frames in memory as tables: of polars, of pandas, and whatever speaks Arrow."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from streamfs.data.recordings import tables
from streamfs.data.recordings.tables import Table, check_names


def frame_table(frame: Any) -> Table:
    """Return a frame as a table; numbers are not copied.

    Raises
    ------
    TypeError
        If `frame` is neither a frame of polars or pandas nor an Arrow table.
    """
    rows = _as_polars(frame)
    check_names("column", rows.columns)
    return Table("the frame", "frame", "", rows.columns, partial(_parts, rows))


def _parts(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for start in range(0, len(rows), tables.BATCH):
        yield rows[start : start + tables.BATCH]


def _as_polars(frame: Any) -> pl.DataFrame:
    """Return a frame of another library as one of polars."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if hasattr(frame, "reset_index"):  # pandas
        flat = frame if type(frame.index).__name__ == "RangeIndex" else frame.reset_index()
        return pl.DataFrame([_column(str(name), flat[name]) for name in flat.columns])
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    raise TypeError(f"frame is {frame!r}, expected a frame of polars or pandas, or an Arrow table")


def _column(name: str, column: Any) -> pl.Series:
    """Return a column of pandas; what is not held as an array of numpy is copied."""
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biufmM":
        return pl.Series(name, column.to_numpy())
    if getattr(kind, "tz", None) is not None:
        utc = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return pl.Series(name, utc.to_numpy()).dt.replace_time_zone("UTC")
    cells = column.astype(object).to_numpy(dtype=object, na_value=None)
    return pl.Series(name, cells.tolist(), strict=False)

"""Frames in memory as tables: of polars, of pandas, and whatever speaks Arrow."""

import reprlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from streamfs.data.recordings import tables
from streamfs.data.recordings.tables import Table, all_named, check_names, nameless_of


def frame_table(frame: Any) -> Table:
    """Return a frame as a table; numbers are not copied.

    Raises
    ------
    TypeError
        If `frame` is neither a frame of polars or pandas nor an Arrow table.
    """
    given = _as_polars(frame)
    rows = given.rename(dict(zip(given.columns, all_named(given.columns), strict=True)))
    nameless = {*rows.columns} - {*given.columns} | nameless_of(rows.columns) | _levels(frame, rows.columns)
    return Table("the frame", "frame", "", rows.columns, partial(_parts, rows), nameless=nameless)


def _parts(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for start in range(0, len(rows), tables.BATCH):
        yield rows[start : start + tables.BATCH]


def _as_polars(frame: Any) -> pl.DataFrame:
    """Return a frame of another library as one of polars."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if _is_pandas(frame):
        flat = frame.reset_index(allow_duplicates=True) if _is_indexed(frame) else frame
        names = [str(name) for name in flat.columns]
        check_names("column", names)
        return pl.DataFrame([_column(name, flat.iloc[:, place]) for place, name in enumerate(names)])
    if hasattr(frame, "__arrow_c_stream__"):
        with suppress(pl.exceptions.SchemaError):  # it has no columns
            return pl.DataFrame(frame)
    expected = "expected a frame of polars or pandas, or an Arrow table"
    raise TypeError(f"frame is {reprlib.repr(frame)}, {expected}")


def _is_pandas(frame: Any) -> bool:
    return hasattr(frame, "reset_index") and hasattr(frame, "columns")


def _is_indexed(frame: Any) -> bool:
    """Return whether it is a frame of pandas with an index that is not a mere count."""
    return _is_pandas(frame) and type(frame.index).__name__ != "RangeIndex"


def _levels(frame: Any, columns: Sequence[str]) -> set[str]:
    """Return the columns that were an index of pandas without a name, or levels of it."""
    names = frame.index.names if _is_indexed(frame) else ()
    return {column for column, name in zip(columns, names, strict=False) if name is None}


def _column(name: str, column: Any) -> pl.Series:
    """Return a column of pandas; what is not held as an array of numpy is copied."""
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biufmM":
        return _series(name, column.to_numpy())
    if getattr(kind, "tz", None) is not None:
        utc = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _series(name, utc.to_numpy()).dt.replace_time_zone("UTC")
    cells = column.astype(object).to_numpy(dtype=object, na_value=None)
    return pl.Series(name, cells.tolist(), strict=False)


def _series(name: str, values: npt.NDArray[Any]) -> pl.Series:
    """Return an array as a column; of whole seconds, which polars does not know, as milliseconds."""
    kind = values.dtype.kind
    in_seconds = kind in "mM" and np.datetime_data(values.dtype)[0] == "s"
    return pl.Series(name, values.astype(f"{kind}8[ms]") if in_seconds else values)

"""The .ts files of the time series archives: a line for each stream, with its label at the end."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from streamfs.base.plain_files import opened_text
from streamfs.data.text_table import number_of
from streamfs.errors import DataError

COLUMNS = ("stream", "time", "label")
"""Columns of what is read, before one for each dimension: ``x0``, ``x1`` and so on."""

_LONGEST = 1 << 26  # characters of a line
_REFUSED = {
    "@timestamps": "times in series are not read; write them as CSV, a row for each",
    "@targetlabel": "its series have numbers to predict, and streams are told apart by classes",
}


def read_ts(path: Path, name: str) -> pl.DataFrame:
    """Read a file as rows of stream, tick, label and dimensions; streams have the `name` and their number.

    `?` is missing. Files with times or numbers to predict in place of classes are refused.
    """
    is_labelled, streams = True, list[pl.DataFrame]()
    for number, line in _lines(path):
        word, rest = [*line.lower().split(maxsplit=1), "", ""][:2]
        if word in _REFUSED and rest.startswith("true"):
            raise DataError(f"line {number} of {path} is {line!r}: {_REFUSED[word]}")
        if word == "@classlabel":
            is_labelled = rest.startswith("true")
        elif line and line[0] not in "#%@":
            numbered, where = f"{name}-{len(streams)}", f"line {number} of {path}"
            streams.append(_stream(numbered, line, where, is_labelled=is_labelled))
    none = pl.DataFrame(schema={**dict.fromkeys(COLUMNS, pl.String), "time": pl.Float64})
    return pl.concat(streams, how="diagonal") if streams else none


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line."""
    with opened_text(path) as file:
        for number, line in enumerate(iter(partial(file.readline, _LONGEST), ""), 1):
            if len(line) == _LONGEST:
                raise DataError(f"line {number} of {path} has {_LONGEST} characters or more, expected fewer")
            yield number, line.strip()


def _stream(name: str, line: str, where: str, is_labelled: bool) -> pl.DataFrame:
    """Return the rows of a stream."""
    *dimensions, last = line.split(":")
    if not is_labelled:
        dimensions, last = [*dimensions, last], ""
    cells = [[cell.strip() for cell in text.split(",")] for text in dimensions]
    read = [[None if cell == "?" else number_of(cell) for cell in dimension] for dimension in cells]
    for texts, numbers in zip(cells, read, strict=True):
        for text, number in zip(texts, numbers, strict=True):
            if number is None and text != "?":
                raise DataError(f"{where} has the cell {text[:40]!r}, expected a number or ?")
    if not read:
        raise DataError(f"{where} is {line[:40]!r}, expected numbers, a colon and a label")
    n_ticks = max(map(len, read))
    columns = {f"x{place}": values + [None] * (n_ticks - len(values)) for place, values in enumerate(read)}
    schema = dict.fromkeys(columns, pl.Float64)
    rows = pl.DataFrame(columns, schema=schema).with_row_index("time")
    label = pl.lit(last.strip() or None, pl.String).alias("label")
    return rows.select(pl.lit(name).alias("stream"), "time", label, *columns)

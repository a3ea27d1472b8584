"""Cells and dates of what other systems have written."""

import csv
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from reprlib import repr as shortened

from streamfs.base.plain_files import opened_text
from streamfs.errors import DataError


def rows_of(path: Path) -> Iterator[list[str]]:
    """Yield the cells of each row of a CSV file."""
    with opened_text(path, newline="") as file:
        rows = csv.reader(file)
        try:
            yield from rows
        except csv.Error as error:
            raise DataError(f"line {rows.line_num} of {path} cannot be read: {error}") from error


def date_of(text: object, path: Path) -> datetime:
    """Return a date of ISO 8601 that a file has.

    Examples
    --------
    >>> date_of("yesterday", Path("kept.csv"))
    Traceback (most recent call last):
        ...
    streamfs.errors.DataError: kept.csv has the time 'yesterday', expected a date and a time of day
    """
    try:
        return datetime.fromisoformat(str(text))
    except ValueError as error:
        raise DataError(f"{path} has the time {shortened(text)}, expected a date and a time of day") from error

"""Rows of a CSV file with a header, as a person or a spreadsheet may have written it."""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from streamfs.base.plain_files import read_text
from streamfs.errors import DataError


def read_rows(path: str | Path) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Read a UTF-8 file row by row: line number, and cells by column, None if the line ends before it."""
    try:
        reader = csv.DictReader(StringIO(read_text(path), newline=""), restkey="", strict=True)
        for row in reader:
            if isinstance(row.get(""), list):
                place = f"line {reader.line_num} of {path}"
                raise DataError(f"{place} has the further cells {row['']}, expected none")
            yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error

"""Tables of text: files with one instance per line."""

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from streamfs.base.plain_files import PACKED, not_utf8, read_file
from streamfs.errors import DataError

Categories = tuple[str, ...]
Cells = list[str | None]

_LARGEST = 1 << 30  # bytes


class TextTable(NamedTuple):
    """Text of a file of instances: `categories` by column, and line number and cells by row, None if missing."""

    names: tuple[str, ...]
    categories: tuple[Categories | None, ...]
    rows: list[tuple[int, Cells]]


def read_lines(path: Path) -> list[tuple[int, str]]:
    """Return number and text of each line that is neither blank nor a comment."""
    try:
        content = read_file(path, _LARGEST)
        if content.startswith(PACKED):
            content = gzip.decompress(content)
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: it is damaged: {error}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    lines = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise DataError(f"line {number} of {path} is {not_utf8(error)}") from error
        if "\0" in text:
            raise DataError(f"line {number} of {path} has a NUL character, expected text")
        if text.strip() and not text.lstrip().startswith("%"):
            lines.append((number, text))
    if not lines:
        raise DataError(f"{path} is empty")
    return lines


def read_text(lines: list[tuple[int, str]], path: Path, names: Sequence[str] | None) -> TextTable:
    """Read lines of cells into a table whose columns all count as numeric."""
    unquoted = re.sub(r'"[^"]*"', "", lines[0][1])
    separator = max(",\t;", key=unquoted.count)
    rows = [(number, _cells(number, text, separator, path)) for number, text in lines]
    if names is None:
        names = ["" if cell is None else cell for cell in rows.pop(0)[1]]
        if sum(number_of(name) is not None for name in names) > 1:
            some = ", ".join(names[:5])
            raise DataError(f"{path} has numbers for names, {some}: give names= if it has no header")
    elif rows[0][1] == list(names) and None in map(number_of, names):
        raise DataError(f"{path} has names in line {rows[0][0]}, {', '.join(names)}: leave out names=")
    return TextTable(tuple(names), (None,) * len(names), rows)


def _cells(number: int, text: str, separator: str, path: Path) -> Cells:
    try:
        (cells,) = csv.reader([text], delimiter=separator, skipinitialspace=True, strict=True)
    except csv.Error as error:
        reason = "a quote is not closed, or has more behind it" if '"' in text else error
        raise DataError(f"line {number} of {path} cannot be read: {reason}") from error
    return [None if cell in ("", "?") else cell for cell in map(str.strip, cells)]


def number_of(text: str | None) -> float | None:
    """Return the number that a text represents, or None."""
    try:
        return None if text is None or "_" in text else float(text)
    except ValueError:
        return None

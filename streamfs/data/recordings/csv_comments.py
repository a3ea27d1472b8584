"""Comments in CSV files: lines that begin with #, but for rows of streams that are called so."""

import re
from collections.abc import Sequence
from pathlib import Path

from streamfs.data.recordings.csv_separators import cells_of, separator_of
from streamfs.data.recordings.hidden_header import VALUE
from streamfs.errors import DataError

_BEFORE = re.compile(rb"(?:\s*#[^\n]*\n)*")
_LINE = re.compile(rb"(?m)^[ \t]*#[^\n]*(?:\n|\Z)")
_NUMBER = re.compile(r"\b\d")  # also in a date or a time, not in a name such as x1
_NAME = re.compile(r"#\w")


class Comments:
    """Comments between the rows of a CSV file, and behind the last.

    A line that begins with # is a row if it has as many cells as the header, and one behind the first has a number
    or a date, or anything if no space follows the #; but not if it names the columns again. Further lines with the
    same first cell are rows, too, such as one that was cut short. Rows behind such a line are refused.

    Parameters
    ----------
    header : bytes
        The line that names the columns.
    separator : str
        What is between cells.
    path : path
        The file, for messages.

    Attributes
    ----------
    are_in_cell : bool
        Whether lines from here on are those of a cell in quotes.
    """

    def __init__(self, header: bytes, separator: str, path: Path) -> None:
        self.are_in_cell = header.count(b'"') % 2 == 1
        self._separator, self._path = separator, path
        self._names = self._cells(header)
        n_named = max((place for place, name in enumerate(self._names, 1) if name), default=0)
        self._n_cells = range(n_named, len(self._names) + 1)
        self._streams, self._left_out = set[bytes](), set[bytes]()

    def without(self, lines: bytes) -> bytes:
        """Return whole lines without comments, which may have any quotes; they follow those given before."""
        kept, start = [], 0
        for line in _LINE.finditer(lines) if b"#" in lines else ():
            kept.append(self._kept(lines[start : line.start()]))
            kept.append(self._kept(line[0]) if self.are_in_cell or self._is_row(line) else b"")
            start = line.end()
        return b"".join([*kept, self._kept(lines[start:])])

    def _kept(self, text: bytes) -> bytes:
        self.are_in_cell ^= text.count(b'"') % 2 == 1
        return text

    def _is_row(self, line: re.Match[bytes]) -> bool:
        stream, *others = line[0].strip().split(self._separator.encode(), 1)
        if stream not in self._streams and self._is_whole(line[0]):
            self._require_all(stream)
            self._require_meant(line, stream.lstrip(b"# \t"))
            self._streams.add(stream)
        elif others:
            self._left_out.add(stream)
        return stream in self._streams

    def _require_meant(self, line: re.Match[bytes], bare: bytes) -> None:
        """Refuse the first row of a stream beside one of a stream that is called so without the #."""
        lines, begin = line.string, bare + self._separator.encode()
        if not bare:  # an empty name is none that comments out another
            return
        before = lines.rfind(b"\n", 0, max(line.start() - 1, 0)) + 1
        if lines.startswith(begin, before) or lines.startswith(begin, line.end()):
            row, name = line[0].decode(errors="replace").strip(), bare.decode(errors="replace")
            way = "take it out if it is a comment, or else write its name in quotes"
            raise DataError(f"{self._path} has the line {row[:40]!r} beside a row of {name!r}: {way}")

    def _require_all(self, stream: bytes) -> None:
        """Refuse a row if a line with the same first cell was left out before."""
        if stream in self._left_out:
            found = f"{self._path} has comments or rows that begin with {stream.decode(errors='replace')!r}"
            raise DataError(f"{found}, expected as many cells as in the header; a name in quotes begins a row")

    def _is_whole(self, line: bytes) -> bool:
        cells = self._cells(line)
        others = cells[1:]
        if len(cells) not in self._n_cells or not any(others) or others == self._names[1:]:
            return False
        return bool(_NAME.match(cells[0])) or any(map(_NUMBER.search, others))

    def _cells(self, line: bytes) -> list[str]:
        return _cells(line, self._separator)


def without_first_comments(block: bytes) -> bytes:
    """Return the beginning of a CSV file without comments before the header.

    A last one that names the columns of a row with a number or a date behind it only loses its #; such rows may
    begin with a # themselves.
    """
    comments = _BEFORE.match(block)
    if comments is None or not comments[0]:
        return block
    rest, lines = block[comments.end() :], comments[0].splitlines(keepends=True)
    row = rest.partition(b"\n")[0] or lines[-1]
    separator = separator_of(row)
    cells = _cells(row.lstrip(b"# \t"), separator)
    n_before = len(lines)
    while n_before > 1 and _is_like_row(lines[n_before - 1], separator, cells):
        n_before -= 1
    said = lines[n_before - 1].lstrip(b"# \t")
    is_header = len(_cells(said, separator)) == len(cells) and any(map(VALUE.fullmatch, cells))
    return b"".join([said, *lines[n_before:], rest]) if is_header else rest


def _is_like_row(line: bytes, separator: str, row: Sequence[str]) -> bool:
    """Return whether a line has as many cells as a row, and a number or a date first, or where that has one."""
    are_values, expected = (
        [VALUE.fullmatch(cell) is not None for cell in cells]
        for cells in (_cells(line.lstrip(b"# \t"), separator), row)
    )
    if len(are_values) != len(expected) or not any(are_values):
        return False
    return are_values[0] or all(found >= needed for found, needed in zip(are_values, expected, strict=True))


def _cells(line: bytes, separator: str) -> list[str]:
    return cells_of(line.decode(errors="replace"), separator)

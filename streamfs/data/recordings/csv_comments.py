"""Comments in CSV files: lines that begin with #, but for rows of streams that are called so."""

import re

from streamfs.data.recordings.csv_separators import cells_of, separator_of
from streamfs.data.recordings.hidden_header import VALUE

_BEFORE = re.compile(rb"(?:\s*#[^\n]*\n)*")
_LINE = re.compile(rb"(?m)^[ \t]*#[^\n]*(?:\n|\Z)")


class Comments:
    """Comments between the rows of a CSV file, and behind the last.

    A line that begins with # is a row if it has as many cells as the header, and one behind the first is a number
    or a date; or if its first cell is that of such a row before it, as of a row that was cut short.

    Parameters
    ----------
    header : bytes
        The line that names the columns.
    separator : str
        What is between cells.

    Attributes
    ----------
    are_in_cell : bool
        Whether lines from here on are those of a cell in quotes.
    """

    def __init__(self, header: bytes, separator: str) -> None:
        self.are_in_cell = False
        self._separator = separator
        self._n_cells = len(self._cells(header))
        self._streams = set[bytes]()

    def without(self, lines: bytes) -> bytes:
        """Return whole lines without comments, which may have any quotes; they follow those given before."""
        kept, start = [], 0
        for line in _LINE.finditer(lines) if b"#" in lines else ():
            kept.append(self._kept(lines[start : line.start()]))
            kept.append(self._kept(line[0]) if self.are_in_cell or self._is_row(line[0]) else b"")
            start = line.end()
        return b"".join([*kept, self._kept(lines[start:])])

    def _kept(self, text: bytes) -> bytes:
        self.are_in_cell ^= text.count(b'"') % 2 == 1
        return text

    def _is_row(self, line: bytes) -> bool:
        stream = line.partition(self._separator.encode())[0].strip()
        if stream not in self._streams and self._is_whole(line):
            self._streams.add(stream)
        return stream in self._streams

    def _is_whole(self, line: bytes) -> bool:
        cells = self._cells(line)
        return len(cells) == self._n_cells and any(map(VALUE.fullmatch, cells[1:]))

    def _cells(self, line: bytes) -> list[str]:
        return cells_of(line.decode(errors="replace"), self._separator)


def without_first_comments(block: bytes) -> bytes:
    """Return the beginning of a CSV file without comments before the header.

    A last one that names the columns of a row with a number or a date behind it only loses its #.
    """
    comments = _BEFORE.match(block)
    if comments is None or not comments[0]:
        return block
    *_, last = comments[0].splitlines(keepends=True)
    said, row = last.lstrip(b"# \t"), block[comments.end() :].partition(b"\n")[0]
    separator = separator_of(row)
    names, cells = (cells_of(line.decode(errors="replace"), separator) for line in (said, row))
    is_header = len(cells) == len(names) and any(map(VALUE.fullmatch, cells))
    return (said if is_header else b"") + block[comments.end() :]

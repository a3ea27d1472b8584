"""The header of a CSV file that has other lines before it, as exports of loggers do."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from streamfs.data.recordings.csv_separators import SEPARATORS, cells_of

_MOST = 0.9
"""Share of the lines behind a header that have as many cells."""

VALUE = re.compile(r"(?![A-Za-z])[-+\d.,:/ TZeE]*\d[-+\d.,:/ TZeE]*")
"""A number, a date or a time, but no name such as T1."""


def hidden_header(block: bytes) -> tuple[str, ...] | None:
    """Return the first names of a header with other lines before it: as many as no line before begins with.

    The first line of the file has fewer cells than a row; the header has as many, and so have most lines behind
    it. None of its names is a number or a date, and one of the cells behind it is. Of several such lines the last
    is the header, but for lines that repeat one.

    Examples
    --------
    >>> lines = ["Plot Title: attic", "No,Date,Temp", "1,2026-11-29 10:00,20.5", "2,2026-11-29 10:10,20.4", ""]
    >>> hidden_header(chr(10).join(lines).encode())
    ('No',)
    """
    if not _is_wider_at_end(block):
        return None
    lines = [line for line in block.decode(errors="replace").splitlines() if line.strip()][:-1]  # may be cut off
    if len(lines) < 3 or not lines[0].count(separator := _separator(lines)) < lines[-1].count(separator):
        return None
    rows = [cells_of(line, separator) for line in lines]
    n_cells = _usual(rows)
    n_rows = [*accumulate(len(row) == n_cells for row in reversed(rows))][::-1]  # from each line on
    headers = {
        tuple(row): place
        for place, row in reversed([*enumerate(rows[:-1])])
        if n_rows[place + 1] >= _MOST * (len(rows) - place - 1)
        and len({*row}) == len(row) == n_cells - _is_ended(row, rows[place + 1]) > 1
        and not any(map(VALUE.fullmatch, row))
        and any(map(VALUE.fullmatch, rows[place + 1]))
    }
    if not headers or not (place := max(headers.values())):
        return None
    header = rows[place]
    return next(
        tuple(header[:n])
        for n in range(1, len(header) + 1)
        if n == len(header) or all(row[:n] != header[:n] for row in rows[:place])
    )


def places(block: bytes, header: Sequence[str]) -> Iterator[int]:
    """Yield where the lines of a block begin whose first cells are those of a header."""
    place, names = 0, list(header)
    for line in block.splitlines(keepends=True):
        text = line.decode(errors="replace")
        if any(cells_of(text, separator)[: len(names)] == names for separator in (*SEPARATORS, " ")):
            yield place
        place += len(line)


def _is_wider_at_end(block: bytes) -> bool:
    """Return whether the last whole line may have more cells than the first: a look at these two is quick."""
    first, last = block.lstrip().partition(b"\n")[0], block[: block.rfind(b"\n")].rstrip().rpartition(b"\n")[2]
    return any(first.count(separator) < last.count(separator) for separator in map(str.encode, SEPARATORS))


def _separator(lines: Sequence[str]) -> str:
    """Return what separates most cells of the later lines."""
    later = lines[len(lines) // 2 :]
    return max(SEPARATORS, key=lambda separator: _usual([cells_of(line, separator) for line in later]))


def _usual(rows: Sequence[Sequence[str]]) -> int:
    """Return how many cells most of the later rows have."""
    return Counter(map(len, rows[len(rows) // 2 :])).most_common(1)[0][0]


def _is_ended(header: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether a row ends with a separator, and its header does not."""
    return len(header) == len(row) - 1 and row[-1] == ""

"""What separates the cells of a CSV file."""

import csv
import re

SEPARATORS = ";\t|,"
"""What may be between cells besides spaces; where two would do, the comma is that of decimals."""


def cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of a line, without quotes and spaces around."""
    text = re.sub(" +", " ", line) if separator == " " else line
    try:
        return [cell.strip() for cell in next(csv.reader([text.strip(" \r\n")], delimiter=separator), [])]
    except csv.Error:
        return []


def separator_of(block: bytes) -> str:
    r"""Return the separator of a CSV file: a semicolon, tab, bar or comma, or a space.

    It is the one by which header and row have the most cells, and as many; else the one that the header has, a
    comma first; or a space, if the row behind the header has no other.

    Examples
    --------
    >>> separator_of(b"time;light, lux;x\n0;1,5;2,5\n")
    ';'
    """
    header, first = (line.decode(errors="replace") for line in first_lines(block))
    found = max(SEPARATORS, key=lambda separator: _n_shared(header, first, separator))
    if _n_shared(header, first, found) > 1:
        return found
    is_spaced = " " in header and not any(separator in first for separator in SEPARATORS)
    named = (separator for separator in reversed(SEPARATORS) if separator in header)
    return next(named, " " if is_spaced else ",")


def _n_shared(header: str, first: str, separator: str) -> int:
    """Return the number of cells of a header, if the row behind it has as many, or one more that is empty."""
    n_cells, row = len(cells_of(header, separator)), cells_of(first, separator)
    return n_cells if len(row) - (row[-1:] == [""]) <= n_cells <= len(row) else 0


def first_lines(block: bytes) -> tuple[bytes, bytes]:
    """Return the header of a block, and the row behind it, without spaces around."""
    header, _, rows = block.partition(b"\n")
    return header.strip(b" \r"), rows.partition(b"\n")[0].strip(b" \r")

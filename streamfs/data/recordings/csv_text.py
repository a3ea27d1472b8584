"""The text of CSV files, in blocks of whole rows from the header on."""

import csv
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from streamfs.base.plain_files import opened_bytes
from streamfs.data.recordings.csv_comments import Comments, without_first_comments
from streamfs.data.recordings.csv_separators import cells_of, first_lines, separator_of
from streamfs.data.recordings.hidden_header import VALUE, hidden_header, places
from streamfs.data.recordings.layout_words import LABEL, STREAM, TIME
from streamfs.errors import DataError, LayoutError

BOM = b"\xef\xbb\xbf"
"""What some spreadsheets put before a file."""

BLOCK = 2**20
"""Bytes of a file that are looked at together, but for the rest of a row."""

ARRAYS = "call its class and ten values or more label, 0, 1 and so on, or give arrays to StreamSet"
"""What to do about files with a stream on each line."""

_NOR_NAMED = ", nor _TRAIN or _TEST at the end of its name, by which each line would be a class and its series;"
_MANY = 10  # numbers of a row that may be a series
_LONGEST_ROW = 2**26  # bytes
_MOST_SHOWN = 12  # cells of a row

_NAMED = re.compile(r"\s*[A-Za-z_]\w*\s*[:=]\s*[+-]?\d[\d.,]*\s*")  # as Temp:20.5
_NUMBER = re.compile(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")
_FRACTION = re.compile(r"[+-]?\d*\.\d+")
_ROW_NAME = re.compile(rb'"\d+"')
_BLANK = re.compile(rb"\A(?:[ \t]*\r?\n)+")
_SPACES, _AROUND = re.compile(rb" +"), re.compile(rb"(?m)^ | (?=\r?\n)")
_SPOKEN = re.compile(rb"\s*sep=(.)\s*\n")  # what some spreadsheets put before the header

_NO_TABLES = {
    rb"\xff\xfe|\xfe\xff": "in UTF-16; save it in UTF-8, or convert it as `iconv -f UTF-16 -t UTF-8` does",
    rb"PK\x03\x04|\xd0\xcf\x11\xe0": "a spreadsheet or another archive, whatever its name: save the sheet as CSV",
    rb"PAR1": "a Parquet file: let its name end in .parquet",
    rb"\{.*(\n\s*\{|\s*\Z)": "JSON: if there is an object on each line, let its name end in .jsonl",
    rb"<!DOCTYPE|<!doctype|<html": "a web page: was it fetched without a login?",
}
"""What files are that begin so; a line of JSON alone may be before a header."""


class Start(NamedTuple):
    """Where the table of a CSV file starts.

    Parameters
    ----------
    header : sequence of str, optional
        The first names of the header, if lines come before it.
    names : sequence of str, optional
        Names of all columns, if there is no header; or in place of that which `header` names.
    is_table : bool
        Whether columns are named, so that lines are rows of a table.
    """

    header: Sequence[str] | None = None
    names: Sequence[str] | None = None
    is_table: bool = False


AT_ONCE = Start()
"""With the header, behind nothing but comments."""


@dataclass(frozen=True)
class CsvText:
    """The text of a CSV file, which may be packed by gzip.

    Parameters
    ----------
    path : path
        The file.
    start : Start
        Where its table starts.
    """

    path: Path
    start: Start = AT_ONCE

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes from the header on in blocks of whole rows; a line break within quotes ends none."""
        blocks = self._lines()
        first = next(blocks)
        header, separator = first.partition(b"\n")[0], separator_of(first)
        comments, rest = Comments(header, separator, self.path), header
        for lines in chain([first[len(header) :]], blocks):
            rest += comments.without(lines)
            if not comments.are_in_cell and rest.endswith(b"\n"):
                yield rest
                rest = b""
            elif len(rest) > _LONGEST_ROW:
                raise self._too_long()
        if rest:
            _require_whole(rest, header, separator.encode(), self.path)
            yield rest

    def _lines(self) -> Iterator[bytes]:
        """Yield blocks of whole lines, from the header on; the last may lack its line break."""
        with opened_bytes(self.path) as file:
            rest = self._begun(file.read(BLOCK))
            cleaned = _cleaning(rest, separator_of(rest))
            while block := file.read(max(BLOCK, len(rest))):
                lines, line_break, rest = (rest + block).rpartition(b"\n")
                if line_break:
                    yield cleaned(lines + line_break)
                elif len(rest) > _LONGEST_ROW:
                    raise self._too_long()
            yield cleaned(rest)

    def _too_long(self) -> DataError:
        return DataError(f"{self.path} has a row of more than {_LONGEST_ROW} bytes: is a line break missing?")

    def _begun(self, block: bytes) -> bytes:
        """Return the beginning of the file from its header on, or with names in its place."""
        file, block = block, block.removeprefix(BOM)
        header, names, _ = self.start
        if header is None:
            _require_table(block, self.path)
        block = block[spoken.end() :] if (spoken := _SPOKEN.match(block)) else block
        if header is None:
            block = _BLANK.sub(b"", without_first_comments(block), 1)
        elif (place := next(places(block, header), None)) is None:
            raise DataError(f"no line of {self.path} begins with {', '.join(header)}, as its header should")
        else:
            block = block[place:]
        if names is not None:
            rows = block if header is None else block.partition(b"\n")[2]
            return _joined(names, separator_of(block)) + rows
        if header is None:
            block = _with_row_names(block)
        if header is None and (found := hidden_header(block)) is not None:
            number = 1 + file.count(b"\n") - block.count(b"\n", next(places(block, found)))
            raise LayoutError(f"{self.path} has its header in line {number}", {"header": found})
        return block

    def require_header(self, cells: Sequence[str], row: Sequence[str]) -> None:
        """Refuse a file whose first row is no header, by its cells and those of the row behind it.

        It has numbers alone or decimals, names beside numbers as the row behind it, an arrow behind its time,
        words without a separator, or nothing. One with our own names is a header.
        """
        if self.start.names is not None or not {STREAM, TIME, LABEL}.isdisjoint(cells):
            return
        path = self.path
        if cells and all(map(_NAMED.fullmatch, [*cells, *row])):
            raise DataError(
                f"{path} has names beside its numbers, {first_cells(cells)}: write the names once, in a first row"
            )
        if cells and " -> " in cells[0]:
            raise DataError(
                f"{path} has an arrow behind its times, {cells[0]!r}: put a comma there, as `sed 's/ -> /,/'` does"
            )
        has_numbers = all(map(VALUE.fullmatch, cells)) and any(map(_NUMBER.fullmatch, cells))
        if has_numbers or any(map(_FRACTION.fullmatch, cells)):
            needed = {"column_names": "the names of its columns, in their order"}
            nor = _NOR_NAMED if len(cells) > _MANY else ","
            raise LayoutError(f"{path} has no header{nor} its first row is {first_cells(cells)}", needed=needed)
        if len(cells) == 1 and len(cells[0].split()) > 1:
            raise DataError(
                f"{path} has one column, {cells[0]!r}, expected commas, semicolons, tabs or bars between several"
            )
        if not any(cells):
            raise DataError(f"{path} has no header, its first row is empty")

    def too_long_row(self) -> DataError | None:
        """Return the error of the first row that has more cells than the header, if any; polars does not."""
        try:
            blocks = self.blocks()
            first = next(blocks, b"")
            lines = (
                line for block in chain([first], blocks) for line in block.decode(errors="replace").splitlines()
            )
            rows = (row for row in csv.reader(lines, delimiter=separator_of(first)) if row)
            n_columns = len(next(rows, []))
            for number, row in enumerate(rows, start=1):
                if len(row) > n_columns:
                    found = (
                        f"{self.path} cannot be read: row {number} has {len(row)} cells, expected {n_columns} as"
                    )
                    if self.start.names:
                        return DataError(f"{found} in column_names, {first_cells(self.start.names)}")
                    way = "take it out, or lines before the header, or begin these with #"
                    return DataError(f"{found} in the header; {way}")
        except (csv.Error, OSError, EOFError, zlib.error):
            pass  # damaged in another way, which polars has reported
        return None


def first_cells(cells: Sequence[str]) -> str:
    """Return the first cells of a row, and that there are more."""
    return ", ".join([*cells[:_MOST_SHOWN], *(["..."] if len(cells) > _MOST_SHOWN else [])])


def require_text(block: bytes, path: Path) -> None:
    """Refuse what polars would take for text."""
    if b"\0" in block:
        raise DataError(f"{path} has NUL bytes: it is damaged, or in UTF-16; save it in UTF-8")


def _require_table(first: bytes, path: Path) -> None:
    """Refuse what is no CSV file, by how it begins."""
    what = next((words for begin, words in _NO_TABLES.items() if re.match(begin, first)), None)
    if what is not None:
        raise DataError(f"{path} is {what}")


def _with_row_names(block: bytes) -> bytes:
    """Return a block whose header has a cell for the numbers of rows, in quotes, which R leaves out."""
    separator = separator_of(block)
    lines = first_lines(block)
    header, row = (cells_of(line.decode(errors="replace"), separator) for line in lines)
    is_left_out = _ROW_NAME.match(lines[1]) and len(row) == len(header) + 1 and row[-1] != ""
    return b'""' + separator.encode() + block if is_left_out else block


def _joined(names: Sequence[str], separator: str) -> bytes:
    """Return names as a header."""
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def _cleaning(block: bytes, separator: str) -> Callable[[bytes], bytes]:
    """Return what rows need first: one space each between cells, no separators at their ends alone, or nothing."""
    if separator == " ":
        return lambda rows: _AROUND.sub(b"", _SPACES.sub(b" ", rows))
    (header, first), cut = first_lines(block), separator.encode()
    end = b";" if first.endswith(b";") else cut
    is_one_more = end != cut or first.count(cut) == header.count(cut) + 1
    is_ended = first.endswith(end) and not header.endswith(end) and is_one_more
    return partial(re.compile(re.escape(end) + rb" *(?=\r?\n|\Z)").sub, b"") if is_ended else bytes


def _require_whole(block: bytes, header: bytes, separator: bytes, path: Path) -> None:
    """Refuse the end of a CSV file that was cut off within a row."""
    require_text(block, path)
    last = block[block.rfind(b"\n") + 1 :].strip(b" \r")
    n_cells, expected = (line.count(separator) + 1 for line in (last, header))
    if last and b'"' not in header + last and n_cells < expected:
        raise DataError(
            f"{path} ends within a row: the last has {n_cells} cells, expected {expected}, and no line break; was "
            "the file cut off? Take that row out, or end it with a line break"
        )

"""Tables of recorded streams, batch by batch: CSV and Parquet files, and frames in memory."""

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.base.ahead import map_ahead
from streamfs.base.plain_files import plain
from streamfs.data.recordings.layout import LABEL, STREAM, TIME
from streamfs.data.recordings.ts_files import read_ts
from streamfs.data.recordings.words import GROUPED
from streamfs.errors import DataError, LayoutError

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".ts", ".parquet")
"""Of a recording's files; text may have any of the usual separators, whatever it ends in."""

TEXTS = (".txt", ".txt.gz", ".dat", ".dat.gz")
"""Of files that are read as CSV if they are named, and left alone in folders."""

EXPECTED = f"expected {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
_OTHERS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ": save the sheet as CSV"),
    **dict.fromkeys((".zip", ".tar", ".7z", ".tgz"), ": unpack it, and name the folder"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ": write it as CSV, as jq -r '[.time, .value] | @csv' does"),
    ".log": ": write times and readings of the log as CSV",
}

BATCH = 2**17
"""Rows of a Parquet file or frame that are looked at together."""

BOM = b"\xef\xbb\xbf"
"""What some spreadsheets put before a file."""

BLOCK = 2**20
_LONGEST_ROW = 2**26  # bytes
"""Bytes of a CSV file that are looked at together, but for the rest of a row."""

_MANY = 9  # numbers of a row that may be a stream

ARRAYS = "as archives of time series have: use its .ts file, or give arrays to StreamSet(values, labels, columns)"
"""What to do about files with a stream on each line."""

_NUMBER = re.compile(r"[+-]?\d+([.,]\d*)?")
_FRACTION = re.compile(r"[+-]?\d*\.\d+")
_SEPARATORS = ",;\t|"
_NAMELESS = re.compile(r"Unnamed: \d+|__index_level_\d+__")  # what pandas calls them where names are needed
_COMMENTS = re.compile(rb"(?:\s*#[^\n]*\n)*")
_SPACES, _AROUND = re.compile(rb" +"), re.compile(rb"(?m)^ | (?=\r?\n)")
_ENDED = re.compile(rb"; *(?=\r?\n|\Z)")
_SPOKEN = re.compile(rb"\s*sep=(.)\s*\n")  # what some spreadsheets put before the header


class Table(NamedTuple):
    """A table whose rows come in batches; the cells of a CSV file are text.

    Parameters
    ----------
    source : str
        The file, for messages.
    name : str
        Name of the stream, if no column names it.
    folder : str
        Name of the file's folder.
    columns : sequence of str
        Names of the columns, in their order.
    parts : callable
        Starts an iteration over the rows: frames with these columns, the same each time.
    decimal : str
        What separates the decimals of numbers that are text.
    nameless : set of str
        Columns without a name of their own, such as a count of the rows: readings only if a layout names them.
    """

    source: str
    name: str
    folder: str
    columns: Sequence[str]
    parts: Callable[[], Iterator[pl.DataFrame]]
    decimal: str = "."
    nameless: AbstractSet[str] = frozenset()

    def batches(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield batches of rows that are not blank, each with the number of rows before it."""
        n_before = 0
        try:
            for part in self.parts():
                has_blank = all(column.null_count() for column in part.get_columns())
                rows = part.filter(~pl.all_horizontal(pl.all().is_null())) if has_blank else part
                if len(rows):
                    yield n_before, rows
                n_before += len(rows)
        except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _unreadable(Path(self.source), error) from error


def open_table(path: Path, name: str = "") -> Table:
    """Open a file, and read its header.

    Parameters
    ----------
    path : path
        A file that ends in one of `ENDINGS` or `TEXTS`.
    name : str
        Name of the stream if no column names it; by default the file's own, without its ending.
    """
    ending = ending_of(path.name)
    if not ending:
        way = _OTHERS.get(path.suffix.lower(), "")
        raise DataError(f"{path} ends in {path.suffix!r}, {EXPECTED}{way}")
    decimal, nameless = ".", set[str]()
    try:
        if ending == ".parquet":
            columns = list(pl.read_parquet_schema(plain(path)))
            parts = partial(_parquet_parts, path)
        elif ending == ".ts":
            rows = read_ts(path)
            columns, parts = rows.columns, partial(iter, [rows])
        else:
            first = next(_blocks(path), b"")
            _require_text(first, path)
            if b"\r" in first and b"\n" not in first:
                raise DataError(f"{path} has carriage returns alone between rows: save it with line feeds")
            separator = _separator(first)
            cells = _header(first, separator)
            _require_header(cells, path)
            columns = all_named(cells)
            nameless = set(columns) - set(cells)
            decimal = "," if separator == ";" else "."
            parts = partial(_csv_parts, path, cells, separator)
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _unreadable(path, error) from error
    try:
        check_names("column", columns)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    nameless |= nameless_of(columns)
    return Table(str(path), name or bare_name(path.name), path.parent.name, columns, parts, decimal, nameless)


def read_table(path: Path) -> pl.DataFrame:
    """Read the columns with names of a CSV or Parquet file whole; the cells of a CSV file stay text."""
    table = open_table(path)
    named = [column for column in table.columns if column not in table.nameless]
    parts = [batch.select(named) for _, batch in table.batches()]
    return pl.concat(parts) if parts else pl.DataFrame(schema=dict.fromkeys(named, pl.String))


def ending_of(name: str) -> str:
    """Return the ending by which a file is a recording's, in small letters; empty if it has none."""
    return next((ending for ending in (*ENDINGS, *TEXTS) if name.lower().endswith(ending)), "")


def bare_name(name: str) -> str:
    """Return the name of a file, or of a stream that is named after it, without its ending."""
    return name[: len(name) - len(ending_of(name))]


def all_named(columns: Sequence[str]) -> list[str]:
    """Return names of columns, of which those without one are called by their places."""
    return [name or f"column {number}" for number, name in enumerate(columns, 1)]


def nameless_of(columns: Iterable[str]) -> set[str]:
    """Return the columns with a name that pandas has made up, such as that of an index in Parquet."""
    return {column for column in columns if _NAMELESS.fullmatch(column)}


def check_names(what: str, names: Sequence[str]) -> None:
    """Refuse empty and repeated names."""
    if "" in names:
        raise DataError(f"{what} {names.index('') + 1} has the name '', expected a text that is not empty")
    if len(set(names)) < len(names):
        repeated = next(name for index, name in enumerate(names) if name in names[:index])
        raise DataError(f"{what} {repeated!r} occurs twice")


def texts_of(cells: pl.Series, source: object) -> pl.Series:
    """Return a column as text; empty cells are empty strings."""
    try:
        return cells.cast(pl.String).fill_null("")
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{cells.name} of {source} is of type {cells.dtype}, expected text") from error


def numbers_of(cells: pl.Series, source: object, n_before: int = 0, decimal: str = ".") -> Array:
    """Return a column as floats; empty cells are NaN. `n_before` rows of the table are before these."""
    if cells.dtype == pl.String:
        plain = cells.cast(pl.Float64, strict=False)
        if plain.null_count() == 0:  # as almost always
            return plain.to_numpy()
        cells = cells.str.strip_chars().replace("", None)
    elif not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Null)):
        raise LayoutError(f"{cells.name} of {source} is of type {cells.dtype}, expected numbers")
    points = cells.str.replace(",", ".", literal=True) if decimal == "," and cells.dtype == pl.String else cells
    numbers = points.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & cells.is_not_null()).arg_true()
    if len(wrong):
        row, cell = n_before + wrong[0] + 1, cells[wrong[0]]
        advice = " without marks between groups of digits" if GROUPED.fullmatch(str(cell)) else ""
        raise LayoutError(f"{cells.name} of {source} is {cell!r} in row {row}, expected a number{advice}")
    return numbers.fill_null(np.nan).to_numpy()


def _parquet_parts(path: Path) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file."""
    with plain(path).open("rb") as file:
        rows = pl.scan_parquet(file)
        for start in range(0, rows.select(pl.len()).collect().item(), BATCH):
            yield rows.slice(start, BATCH).collect()


def _csv_parts(path: Path, columns: Sequence[str], separator: str) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV file, without its header."""
    blocks = _blocks(path)
    first = next(blocks, b"")
    header = first.partition(b"\n")[0].rstrip()

    def rows_of(block: bytes) -> pl.DataFrame:
        _require_text(block, path)
        n_header = int(block is first)
        rows = _parsed(block, columns, separator)[n_header:]
        return _without_headers(rows, columns) if block.count(header) > n_header else rows

    yield from map_ahead(rows_of, chain([first] if first else [], blocks))


def _without_headers(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return rows without those that name the columns again, as loggers do whenever they start."""
    named = zip(rows.columns, columns, strict=True)
    return rows.filter(~pl.all_horizontal(pl.col(name).eq_missing(cell or None) for name, cell in named))


def _parsed(block: bytes, columns: Sequence[str], separator: str) -> pl.DataFrame:
    """Return the rows of a block; a row put before them says how many cells there are."""
    first = separator.join("x" * len(columns)).encode()
    rows = pl.read_csv(first + b"\n" + block, has_header=False, infer_schema=False, separator=separator)[1:]
    rows.columns = all_named(columns)
    return rows


def _header(block: bytes, separator: str) -> list[str]:
    """Return the names in the first row of a CSV file."""
    table = pl.read_csv(block, has_header=False, infer_schema=False, separator=separator, n_rows=1)
    cells = ["" if cell is None else cell for cell in table.row(0)]
    is_spaced = len(cells) > 1 and all(cell.startswith(" ") for cell in cells[1:])
    return [cell.strip() for cell in cells] if is_spaced else cells


def _require_text(block: bytes, path: Path) -> None:
    """Refuse what polars would take for text."""
    if b"\0" in block:
        raise DataError(f"{path} has NUL bytes: it is damaged, or in UTF-16; save it in UTF-8")


def _require_header(cells: Sequence[str], path: Path) -> None:
    """Refuse a file whose first row has numbers, but none of our own names, or nothing."""
    if not {STREAM, TIME, LABEL}.isdisjoint(cells):
        return
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    if len(numbers) == len(cells) > _MANY:
        raise DataError(f"{path} has no header, but a stream on each line, {ARRAYS}")
    if cells and (len(numbers) == len(cells) or any(_FRACTION.fullmatch(cell) for cell in cells)):
        raise DataError(
            f"{path} has no header, its first row is {', '.join(cells)}: put names of its columns before"
        )
    if len(cells) == 1 and len(cells[0].split()) > 1:
        raise DataError(
            f"{path} has one column, {cells[0]!r}, expected commas, semicolons, tabs or bars between several"
        )
    if not any(cells):
        raise DataError(f"{path} has no header, its first row is empty")


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a CSV file in blocks of whole rows; a row ends at a line break outside of quotes."""
    with _opened(path) as file:
        rest = _without_preamble(file.read(BLOCK))
        separator = _separator(rest)
        cleaned = _cleaning(rest, separator)
        rest = cleaned(rest)
        header = rest.partition(b"\n")[0]
        while block := file.read(max(BLOCK, len(rest))):
            rest = cleaned(rest + block)
            end = len(rest)
            while (end := rest.rfind(b"\n", 0, end) + 1) and rest.count(b'"', 0, end) % 2:
                end -= 1
            if end:
                yield rest[:end]
                rest = rest[end:]
            elif len(rest) > _LONGEST_ROW:
                raise DataError(f"{path} has a row of more than {_LONGEST_ROW} bytes: is a line break missing?")
        if rest:
            end_of_file = _without_last_comments(rest, header, separator.encode())
            _require_whole(end_of_file, header, separator.encode(), path)
            yield end_of_file


def _first_lines(block: bytes) -> tuple[bytes, bytes]:
    """Return the header of a block, and the row behind it, without spaces around."""
    header, _, rows = block.partition(b"\n")
    return header.strip(b" \r"), rows.partition(b"\n")[0].strip(b" \r")


def _cleaning(block: bytes, separator: str) -> Callable[[bytes], bytes]:
    """Return what rows need first: one space each between cells, no semicolons at the ends, or nothing."""
    header, first = _first_lines(block)
    if separator == " ":
        return lambda rows: _AROUND.sub(b"", _SPACES.sub(b" ", rows))
    is_ended = separator != ";" and first.endswith(b";") and not header.endswith(b";")
    return partial(_ENDED.sub, b"") if is_ended else bytes


def _without_preamble(block: bytes) -> bytes:
    """Return the beginning of a CSV file from its header on: without what spreadsheets and loggers put before it.

    Lines that begin with # are comments, but for a last one that names the columns of a row of numbers behind it,
    which loses its #.
    """
    block = block.removeprefix(BOM)
    block = block[spoken.end() :] if (spoken := _SPOKEN.match(block)) else block
    comments = _COMMENTS.match(block)
    if comments is None or not comments[0]:
        return block
    *_, last = comments[0].splitlines(keepends=True)
    following = block[comments.end() :].partition(b"\n")[0]
    separator = _separator(following)
    said = last.lstrip(b"# \t")
    cells, names = (_split(line, separator) for line in (following, said))
    is_header = len(cells) == len(names) and any(_NUMBER.fullmatch(cell.strip()) for cell in cells)
    return (said if is_header else b"") + block[comments.end() :]


def _split(line: bytes, separator: str) -> list[str]:
    """Return the cells of a line without quotes."""
    return line.decode(errors="replace").strip().split(None if separator == " " else separator)


def _without_last_comments(block: bytes, header: bytes, separator: bytes) -> bytes:
    """Return the end of a CSV file without the lines behind its rows that begin with #, and are no rows."""
    while True:
        text = block.rstrip()
        start = text.rfind(b"\n") + 1
        is_row = b'"' in header or text.count(separator, start) == header.count(separator)
        if not start or is_row or not text[start:].lstrip().startswith(b"#") or text.count(b'"', 0, start) % 2:
            return block
        block = text[:start]


def _require_whole(block: bytes, header: bytes, separator: bytes, path: Path) -> None:
    """Refuse the end of a CSV file that was cut off within a row."""
    _require_text(block, path)
    last = block[block.rfind(b"\n") + 1 :].strip(b" \r")
    n_cells, expected = (line.count(separator) + 1 for line in (last, header))
    if last and b'"' not in header + last and n_cells < expected:
        raise DataError(
            f"{path} ends within a row: the last has {n_cells} cells, expected {expected}, and no line break; was "
            "the file cut off? Take that row out, or end it with a line break"
        )


def _opened(path: Path) -> IO[bytes]:
    """Open a file that may be packed by gzip."""
    with plain(path).open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if is_packed else path.open("rb")


def _separator(block: bytes) -> str:
    """Return the separator of a CSV file: the first of comma, semicolon, tab and bar in its header, or a space.

    A space separates cells if the row behind the header has no other separator.
    """
    header, first = (line.decode(errors="replace") for line in _first_lines(block))
    found = next((separator for separator in _SEPARATORS if separator in header), None)
    is_spaced = " " in header and not any(separator in first for separator in _SEPARATORS)
    return found or (" " if is_spaced else ",")


def _unreadable(path: Path, error: BaseException) -> DataError:
    """Return the error of a file that cannot be read, with the reason in words."""
    if isinstance(error, OSError | EOFError | zlib.error):
        return DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")
    if isinstance(error, pl.exceptions.PanicException):
        return DataError(f"{path} cannot be read: it is damaged")
    reason = _too_long_row(path) or str(error).partition("\n")[0]
    if "utf-8" in reason:
        reason = "it is not in UTF-8; save it so, or convert it as `iconv -f WINDOWS-1252 -t UTF-8` does"
    return DataError(f"{path} cannot be read: {reason}")


def _too_long_row(path: Path) -> str | None:
    """Describe the first row that has more cells than the header, if any; polars does not."""
    if ending_of(path.name) == ".parquet":
        return None
    try:
        blocks = _blocks(path)
        first = next(blocks, b"")
        lines = (line for block in chain([first], blocks) for line in block.decode(errors="replace").splitlines())
        rows = (row for row in csv.reader(lines, delimiter=_separator(first)) if row)
        n_columns = len(next(rows, []))
        for number, row in enumerate(rows, start=1):
            if len(row) > n_columns:
                return (
                    f"row {number} has {len(row)} cells, expected {n_columns} as in the header; take lines before "
                    "the header out, or begin them with #"
                )
    except (csv.Error, OSError, EOFError, zlib.error):
        pass  # damaged in another way, which polars has reported
    return None

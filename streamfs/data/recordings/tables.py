"""Tables of recorded streams, batch by batch: CSV and Parquet files, and frames in memory."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.base.ahead import map_ahead
from streamfs.base.plain_files import plain
from streamfs.data.recordings.csv_separators import cells_of, first_lines, separator_of
from streamfs.data.recordings.csv_text import AT_ONCE, CsvText, Start, require_text
from streamfs.data.recordings.json_files import read_objects
from streamfs.data.recordings.series_lines import (
    are_classes,
    begins_series,
    class_place,
    names_series,
    plain_class,
    read_arff_series,
    series_rows,
)
from streamfs.data.recordings.ts_files import read_ts
from streamfs.data.recordings.words import GROUPED, SPACED
from streamfs.data.text_table import number_of
from streamfs.errors import DataError, LayoutError

_JSON = (".json", ".json.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".ts", ".ts.gz", ".parquet")
"""Of a recording's files; text may have any of the usual separators, whatever it ends in."""

TEXTS = (".txt", ".txt.gz", ".dat", ".dat.gz", ".arff", ".arff.gz", *_JSON)
"""Of files that are read if they are named, and left alone in folders."""

EXPECTED = f"expected {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
_OTHERS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ": save the sheet as CSV"),
    **dict.fromkeys((".zip", ".tar", ".7z", ".tgz"), ": unpack it, and name the folder"),
    ".log": ": write times and readings of the log as CSV",
}

BATCH = 2**17
"""Rows of a Parquet file or frame that are looked at together."""

_NO_UTF_8 = "it is not in UTF-8; save it so, or convert it as `iconv -f WINDOWS-1252 -t UTF-8` does"
_NO_ROWS = (
    "it is neither a list of objects in JSON, nor has one on each line, or ends within one; for NaN, write null"
)
_OF_JSON = (
    "Syntax at",
    "JSON object",
    "json object",
    "valid JSON",
    "TapeError",
    "InvalidNumber",
    "ExpectedObject",
    "Eof at",
    "DepthLimit",
)
_REASONS = {
    **dict.fromkeys(("utf-8", "UTF-8", "Utf8"), _NO_UTF_8),
    "found more fields": "a row has more cells than the header",
    "out of bounds": "a quote in its first row is not closed",
    "CSV malformed": "a quote is not closed",
    **dict.fromkeys(_OF_JSON, _NO_ROWS),
    "empty CSV": "it is empty, or has comments alone",
}
"""Why a file cannot be read, by what polars says."""

_SERIES = {
    **dict.fromkeys((".ts", ".ts.gz"), read_ts),
    **dict.fromkeys((".arff", ".arff.gz"), read_arff_series),
}
_NAMING = (".parquet", *_JSON, *_SERIES)  # files that name their columns themselves
_RENAMED = {"header": "the first names of this header", "column_names": "others in their place, in their order"}
_QUOTED = re.compile(r"could not parse `(.*?)` as dtype", re.DOTALL)
_NAMELESS = re.compile(r"Unnamed: \d+|__index_level_\d+__")  # what pandas calls them where names are needed


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
    counts_ticks : bool
        Whether times are numbers of ticks, as series have them, whatever a period is.
    """

    source: str
    name: str
    folder: str
    columns: Sequence[str]
    parts: Callable[[], Iterator[pl.DataFrame]]
    decimal: str = "."
    nameless: AbstractSet[str] = frozenset()
    counts_ticks: bool = False

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


def open_table(path: Path, name: str = "", start: Start = AT_ONCE) -> Table:
    """Open a file, and read its header.

    Parameters
    ----------
    path : path
        A file that ends in one of `ENDINGS` or `TEXTS`.
    name : str
        Name of the stream if no column names it; by default the file's own, without its ending.
    start : Start
        Where the table of a CSV file starts.
    """
    ending = ending_of(path.name)
    if not ending:
        way = _OTHERS.get(path.suffix.lower(), "")
        raise DataError(f"{path} ends in {path.suffix!r}, {EXPECTED}{way}")
    if (start.header or start.names) and ending in _NAMING:
        raise DataError(f"{path} names its columns itself, unlike a CSV file: leave out header and column_names")
    try:
        table = _opened(path, name or bare_name(path.name), start, ending)
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _unreadable(path, error) from error
    try:
        check_names("column", table.columns)
    except DataError as error:
        needed = {} if ending in _NAMING else _RENAMED
        raise LayoutError(f"{path}: {error}", needed=needed) from error
    return table._replace(nameless=table.nameless | nameless_of(table.columns))


def _opened(path: Path, name: str, start: Start, ending: str) -> Table:
    """Open a file by its ending."""
    found = partial(Table, str(path), name, path.parent.name)
    if ending == ".parquet":
        return found(list(pl.read_parquet_schema(plain(path))), partial(_parquet_parts, path))
    if ending in _JSON:
        rows = read_objects(path)
        return found(rows.columns, partial(iter, [rows]))
    if ending in _SERIES:
        return _of_series(found, _SERIES[ending](path, name))
    text = CsvText(path, start)
    cells, row, separator = _csv_header(text)
    if start == AT_ONCE and (lines := _class_lines(path, cells, separator)) is not None:
        return _of_series(found, _series(lines, path, name))
    text.require_header(cells, row)
    columns = all_named(cells)
    parts = partial(_csv_parts, text, cells, separator)
    return found(columns, parts, "," if separator == ";" else ".", {*columns} - {*cells})


def _of_series(found: Callable[..., Table], rows: pl.DataFrame) -> Table:
    """Return the table of series that are read whole."""
    return found(rows.columns, partial(iter, [rows]), counts_ticks=True)


def open_series(path: Path) -> Table:
    """Open a text file of which each line is known to be a class and its series; the first may name them."""
    name = bare_name(path.name)
    try:
        cells, _, separator = _csv_header(CsvText(path))
        lines = pl.concat(_line_parts(path, cells, separator))
        is_named = number_of(cells[0]) is None and cells[0] not in lines["class"][1:]
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _unreadable(path, error) from error
    except DataError as error:
        raise DataError(str(error).partition(" as in the header")[0]) from error
    if lines.width == 1:
        raise DataError(f"{path} has no series, expected a class and values on each line")
    return _of_series(
        partial(Table, str(path), name, path.parent.name), _series(lines[int(is_named) :], path, name)
    )


def _class_lines(path: Path, cells: Sequence[str], separator: str) -> pl.DataFrame | None:
    """Return the lines of a text file, if each is a class and the values of its series."""
    own = cells[class_place(cells) :]
    is_headed = names_series(own)
    if not is_headed and not begins_series(cells, path.name):
        return None
    lines = pl.concat(_line_parts(path, cells, separator))
    lines = lines.filter(pl.col("class").ne_missing(own[0])) if is_headed else lines
    return lines if are_classes(lines["class"].drop_nulls()) else None


def _line_parts(path: Path, cells: Sequence[str], separator: str) -> Iterator[pl.DataFrame]:
    """Yield the lines of a text file as classes and values, also the first."""
    place = class_place(cells)
    values = [f"value {tick}" for tick in range(1, len(cells) - place)]
    names = [*["index"][:place], "class", *values]
    try:
        for part in _csv_parts(CsvText(path, Start(names=names)), names, separator):
            yield part[:, place:]
    except DataError as error:  # which names the columns, as nobody has
        raise DataError(str(error).partition(" as in column_names")[0]) from error


def _series(lines: pl.DataFrame, path: Path, name: str) -> pl.DataFrame:
    """Return the rows of series, each of which is a line."""
    labels = texts_of(lines["class"], path).map_elements(plain_class, pl.String)
    for series in (labels == "").arg_true().head(1):
        raise DataError(f"series {series + 1} of {path} has no class")
    values = np.stack([numbers_of(cells, path) for cells in lines.get_columns()[1:]], axis=1)
    return series_rows(name, labels, values)


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
    numbers = _floats(cells, decimal)
    if cells.dtype == pl.String and numbers.null_count() > cells.null_count():
        numbers = _floats(_plainly_written(cells), decimal)
    wrong = (numbers.is_null() & cells.is_not_null()).arg_true()
    if len(wrong):
        row, cell = n_before + wrong[0] + 1, cells[wrong[0]]
        raise LayoutError(f"{cells.name} of {source} is {cell!r} in row {row}, expected a number{_plainer(cell)}")
    return numbers.fill_null(np.nan).to_numpy()


def _floats(cells: pl.Series, decimal: str) -> pl.Series:
    """Return a column as floats; what is no number is null."""
    points = cells.str.replace(",", ".", literal=True) if decimal == "," and cells.dtype == pl.String else cells
    return points.cast(pl.Float64, strict=False)


def _plainly_written(cells: pl.Series) -> pl.Series:
    """Return texts, of which numbers have no spaces between groups of digits, and a hyphen for a minus sign."""
    signed = cells.str.replace("^\u2212", "-")
    is_spaced = signed.str.contains(f"^{SPACED.pattern}$").fill_null(value=False)
    return signed.str.replace_all(r"\s", "").zip_with(is_spaced, signed) if is_spaced.any() else signed


def _plainer(cell: object) -> str:
    """Return how a number had to be written; empty of what is none."""
    if not GROUPED.fullmatch(str(cell)):
        return ""
    return " with a decimal point" if SPACED.fullmatch(str(cell)) else " without marks between groups of digits"


def _parquet_parts(path: Path) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file."""
    with plain(path).open("rb") as file:
        rows = pl.scan_parquet(file)
        for start in range(0, rows.select(pl.len()).collect().item(), BATCH):
            yield rows.slice(start, BATCH).collect()


def _csv_header(text: CsvText) -> tuple[list[str], list[str], str]:
    """Return the names in the header of a CSV file, the cells behind them, and what separates them."""
    first = next(text.blocks(), b"")
    require_text(first, text.path)
    if b"\r" in first and b"\n" not in first:
        raise DataError(f"{text.path} has carriage returns alone between rows: save it with line feeds")
    separator = separator_of(first)
    try:
        cells = _first_row(first, separator)
    except pl.exceptions.PolarsError as error:
        raise text.too_long_row() or error from error
    return cells, cells_of(first_lines(first)[1].decode(errors="replace"), separator), separator


def _first_row(block: bytes, separator: str) -> list[str]:
    """Return the names in the first row of a CSV file."""
    table = pl.read_csv(block, has_header=False, infer_schema=False, separator=separator, n_rows=1)
    cells = ["" if cell is None else cell for cell in table.row(0)]
    is_spaced = len(cells) > 1 and all(cell.startswith(" ") for cell in cells[1:])
    return [cell.strip() for cell in cells] if is_spaced else cells


def _csv_parts(text: CsvText, columns: Sequence[str], separator: str) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV file, without its header."""
    blocks = text.blocks()
    first = next(blocks, b"")
    header = first.partition(b"\n")[0].rstrip()

    def rows_of(block: bytes) -> pl.DataFrame:
        require_text(block, text.path)
        n_header = int(block is first)
        rows = _parsed(block, columns, separator)[n_header:]
        return _without_headers(rows, columns) if block.count(header) > n_header else rows

    try:
        yield from map_ahead(rows_of, chain([first] if first else [], blocks))
    except pl.exceptions.PolarsError as error:
        raise text.too_long_row() or error from error


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


def _unreadable(path: Path, error: BaseException) -> DataError:
    """Return the error of a file that cannot be read, with the reason in words."""
    if isinstance(error, OSError | EOFError | zlib.error):
        return DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")
    if isinstance(error, pl.exceptions.PanicException):
        return DataError(f"{path} cannot be read: it is damaged")
    said = str(error)
    reason = next((words for part, words in _REASONS.items() if part in said), said.partition("\n")[0])
    if cell := _QUOTED.search(said):
        reason = f"the cell {cell[1][:40]!r} has a quote that is not closed, or more behind one"
    return DataError(f"{path} cannot be read: {reason}")

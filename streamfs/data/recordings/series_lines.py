"""Series of one column as archives of time series have them: a class and its values on each line, or ARFF."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.data.arff import read_arff
from streamfs.data.recordings.layout_words import STREAM, TIME
from streamfs.data.recordings.ts_files import COLUMNS
from streamfs.data.text_table import number_of, read_lines
from streamfs.errors import DataError

FEWEST = 10
"""Values of a series; what has fewer numbers on a line is a table."""

_LETTERS = re.compile(r"[A-Za-z_]+(?=\d+$)")  # before the number of a tick
_OF_ARCHIVE = re.compile(r".*_(train|test)\b.*", re.IGNORECASE)


def class_place(cells: Sequence[str]) -> int:
    """Return the place of the class in a first line: behind an index of pandas, which has no name.

    Examples
    --------
    >>> class_place(["", "label", "0", "1"]), class_place(["", "0", "1"])
    (1, 0)
    """
    return int(cells[:1] == [""] and number_of([*cells, ""][1]) is None)


def begins_series(cells: Sequence[str]) -> bool:
    """Return whether a first line may be a class and its values, or name them by numbers.

    Examples
    --------
    >>> begins_series(["label", *(f"t{tick}" for tick in range(10))])
    True
    """
    is_said = cells[0] in (STREAM, TIME)  # of a table
    return len(cells) > FEWEST and not is_said and None not in _numbers(cells)


def names_values(cells: Sequence[str], others: pl.Series) -> bool:
    """Return whether a first line is a header: no other begins with its word, and its numbers rise."""
    is_word = number_of(cells[0]) is None and not (others == cells[0]).any()
    numbers = [number for number in _numbers(cells) if number is not None]
    return is_word and all(number < following for number, following in pairwise(numbers))


def are_classes(firsts: pl.Series, file: str) -> bool:
    """Return whether the first cells of lines are classes: words or whole numbers, each on two lines or so.

    In a file of an archive, such as ``Coffee_TRAIN.txt``, there may be one line of a class.

    Examples
    --------
    >>> [are_classes(pl.Series(firsts), "mine.csv") for firsts in (["1", "2", "2", "1"], ["0", "1", "2"])]
    [True, False]
    """
    if any(not number.is_integer() for number in map(number_of, firsts) if number is not None):
        return False
    return 2 * firsts.n_unique() <= len(firsts) or _OF_ARCHIVE.fullmatch(file) is not None


def _numbers(cells: Sequence[str]) -> list[float | None]:
    """Return the numbers of all cells but the first, also behind letters."""
    return [number_of(_LETTERS.sub("", cell)) for cell in cells[1:]]


def series_rows(name: str, labels: pl.Series, values: Array) -> pl.DataFrame:
    """Return rows of stream, tick, label and ``x0``, without the missing values at the ends of series."""
    is_kept = np.logical_or.accumulate(~np.isnan(values[:, ::-1]), axis=1)[:, ::-1]
    is_kept[:, 0] = True  # also of a series without any
    series, ticks = np.nonzero(is_kept)
    names = pl.Series([f"{name}-{place}" for place in range(len(values))], dtype=pl.String)
    found = (names.gather(series), ticks, labels.gather(series), values[series, ticks])
    return pl.DataFrame(dict(zip((*COLUMNS, "x0"), found, strict=True)))


def plain_class(text: str) -> str:
    """Return a class, of which numbers are written in several ways.

    Examples
    --------
    >>> plain_class(" 1.0000000e+00"), plain_class("walk")
    ('1', 'walk')
    """
    number = number_of(text)
    return text.strip() if number is None else f"{number:g}"


def read_arff_series(path: Path, name: str) -> pl.DataFrame:
    """Read an ARFF file whose last attribute is the class, and whose others are the values of a series."""
    table = read_arff(read_lines(path), path)
    *kinds, classes = table.categories
    if len(kinds) < FEWEST or classes is None or any(kind is not None for kind in kinds):
        expected = f"expected {FEWEST} or more numeric values of a series, and its class"
        raise DataError(f"{path} has features on each line, {expected}; Instances.read reads it")
    for number, cells in table.rows:
        wrong = [cell for cell in cells[:-1] if cell is not None and number_of(cell) is None]
        if wrong or len(cells) != len(table.names) or cells[-1] is None:
            found = f"the cell {wrong[0][:40]!r}" if wrong else f"{len(cells)} cells, the last {cells[-1]}"
            raise DataError(f"line {number} of {path} has {found}, expected {len(kinds)} numbers and a class")
    values = np.array([cells[:-1] for _, cells in table.rows], dtype=np.float64).reshape(-1, len(kinds))
    return series_rows(name, pl.Series([cells[-1] for _, cells in table.rows], dtype=pl.String), values)

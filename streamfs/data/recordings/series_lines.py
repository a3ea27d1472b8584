"""Series of one column as archives of time series have them: a class and its values on each line, or ARFF."""

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.data.arff import read_arff
from streamfs.data.recordings.layout_words import LABEL
from streamfs.data.recordings.ts_files import COLUMNS
from streamfs.data.text_table import number_of, read_lines
from streamfs.errors import DataError

FEWEST = 10
"""Values of a series; what has fewer numbers on a line is a table."""

_CLASS = (LABEL, "class", "target", "activity")
_LETTERS = re.compile(r"^(?:t|tick|step|att)_?(?=\d+$)", re.IGNORECASE)  # before the number of a tick
_MOMENT = r"\d[-.:/]\d"  # in a date or a time of day
_OF_ARCHIVE = re.compile(r".*_(train|test)\b.*", re.IGNORECASE)


def class_place(cells: Sequence[str]) -> int:
    """Return the place of the class in a first line: behind an index of pandas, which has no name.

    Examples
    --------
    >>> class_place(["", "label", "0", "1"]), class_place(["label", "0", "1"])
    (1, 0)
    """
    return int(cells[:1] == [""])


def names_series(cells: Sequence[str]) -> bool:
    """Return whether a first line is a header: a name of classes, and numbers that rise by one from 0 or 1.

    Examples
    --------
    >>> names_series(["label", *(f"t{tick}" for tick in range(10))]), names_series(["label", "t0", "t1"])
    (True, False)
    """
    return len(cells) > FEWEST and cells[0].strip().lower() in _CLASS and _are_counted(cells[1:])


def begins_series(cells: Sequence[str], file: str) -> bool:
    """Return whether a first line may be a class and its values: in a file of an archive alone.

    Examples
    --------
    >>> [begins_series(["walk", *10 * ["0.5"]], file) for file in ("Walks_TRAIN.tsv", "walks.tsv")]
    [True, False]
    """
    values = [*takewhile(bool, cells[1:])]
    are_numbers = bool(values) and None not in map(number_of, values) and not any(cells[len(values) + 1 :])
    is_header = _are_counted(cells) or _are_counted(cells[1:])
    is_series = len(cells) > FEWEST and cells[0] != "" and are_numbers and not is_header
    return is_series and _OF_ARCHIVE.fullmatch(file) is not None


def _are_counted(names: Sequence[str]) -> bool:
    """Return whether names are numbers, also behind letters, that rise by one from 0 or 1."""
    numbers = [number_of(_LETTERS.sub("", name)) for name in names]
    return numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])


def are_classes(classes: pl.Series) -> bool:
    """Return whether the first cells of lines are classes: words or whole numbers, on two lines each or so.

    Examples
    --------
    >>> [are_classes(pl.Series(classes)) for classes in (["1", "2", "2", "1"], ["0", "1", "2"])]
    [True, False]
    """
    numbers = classes.str.strip_chars().cast(pl.Float64, strict=False)
    is_moment = numbers.is_null() & classes.str.contains(_MOMENT)
    are_whole = bool((numbers.drop_nulls() % 1 == 0).all())
    return are_whole and not is_moment.any() and 2 * classes.n_unique() <= len(classes)


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
    >>> plain_class(" 1.0000000e+00"), plain_class("1234567"), plain_class("walk")
    ('1', '1234567', 'walk')
    """
    number = number_of(text)
    if number is None:
        return text.strip()
    return str(int(number)) if number.is_integer() else repr(number)


def read_arff_series(path: Path, name: str) -> pl.DataFrame:
    """Read an ARFF file whose last attribute is the class, and whose others are the values of a series."""
    table = read_arff(read_lines(path), path)
    *kinds, classes = table.categories or (None,)
    if len(kinds) < FEWEST or classes is None or any(kind is not None for kind in kinds):
        expected = f"expected {FEWEST} or more numeric values of a series, and its class"
        raise DataError(f"{path} has features on each line, {expected}; Instances.read reads it")
    for number, cells in table.rows:
        wrong = [cell for cell in cells[:-1] if cell is not None and number_of(cell) is None]
        if wrong or len(cells) != len(table.names) or cells[-1] is None:
            found = f"the cell {wrong[0][:40]!r}" if wrong else f"{len(cells)} cells, the last {cells[-1]}"
            raise DataError(f"line {number} of {path} has {found}, expected {len(kinds)} numbers and a class")
    values = np.array([cells[:-1] for _, cells in table.rows], dtype=np.float64).reshape(-1, len(kinds))
    labels = pl.Series([plain_class(str(cells[-1])) for _, cells in table.rows], dtype=pl.String)
    return series_rows(name, labels, values)

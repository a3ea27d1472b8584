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

_CLASS = (LABEL, "class", "target", "activity", "")  # the last above an index of pandas
_LETTERS = re.compile(r"^(?:t|tick|step|att)_?(?=\d+$)", re.IGNORECASE)  # before the number of a tick
_MOMENT = r"\d[-.:/]\d"  # in a date or a time of day
_OF_ARCHIVE = re.compile(r".*_(train|test)\b.*", re.IGNORECASE)


def class_place(cells: Sequence[str]) -> int:
    """Return the place of the class in a first line: behind an index of pandas, which has no name.

    Examples
    --------
    >>> class_place(["", "label", "0", "1"]), class_place(["", "0", "1"])
    (1, 0)
    """
    return int(cells[:1] == [""] and number_of([*cells, ""][1]) is None)


def names_ticks(cells: Sequence[str]) -> bool:
    """Return whether a first line is a header: a name of classes, and numbers that rise by one from 0 or 1.

    Examples
    --------
    >>> names_ticks(["label", "t0", "t1", "t2"]), names_ticks(["label", "emg0", "emg1", "emg2"])
    (True, False)
    """
    return cells[0].strip().lower() in _CLASS and _are_counted(cells[1:])


def begins_series(cells: Sequence[str]) -> bool:
    """Return whether a first line may be a class and its values, or name them.

    Examples
    --------
    >>> begins_series(["label", *(f"t{tick}" for tick in range(10))])
    True
    """
    values = [*takewhile(bool, cells[1:])]
    are_values = cells[0] != "" and None not in map(number_of, values) and not any(cells[len(values) + 1 :])
    return len(cells) > FEWEST and (names_ticks(cells) or (bool(values) and are_values))


def are_classes(classes: pl.Series, file: str) -> bool:
    """Return whether the first cells of lines below a name of classes are that: words or whole numbers.

    There are twice as many lines as classes, but in a file of an archive, such as ``Coffee_TRAIN.txt``.

    Examples
    --------
    >>> [are_classes(pl.Series(classes), "mine.csv") for classes in (["1", "2", "2", "1"], ["0", "1", "2"])]
    [True, False]
    """
    numbers = _numbers(classes)
    is_moment = numbers.is_null() & classes.str.contains(_MOMENT)
    is_often = 2 * classes.n_unique() <= len(classes)
    return bool((numbers.drop_nulls() % 1 == 0).all() and not is_moment.any()) and (
        is_often or _is_of_archive(file)
    )


def begin_lines(cells: Sequence[str], classes: pl.Series, file: str) -> bool:
    """Return whether the first cells of lines without a header are surely classes, and not times or devices.

    Parameters
    ----------
    cells : sequence of str
        The first line.
    classes : series
        The first cells of all lines.
    file : str
        Name of the file.

    Examples
    --------
    >>> cells, mixed, sorted_ = ["1", "0.5"], pl.Series(["1", "2", "1", "2"]), pl.Series(["1", "1", "2", "2"])
    >>> begin_lines(cells, mixed, "mine.csv"), begin_lines(cells, sorted_, "mine.csv")
    (True, False)
    """
    numbers = _numbers(classes)
    if not are_classes(classes, file) or numbers.null_count() not in (0, len(classes)):
        return False
    if numbers.null_count() == 0:
        return not _counts(numbers) or (_is_of_archive(file) and _are_few(numbers))
    is_repeated = (classes == classes[0]).sum() > 1
    return is_repeated or not _are_counted(cells[1:])  # which would be a header


def _numbers(classes: pl.Series) -> pl.Series:
    """Return classes as numbers; those that are words are null."""
    return classes.str.strip_chars().cast(pl.Float64, strict=False)


def _are_counted(names: Sequence[str]) -> bool:
    """Return whether names are numbers, also behind letters, that rise by one from 0 or 1."""
    numbers = [number_of(_LETTERS.sub("", name)) for name in names]
    return numbers in ([*range(len(names))], [*range(1, len(names) + 1)])


def _is_of_archive(file: str) -> bool:
    return _OF_ARCHIVE.fullmatch(file) is not None


def _counts(numbers: pl.Series) -> bool:
    """Return whether numbers mostly rise, or mostly fall, as those of a clock or a counter do."""
    steps = numbers.diff().drop_nulls()
    fewer, more = sorted([int((steps < 0).sum()), int((steps > 0).sum())])
    return more > 2 * fewer + 1 or (more > 0 and fewer == 0)


def _are_few(numbers: pl.Series) -> bool:
    """Return whether numbers are those of classes that an archive has sorted: -1 and 1, or from 0 or 1 on."""
    first, last = (int(number) for number in (numbers.min(), numbers.max()))  # type: ignore[arg-type]
    return first in (-1, 0, 1) and last - first <= numbers.n_unique()


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

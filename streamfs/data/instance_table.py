"""From a table of text to instances: which columns are nominal, their codes, and the labels."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from feature_extractors.spelling import nearest
from streamfs.data.recordings.tables import check_names
from streamfs.data.stream_arrays import Labels
from streamfs.data.text_table import TextTable, number_of
from streamfs.errors import DataError


def with_categories(table: TextTable, nominal: set[int]) -> TextTable:
    """Give categories to the `nominal` columns, and to those with cells that are not numbers."""
    categories = list(table.categories)
    for index in range(len(categories)):
        known = {cells[index] for _, cells in table.rows if len(cells) > index} - {None}
        if index in nominal or None in map(number_of, known):
            categories[index] = tuple(sorted(text for text in known if text is not None))
    return table._replace(categories=tuple(categories))


def column_of(table: TextTable, name: str | None, path: Path) -> int:
    """Return the index of a column, of the last if no name is given."""
    if name is None:
        return len(table.names) - 1
    if name not in table.names:
        raise DataError(
            f"{path} has no column {name!r}, only {', '.join(table.names)}{nearest(name, table.names)}"
        )
    return table.names.index(name)


def parts_of(table: TextTable, label: str | None, path: Path) -> tuple[Array, Labels, tuple[str, ...], Any]:
    """Return the arguments of `Instances`."""
    try:
        check_names("column", table.names)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    n_columns, label_index = len(table.names), column_of(table, label, path)
    if n_columns == 1:
        expected = "expected commas, tabs or semicolons between several"
        raise DataError(f"{path} has one column, {table.names[0][:40]!r}, {expected}")
    if n_columns < 2 or not table.rows:
        raise DataError(
            f"{path} has {len(table.rows)} instances and {n_columns} columns, expected at least 1 and 2"
        )
    for number, cells in table.rows:
        if len(cells) != n_columns:
            raise DataError(f"line {number} of {path} has {len(cells)} cells, expected {n_columns}")
        if cells[label_index] is None:
            column = table.names[label_index]
            raise DataError(f"line {number} of {path} has an empty cell in column {column!r}, expected a label")
    if table.categories[label_index] is not None:
        _codes(table, label_index, path)  # refuses labels that are not declared
    features = [index for index in range(n_columns) if index != label_index]
    return (
        np.stack([_codes(table, index, path) for index in features], axis=1),
        np.array([cells[label_index] for _, cells in table.rows], dtype=np.str_),
        tuple(table.names[index] for index in features),
        tuple(table.categories[index] for index in features),
    )


def _codes(table: TextTable, index: int, path: Path) -> Array:
    """Return the numbers or the category codes of a column."""
    texts = [cells[index] for _, cells in table.rows]
    categories = table.categories[index]
    codes: dict[str | None, float]
    if categories is None:
        codes = {text: number for text in set(texts) if (number := number_of(text)) is not None}
    else:
        codes = {text: float(code) for code, text in enumerate(categories)}
    codes[None] = np.nan
    for (number_of_line, _), text in zip(table.rows, texts, strict=True):
        if math.isinf(codes.get(text, np.inf)):
            expected = "a finite number" if categories is None else f"one of {', '.join(categories) or 'none'}"
            raise DataError(
                f"{table.names[index]} is {text!r} on line {number_of_line} of {path}, expected {expected}"
            )
    return np.array([codes[text] for text in texts])

"""Labelled instances with numeric and nominal features."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base.plain_files import read_file
from streamfs.data.arff import read_arff
from streamfs.data.recordings.tables import check_names
from streamfs.data.text_table import Categories, TextTable, read_lines, read_text
from streamfs.errors import DataError

Labels = npt.NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Instances:
    """Labelled instances for selectors and classifiers.

    Parameters
    ----------
    values : ndarray of shape (n_instances, n_features)
        Numbers and category codes; NaN is missing.
    labels : ndarray of shape (n_instances,)
        The class of each instance, as text.
    names : tuple of str
        Names of the features.
    categories : tuple of tuple of str, or None
        Meaning of the codes 0, 1, ... of each nominal feature, whether they occur or not; None for a numeric
        feature.

    Raises
    ------
    DataError
        If shapes do not match, a name is empty or repeated, a value is infinite, or a code has no category.

    Examples
    --------
    >>> values, kinds = np.array([[21.5, 0.0], [np.nan, 1.0]]), (None, ("off", "on"))
    >>> instances = Instances(values, np.array(["good", "bad"]), ("temperature", "light"), kinds)
    >>> instances.nominal
    (1,)
    """

    values: Array
    labels: Labels
    names: tuple[str, ...]
    categories: tuple[Categories | None, ...]

    def __post_init__(self) -> None:
        n_features = len(self.names)
        if self.values.shape != (len(self.labels), n_features):
            shape = self.values.shape
            raise DataError(f"values have shape {shape}, expected {len(self.labels)} labels, {n_features} names")
        if len(self.categories) != n_features:
            raise DataError(f"categories are {len(self.categories)}, expected {n_features}, one per feature")
        check_names("feature", self.names)
        for name, kind, column in zip(self.names, self.categories, self.values.T, strict=True):
            known = column[~np.isnan(column)]
            wrong = known[~(np.isfinite(known) if kind is None else np.isin(known, range(len(kind))))]
            if len(wrong):
                expected = "a finite number" if kind is None else f"a code below {len(kind)}"
                raise DataError(f"feature {name!r} is {wrong[0]:g}, expected {expected}")

    @property
    def nominal(self) -> tuple[int, ...]:
        """Indices of the nominal features."""
        return tuple(index for index, kind in enumerate(self.categories) if kind is not None)

    @classmethod
    def read(
        cls,
        path: str | Path,
        label: str | None = None,
        nominal: Sequence[str] = (),
        names: Sequence[str] | None = None,
    ) -> Self:
        """Read an ARFF file (``.arff``, ``.arff.gz``), or any other as text with one instance per line.

        The cells of a line of text are separated by commas, tabs or semicolons, whichever is most frequent in the
        first line, and may be in double quotes. An empty cell and `?`, even in quotes, are missing. A line that
        starts with `%` is a comment. A feature is numeric if all its known cells are numbers (``nan`` is missing);
        else it is nominal, and its categories are the values that occur, sorted.

        In ARFF, names, types and categories are as declared, and a `?` in quotes is a category.

        Parameters
        ----------
        path : str or Path
            The file, in UTF-8, plain or compressed by gzip.
        label : str, optional
            Column of the labels, which are kept as written; by default the last column.
        nominal : sequence of str
            Features of a text file that are nominal although all their cells are numbers.
        names : sequence of str, optional
            Names of all columns of a text file without a header.

        Raises
        ------
        DataError
            If the file cannot be read; the message names the line and the error.
        ValueError
            If `nominal` or `names` is given for an ARFF file.
        """
        path = Path(path)
        lines = read_lines(path)
        if re.search(r"\.arff(\.gz)?$", path.name, re.IGNORECASE):
            if nominal or names:
                raise ValueError(f"nominal or names is given, expected neither: {path} declares its own")
            table = read_arff(lines, path)
        else:
            table = read_text(lines, path, names)
            label_index = _column(table, label, path)
            table = _infer(table, {label_index, *(_column(table, name, path) for name in nominal)})
        return cls(*_parts(table, label, path))


def read_described(path: str | Path) -> Instances:
    """Read a text file described by a JSON file next to it: its label, kinds and declared categories.

    The JSON has ``class_attribute`` and ``features``, each with a ``name``, a ``kind``, which is ``numeric`` or
    ``nominal``, and, if nominal, ``values``. It may have ``class_values_declared``; other keys are ignored.
    ``iris.csv`` is described by ``iris.json``. A DataError is raised if a file cannot be read or the two do not
    match.
    """
    path = Path(path)
    description = path.with_name(re.sub(r"\.[^.]+(\.gz)?$", ".json", path.name))
    label, classes, kinds = _described(description)
    table = read_text(read_lines(path), path, None)
    if set(table.names) != {*kinds, label}:
        odd = min(set(table.names) ^ {*kinds, label})
        raise DataError(f"column {odd!r} is in only one of {path} and {description}, expected it in both")
    table = table._replace(categories=tuple({**kinds, label: classes}[name] for name in table.names))
    return Instances(*_parts(table, label, path))


def _described(path: Path) -> tuple[str, Categories | None, dict[str, Categories | None]]:
    """Return the label, its declared values, and the categories of each feature."""
    try:
        description: Any = json.loads(read_file(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    try:
        declared = description.get("class_values_declared")
        classes = None if declared is None else tuple(map(str, declared))
        kinds = {str(feature["name"]): _kind(feature) for feature in description["features"]}
        return str(description["class_attribute"]), classes, kinds
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{path} does not describe a label and features: {error!r}") from error


def _kind(feature: Any) -> Categories | None:
    """Return the categories of a feature that a JSON file describes."""
    if feature["kind"] not in ("numeric", "nominal"):
        raise KeyError(feature["kind"])
    return tuple(map(str, feature["values"])) if feature["kind"] == "nominal" else None


def _infer(table: TextTable, nominal: set[int]) -> TextTable:
    """Give categories to the `nominal` columns, and to those with cells that are not numbers."""
    categories = list(table.categories)
    for index in range(len(categories)):
        known = {cells[index] for _, cells in table.rows if len(cells) > index} - {None}
        if index in nominal or None in map(_number, known):
            categories[index] = tuple(sorted(text for text in known if text is not None))
    return table._replace(categories=tuple(categories))


def _column(table: TextTable, name: str | None, path: Path) -> int:
    """Return the index of a column, of the last if no name is given."""
    if name is None:
        return len(table.names) - 1
    if name not in table.names:
        raise DataError(f"{path} has no column {name!r}, only {', '.join(table.names)}")
    return table.names.index(name)


def _parts(table: TextTable, label: str | None, path: Path) -> tuple[Array, Labels, tuple[str, ...], Any]:
    """Return the arguments of `Instances`."""
    try:
        check_names("column", table.names)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    n_columns, label_index = len(table.names), _column(table, label, path)
    if n_columns < 2 or not table.rows:
        raise DataError(
            f"{path} has {len(table.rows)} instances and {n_columns} columns, expected at least 1 and 2"
        )
    if sum(_number(name) is not None for name in table.names) > 1:
        raise DataError(
            f"{path} has numbers for names, {', '.join(table.names[:5])}: give names= if it has no header"
        )
    for number, cells in table.rows:
        if len(cells) != n_columns:
            raise DataError(f"line {number} of {path} has {len(cells)} cells, expected {n_columns}")
        if cells[label_index] is None:
            raise DataError(f"line {number} of {path} has no {table.names[label_index]}, expected a label")
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
        codes = {text: number for text in set(texts) if (number := _number(text)) is not None}
    else:
        codes = {text: float(code) for code, text in enumerate(categories)}
    codes[None] = np.nan
    for (number_of_line, _), text in zip(table.rows, texts, strict=True):
        if math.isinf(codes.get(text, np.inf)):
            expected = "a finite number" if categories is None else f"one of {', '.join(categories)}"
            raise DataError(
                f"{table.names[index]} is {text!r} on line {number_of_line} of {path}, expected {expected}"
            )
    return np.array([codes[text] for text in texts])


def _number(text: str | None) -> float | None:
    """Return the number that a text represents, or None."""
    try:
        return None if text is None or "_" in text else float(text)
    except ValueError:
        return None

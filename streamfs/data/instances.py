"""Labelled instances with numeric and nominal features."""

import re
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, Self

import numpy as np

from feature_extractors.arrays import Array
from streamfs.base.plain_files import path_of
from streamfs.data.arff import read_arff
from streamfs.data.given_values import given_values, one_each
from streamfs.data.instance_table import column_of, parts_of, with_categories
from streamfs.data.recordings.layout_checks import are_several, as_text, each_once
from streamfs.data.recordings.tables import check_names
from streamfs.data.stream_arrays import Labels, as_names, require_labels, require_shape
from streamfs.data.text_table import Categories, read_lines, read_text
from streamfs.errors import DataError


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
        is_ready = type(self.values) is np.ndarray and self.values.dtype == np.float64  # with no mask
        values, labels = self.values if is_ready else given_values(self.values)[0], one_each(self.labels, "labels")
        names = as_names("feature", self.names)
        require_shape("labels", labels.shape, (labels.size,))
        if values.shape != (len(labels), len(names)):
            raise DataError(f"values have shape {values.shape}, expected {len(labels)} labels, {len(names)} names")
        require_labels(labels, range(1, len(labels) + 1), "instance")
        check_names("feature", names)
        categories = _categories(self.categories, names)
        for name, kind, column in zip(names, categories, values.T, strict=True):
            known = column[~np.isnan(column)]
            wrong = known[~(np.isfinite(known) if kind is None else np.isin(known, range(len(kind))))]
            if len(wrong):
                expected = "a finite number" if kind is None else f"a code below {len(kind)}"
                raise DataError(f"feature {name!r} is {wrong[0]:g}, expected {expected}")
        settled = {"values": values, "labels": labels.astype(np.str_), "names": names, "categories": categories}
        for name, each in settled.items():
            object.__setattr__(self, name, each)

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
        file, label = path_of(path), as_text(label)
        if not isinstance(label, str | None):
            raise DataError(f"label is {shortened(label)}, expected the name of a column")
        nominal, columns = _given("nominal", nominal), _given("names", names)
        lines = read_lines(file)
        if re.search(r"\.arff(\.gz)?$", file.name, re.IGNORECASE):
            if nominal or columns:
                raise ValueError(f"nominal or names is given, expected neither: {file} declares its own")
            table = read_arff(lines, file)
        else:
            table = read_text(lines, file, columns or None)
            not_numbers = {column_of(table, name, file) for name in (label, *nominal)}
            table = with_categories(table, not_numbers)
        return cls(*parts_of(table, label, file))


def _given(what: str, names: Any) -> tuple[str, ...]:
    """Return names of columns that are given, if any are."""
    is_empty = names is None or (isinstance(names, Sized) and not len(names))
    return () if is_empty else each_once(what, names)


def _categories(given: Any, names: Sequence[str]) -> tuple[Categories | None, ...]:
    """Return the categories of each feature as texts; None for a numeric one."""
    kinds = tuple(given) if are_several(given) else ()
    if len(kinds) != len(names):
        raise DataError(f"categories are {shortened(given)}, expected {len(names)}, one per feature")
    return tuple(None if kind is None else _texts(name, kind) for name, kind in zip(names, kinds, strict=True))


def _texts(name: str, kind: Any) -> Categories:
    texts = tuple(map(str, kind)) if are_several(kind) else None
    if texts is None or len(set(texts)) < len(texts):
        given = f"categories of feature {name!r} are {shortened(kind)}"
        raise DataError(f"{given}, expected its values, each once, or None if it is numeric")
    return texts

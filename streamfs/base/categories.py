"""Categories of frames of pandas and polars, as codes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Categories = Mapping[int, list[Any]]
"""The categories of nominal columns, by the columns' places."""

NOMINAL = ("category", "Categorical", "Enum")
"""Types of columns that hold categories, as pandas and polars write them."""


def categories_of(X: Any) -> Categories:
    """Return the categories of a frame's nominal columns; none of anything else."""
    kinds = list(getattr(X, "dtypes", ())) if hasattr(X, "columns") else []
    nominal = [place for place, kind in enumerate(kinds) if str(kind).partition("(")[0] in NOMINAL]
    return {place: _declared(_column(X, place)) for place in nominal}


def coded(X: Any, categories: Categories) -> Any:
    """Return a frame whose categories are codes; what is missing, or no category that is known, is NaN."""
    if not categories or not hasattr(X, "columns"):
        return X
    frame = X.copy() if hasattr(X, "iloc") else X
    for place, known in categories.items():
        column, codes = _column(X, place), {category: float(code) for code, category in enumerate(known)}
        found = np.array([codes.get(value, np.nan) for value in column.to_list()])
        if hasattr(X, "iloc"):
            frame[X.columns[place]] = found
        else:
            frame = frame.with_columns(type(column)(column.name, found))
    return frame


def _column(X: Any, place: int) -> Any:
    return X.iloc[:, place] if hasattr(X, "iloc") else X[:, place]


def _declared(column: Any) -> list[Any]:
    """Return the categories of a column: as declared, or, where none are, those that occur, sorted."""
    if hasattr(column, "iloc"):
        return list(column.cat.categories)
    if hasattr(column.dtype, "categories") and str(column.dtype).startswith("Enum"):
        return list(column.dtype.categories)
    return sorted(column.drop_nulls().unique().to_list())

"""Whether the cells of a column name streams, or states that come and go."""

from collections.abc import Iterable

import polars as pl

from streamfs.data.recordings.words import MOST_WORDS, TWO_STATES, words_of

COUNTED = 10
"""Least rows that are counted."""


def divides(cells: pl.DataFrame, column: str, time: str) -> bool:
    """Return whether a column of few values tells all rows of one time apart."""
    few = 2 * cells[column].n_unique() <= len(cells)
    return few and not cells.select(column, time).is_duplicated().any()


def are_two_states(words: Iterable[object]) -> bool:
    """Return whether words are those of a switch or a contact."""
    values = {str(word).lower() for word in words if word is not None}
    return any(values <= set(pair) for pair in TWO_STATES)


def comes_back(column: pl.Series) -> bool:
    """Return whether a column has some words alone, which come and go, and are not those of a switch."""
    words, has_numbers, _ = words_of(column)
    is_some = 1 < len(words) <= MOST_WORDS and not has_numbers
    return is_some and not is_in_parts(column) and not are_two_states(words)


def is_in_parts(column: pl.Series) -> bool:
    """Return whether each of several values of a text column is in rows that follow each other: it names parts."""
    texts = column.drop_nulls()
    values = {str(text).lower() for text in texts.unique()}
    n_parts = int((texts != texts.shift(1)).fill_null(value=True).sum())
    is_few = len(texts) < COUNTED or 2 * len(values) <= len(texts)
    return is_few and n_parts == len(values) > 1 and not are_two_states(values)

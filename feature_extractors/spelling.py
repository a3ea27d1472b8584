"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar known word; empty if no word is similar.

    Examples
    --------
    >>> nearest("corelation", ["count", "correlation"])
    '; did you mean correlation?'
    >>> nearest("bogus", ["count", "correlation"])
    ''
    """
    close = get_close_matches(word, [*known], n=1)
    return f"; did you mean {close[0]}?" if close else ""

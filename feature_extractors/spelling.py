"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches

_FEWEST = 3
"""Letters with which a word may begin."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a question that suggests a known word: the shortest that begins like it, else a similar one.

    It is empty if there is none.

    Examples
    --------
    >>> nearest("corelation", ["count", "correlation"])
    '; did you mean correlation?'
    >>> nearest("temp", ["stream", "temperature"])
    '; did you mean temperature?'
    >>> nearest("time", ["timezone_offset", "Time"])
    '; did you mean Time?'
    >>> nearest("bogus", ["count", "correlation"])
    ''
    """
    words = [*known]
    longer = [each for each in words if len(word) >= _FEWEST and each.lower().startswith(word.lower())]
    close = [min(longer, key=len)] if longer else get_close_matches(word, words, n=1)
    return f"; did you mean {close[0]}?" if close else ""

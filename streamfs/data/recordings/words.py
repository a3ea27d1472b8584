"""Words in place of numbers: what states such as open and closed are read as."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

import polars as pl

from streamfs.errors import DataError

MISSING = "missing"
"""What a word stands for that is no reading."""

MOST_WORDS = 12
"""Words of a column with more are no states, but names or remarks."""

NO_READING = {
    "",
    "-",
    "--",
    "?",
    ".",
    "na",
    "n/a",
    "#n/a",
    "nil",
    "none",
    "null",
    "unknown",
    "unavailable",
    "missing",
}
"""Words that stand for no reading, in small letters."""

TWO_STATES = (
    ("off", "on"),
    ("closed", "open"),
    ("false", "true"),
    ("no", "yes"),
    ("clear", "detected"),
    ("dry", "wet"),
    ("unlocked", "locked"),
    ("not_home", "home"),
    ("away", "home"),
    ("idle", "active"),
    ("low", "high"),
)
"""Pairs of states that are read as 0 and 1, in small letters."""

_NUMBER = r"^[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?$|^(?i:[+-]?(?:nan|inf|infinity))$"


def check_values(values: Mapping[str, float | str]) -> None:
    """Refuse words that stand for neither a finite number nor `MISSING`."""
    for word, value in values.items():
        is_number = isinstance(value, int | float) and isfinite(value)
        if not word or not (is_number or value == MISSING):
            raise DataError(f"values says that {word!r} is {value!r}, expected a number or {MISSING!r}")


def coded(cells: pl.Series, values: Mapping[str, float | str] | None) -> pl.Series:
    """Return cells with the numbers that their words stand for; those that are missing are empty.

    Examples
    --------
    >>> coded(pl.Series(["open", "closed", "?"]), {"open": 1, "closed": 0, "?": "missing"}).to_list()
    ['1.0', '0.0', None]
    """
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    if values is None or cells.dtype != pl.String:
        return cells
    numbers = {word: None if value == MISSING else repr(float(value)) for word, value in values.items()}
    return cells.str.strip_chars().replace(numbers)


def words_of(cells: pl.Series) -> tuple[list[str], bool]:
    """Return the words of a column, at most one more than `MOST_WORDS`, and whether it has numbers, too."""
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String:
        return [], True
    texts = cells.drop_nulls().str.strip_chars().unique(maintain_order=True)
    texts = texts.filter(texts != "")
    is_number = texts.str.contains(_NUMBER)
    return texts.filter(~is_number).head(MOST_WORDS + 1).to_list(), bool(is_number.any())


def proposed_values(columns: Iterable[tuple[Sequence[str], bool]]) -> dict[str, float | str]:
    """Return numbers for the words of some columns; empty if one has more than `MOST_WORDS`.

    Of two common states the second is 1; others are numbered in the order of the alphabet. Words beside numbers,
    and those that say so, are missing.

    Examples
    --------
    >>> proposed_values([(["open", "closed"], False), (["unavailable"], True)])
    {'closed': 0, 'open': 1, 'unavailable': 'missing'}
    >>> proposed_values([(["rain", "dry", "sunny", "n/a"], False)])
    {'dry': 0, 'rain': 1, 'sunny': 2, 'n/a': 'missing'}
    """
    states: dict[str, float | str] = {}
    missing: dict[str, float | str] = {}
    for words, has_numbers in columns:
        if len(words) > MOST_WORDS:
            return {}
        left_out = [word for word in words if has_numbers or word.lower() in NO_READING]
        kept = sorted({*words} - {*left_out})
        numbered = _numbered(kept)
        if any(states.get(word, number) != number for word, number in numbered.items()):
            numbered = _numbered(sorted({*states, *kept}))
        states |= numbered
        missing |= dict.fromkeys(left_out, MISSING)
    return {word: states[word] for word in sorted(states, key=lambda each: (states[each], each))} | missing


def _numbered(words: Sequence[str]) -> dict[str, float | str]:
    """Number words: 0 and 1 for two common states, else by the alphabet."""
    for low, high in TWO_STATES:
        if words and {word.lower() for word in words} <= {low, high}:
            return {word: int(word.lower() == high) for word in words}
    return {word: number for number, word in enumerate(words)}

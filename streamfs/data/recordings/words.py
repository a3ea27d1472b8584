"""Words in place of numbers: what states such as open and closed are read as."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import polars as pl

from streamfs.errors import DataError

MISSING = "missing"
"""What a word stands for that is no reading."""

UNIT = "unit"
"""What a word stands for that follows numbers, such as %."""

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

_SIGN, _GROUPS = "[+\u2212-]?", r"\d{1,3}(?:\s\d{3})+"
_DIGITS = rf"{_SIGN}(?:(?:{_GROUPS}|\d+)(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
SPACED = re.compile(rf"{_SIGN}{_GROUPS}(?:[.,]\d*)?")
"""A number with spaces between groups of digits: 1 020,5."""

GROUPED = re.compile(rf"{_SIGN}\d{{1,3}}(?:[.,'\u2019\s]\d{{3}})+(?:[.,]\d*)?")
"""A number with marks between groups of digits: 1.020,5."""

COMMA = rf"^{_SIGN}(?:{_GROUPS}|\d*),\d+$"
"""A number with a decimal comma, or with thousands apart."""

_NUMBER = rf"^{_DIGITS}$|^(?i:[+-]?(?:nan|inf|infinity))$"
_MEASURED = rf"^{_DIGITS}\s*([^\s\d.,:;+-][^\s\d]{{0,7}}[²³\d]?)$"


def check_values(values: Mapping[str, float | str]) -> None:
    """Refuse words that stand for neither a finite number, `MISSING` nor `UNIT`."""
    if not isinstance(values, Mapping):
        raise DataError(f"values is {values!r}, expected words and their numbers, such as {{'open': 1}}")
    for word, value in values.items():
        is_number = isinstance(value, int | float) and isfinite(value)
        if not word or not (is_number or value in (MISSING, UNIT)):
            raise DataError(f"values says that {word!r} is {value!r}, expected a number, {MISSING!r} or {UNIT!r}")


def coded(cells: pl.Series, values: Mapping[str, float | str] | None) -> pl.Series:
    """Return cells with the numbers that their words stand for, without units; those that are missing are empty.

    Examples
    --------
    >>> coded(pl.Series(["open", "closed", "?"]), {"open": 1, "closed": 0, "?": "missing"}).to_list()
    ['1.0', '0.0', None]
    >>> coded(pl.Series(["21.5 °C", "22"]), {"°C": "unit"}).to_list()
    ['21.5', '22']
    """
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    if values is None or cells.dtype != pl.String:
        return cells
    texts, units = cells.str.strip_chars(), [word for word, value in values.items() if value == UNIT]
    if units:
        texts = _bare(texts).zip_with(texts.str.extract(_MEASURED).is_in(units).fill_null(value=False), texts)
    numbers = {
        word: None if value == MISSING else repr(float(value)) for word, value in values.items() if value != UNIT
    }
    return texts.replace(numbers)


def units_of(cells: pl.Series) -> list[str]:
    """Return the different words that follow the numbers of a column; "" of numbers alone is not among them.

    Examples
    --------
    >>> units_of(pl.Series(["21.5 °C", "40%", "7", "open"]))
    ['°C', '%']
    """
    if cells.dtype != pl.String:
        return []
    return cells.str.strip_chars().str.extract(_MEASURED).drop_nulls().unique(maintain_order=True).to_list()


def _bare(texts: pl.Series) -> pl.Series:
    return texts.str.extract(f"^({_DIGITS})")


class ColumnWords(NamedTuple):
    """The words of a column, at most one more than `MOST_WORDS`; whether it has numbers, too; and their units."""

    words: Sequence[str]
    has_numbers: bool
    units: Sequence[str] = ()


def words_of(cells: pl.Series) -> ColumnWords:
    """Return what the cells of a column are besides numbers."""
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String:
        return ColumnWords([], has_numbers=True)
    texts = cells.drop_nulls().str.strip_chars().unique(maintain_order=True)
    texts = texts.filter(texts != "")
    units = units_of(texts)
    if len(units) == 1:
        texts = coded(texts, {units[0]: UNIT})
    is_number = texts.str.contains(_NUMBER)
    found = texts.filter(~is_number).unique(maintain_order=True).head(MOST_WORDS + 1).to_list()
    return ColumnWords(found, bool(is_number.any()), units)


def proposed_values(columns: Iterable[ColumnWords]) -> dict[str, float | str]:
    """Return numbers for the words of some columns; empty if one has more than `MOST_WORDS`, or several units.

    It is empty, too, if a word is a number whose digits are in groups, such as ``1.020,5``, which is not missing.

    Of two common states the second is 1; others are numbered in the order of the alphabet. Words beside numbers,
    and those that say so, are missing; a word that follows the numbers of a column is a unit.

    Examples
    --------
    >>> proposed_values([ColumnWords(["open", "closed"], False), ColumnWords(["unavailable"], True)])
    {'closed': 0, 'open': 1, 'unavailable': 'missing'}
    >>> proposed_values([ColumnWords(["rain", "dry", "sunny", "n/a"], False)])
    {'dry': 0, 'rain': 1, 'sunny': 2, 'n/a': 'missing'}
    >>> proposed_values([ColumnWords([], True, ["°C"])])
    {'°C': 'unit'}
    >>> proposed_values([ColumnWords(["1.020,5"], True)])
    {}
    """
    states: dict[str, float | str] = {}
    others: dict[str, float | str] = {}
    for words, has_numbers, units in columns:
        if len(words) > MOST_WORDS or len(units) > 1 or any(GROUPED.fullmatch(word) for word in words):
            return {}
        left_out = [word for word in words if has_numbers or word.lower() in NO_READING]
        kept = sorted({*words} - {*left_out})
        numbered = _numbered(kept)
        if any(states.get(word, number) != number for word, number in numbered.items()):
            numbered = _numbered(sorted({*states, *kept}))
        states |= numbered
        others |= dict.fromkeys(left_out, MISSING) | dict.fromkeys(units, UNIT)
    return {word: states[word] for word in sorted(states, key=lambda each: (states[each], each))} | others


def _numbered(words: Sequence[str]) -> dict[str, float | str]:
    """Number words: 0 and 1 for two common states, else by the alphabet."""
    for low, high in TWO_STATES:
        if words and {word.lower() for word in words} <= {low, high}:
            return {word: int(word.lower() == high) for word in words}
    return {word: number for number, word in enumerate(words)}

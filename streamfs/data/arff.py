"""The ARFF format of many public data sets."""

import re
from collections.abc import Sequence
from pathlib import Path

from streamfs.data.text_table import Categories, Cells, TextTable
from streamfs.errors import DataError

_NUMERIC = ("numeric", "real", "integer")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_NAME = re.compile(rf"""({_QUOTED}|[^\s{{}}'"%,][^\s{{}}]*)\s*""")
_DECLARED = re.compile(rf"""\{{((?:{_QUOTED}|[^'"}}])*)\}}\s*(?:%.*)?$""")
_KIND = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*(?:%.*)?$")  # some declare a range, which binds nobody
_CELL = re.compile(rf"""({_QUOTED}|[^\s{{}}'"%,][^\s{{}},]*)(?:\s*,\s*(?!$)|\s+|$)""")


def read_arff(lines: Sequence[tuple[int, str]], path: Path) -> TextTable:
    """Read the lines of an ARFF file; refuse dates, strings, relations, sparse rows and weights.

    A `%` after white space starts a comment, an unquoted `?` is missing and a quoted one is a value, values are
    separated by commas or white space, and a backslash in quotes escapes the next character.
    """
    attributes: list[tuple[str, Categories | None]] = []
    for index, (number, text) in enumerate(lines):
        keyword = text.split()[0].lower()
        if keyword == "@data":
            names, categories = tuple(name for name, _ in attributes), tuple(kind for _, kind in attributes)
            return TextTable(names, categories, [_row(*line, path) for line in lines[index + 1 :]])
        if keyword == "@attribute":
            attributes.append(_attribute(number, text, path))
        elif keyword != "@relation":
            raise DataError(f"line {number} of {path} is {text!r}, expected @relation, @attribute or @data")
    raise DataError(f"{path} has no line @data")


def _attribute(number: int, text: str, path: Path) -> tuple[str, Categories | None]:
    """Return the name of an attribute and, if it is nominal, its declared values."""
    declaration = text[len("@attribute") :].strip()
    name = _NAME.match(declaration)
    if name is None:
        raise DataError(f"line {number} of {path} is {text!r}, expected @attribute, a name and a type")
    kind = declaration[name.end() :]
    if declared := _DECLARED.match(kind):
        return _bare(name[1]), _categories(declared[1], number, path)
    if (word := _KIND.match(kind)) and word[1].lower() in _NUMERIC:
        return _bare(name[1]), None
    raise DataError(
        f"attribute {_bare(name[1])!r} on line {number} of {path} is of type {kind!r}, "
        f"expected {', '.join(_NUMERIC)} or {{values}}; a name with spaces is in quotes"
    )


def _categories(text: str, number: int, path: Path) -> Categories:
    """Return the values between the braces of a nominal attribute."""
    values = tuple(map(_bare, _cells(text, number, path)))
    if len(set(values)) < len(values):
        repeated = next(value for index, value in enumerate(values) if value in values[:index])
        raise DataError(f"line {number} of {path} declares the value {repeated!r} twice")
    return values


def _row(number: int, text: str, path: Path) -> tuple[int, Cells]:
    """Return line number and cells of an instance."""
    if text.lstrip().startswith("{"):
        raise DataError(f"line {number} of {path} is the sparse row {text!r}, expected one value per attribute")
    return number, [None if cell == "?" else _bare(cell) for cell in _cells(text, number, path)]


def _cells(text: str, number: int, path: Path) -> list[str]:
    """Split a text into values, still in their quotes."""
    text, start, cells = text.strip(), 0, []
    while start < len(text) and text[start] != "%":
        cell = _CELL.match(text, start)
        if cell is None:
            raise DataError(f"line {number} of {path} cannot be read from {text[start:]!r} on")
        cells.append(cell[1])
        start = cell.end()
    return cells


def _bare(text: str) -> str:
    """Return a name or value without its quotes."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "'\"" else text

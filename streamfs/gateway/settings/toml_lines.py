"""Line numbers of the keys of a TOML file."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Place = tuple[str | int, ...]
"""A key with the keys of the enclosing tables; a number is a position in an array of tables."""

_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"""+'  # multi-line strings
    r"|'''.*?'''+"
    r'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''  # strings
    r"|\#[^\n]*"
    r"|[\[\]{}\n]"
    r"|[^\"'\#\[\]{}\n]+",
    re.DOTALL,
)


def lines_of(text: str) -> dict[Place, int]:
    """Return the line, from 1, of every key and table of a valid TOML document.

    A key of an inline table has the line of its table. No small library reports lines.
    """
    lines: dict[Place, int] = {}
    n_tables: dict[Place, int] = {}
    table: Place = ()
    for line, statement in _statements(text.replace("\r\n", "\n")):
        if statement.startswith("["):
            table = _table(statement, n_tables)
            for size in range(1, len(table) + 1):
                lines.setdefault(table[:size], line)
        else:
            for place in _places(tomllib.loads(statement)):
                lines.setdefault(table + place, line)
    return lines


def line_of(place: Place, lines: Mapping[Place, int]) -> int:
    """Return the line of a key, or that of the enclosing table; 1 for the file."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement, which may have several lines, with its first line."""
    line = first = 1
    depth = 0
    statement = ""
    for piece in _PIECE.findall(text + "\n"):
        if piece == "\n" and depth == 0:
            if statement.strip():
                yield first, statement.strip()
            first, statement = line + 1, ""
        else:
            statement += piece
        depth += (piece in ("[", "{")) - (piece in ("]", "}"))
        line += piece.count("\n")


def _table(header: str, n_tables: dict[Place, int]) -> Place:
    """Return the table of a header, and count it if it is in an array."""
    place: Place = ()
    inside: Any = tomllib.loads(header)
    while inside:
        if isinstance(inside, list):
            n_tables[place] = n_tables.get(place, 0) + 1
            return (*place, n_tables[place] - 1)
        ((key, inside),) = inside.items()
        place = (*place, key)
        if place in n_tables and not isinstance(inside, list):
            place = (*place, n_tables[place] - 1)
    return place


def _places(values: Any) -> Iterator[Place]:
    for key, value in values.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *place) for place in _places(value))

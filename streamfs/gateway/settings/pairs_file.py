"""CSV files of streams and their nodes by role."""

import csv
from io import StringIO
from os import PathLike

from streamfs.base.plain_files import read_text
from streamfs.errors import DataError
from streamfs.gateway.messages.topics import check_name


def read_pairs(path: str | PathLike[str]) -> dict[str, dict[str, str]]:
    """Read nodes by stream and role from a CSV file in UTF-8, whose header is ``stream`` and the roles.

    Raise a DataError that names line and value if the file cannot be read.
    """
    try:
        reader = csv.reader(StringIO(read_text(path), newline=""), strict=True)
        roles = _roles(path, next(reader, []))
        pairs: dict[str, dict[str, str]] = {}
        for cells in reader:
            if cells:
                _add_pair(pairs, roles, cells, f"{path}, line {reader.line_num}")
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from error
    return pairs


def _roles(path: str | PathLike[str], header: list[str]) -> list[str]:
    roles = header[1:]
    if header[:1] != ["stream"] or not roles or not all(roles) or len(set(roles)) < len(roles):
        raise DataError(f"{path}, line 1: header is {','.join(header)!r}, expected stream and then distinct roles")
    return roles


def _add_pair(pairs: dict[str, dict[str, str]], roles: list[str], cells: list[str], place: str) -> None:
    if len(cells) != len(roles) + 1:
        raise DataError(f"{place}: {','.join(cells)!r} has {len(cells)} values, expected {len(roles) + 1}")
    stream, *nodes = cells
    try:
        check_name("stream", stream)
        for node in nodes:
            check_name("node", node)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error
    if stream in pairs:
        raise DataError(f"{place}: stream {stream!r} is listed twice")
    pairs[stream] = dict(zip(roles, nodes, strict=True))

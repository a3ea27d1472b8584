"""The group of each stream, such as a person or a room, by the column or the file that names it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from streamfs.base.csv_rows import read_rows
from streamfs.data.recordings.grid import source_of
from streamfs.data.recordings.rows import Rows
from streamfs.data.recordings.unmet import UnmetError


def groups_of(rows: Rows) -> list[str] | None:
    """Return the group of each stream; None if nothing names them. Refuse a stream with two."""
    if rows.layout.groups is None:
        return None
    if rows.layout.groups_file is not None:
        return read_groups(rows.layout.groups_file, list(rows.streams))
    names, streams, found = list(rows.group_codes), list(rows.streams), dict[int, int]()
    for block in rows.all_blocks():
        if block.groups is not None:
            kept = block.streams >= 0
            pairs = np.unique(block.streams[kept] * np.int64(len(names)) + block.groups[kept])
            for stream, group in zip(*(each.tolist() for each in np.divmod(pairs, len(names))), strict=True):
                first = found.setdefault(stream, group)
                if first != group:
                    both = f"{names[first]!r} and {names[group]!r}"
                    raise UnmetError(f"stream {streams[stream]} of {source_of(rows)} has two groups, {both}")
    return [names[found[stream]] for stream in range(len(streams))]


def read_groups(path: Path, names: Sequence[str]) -> list[str]:
    """Read the group of each of the named streams, in their order, from a CSV file of stream and group."""
    groups: dict[str, str] = {}
    try:
        for number, row in read_rows(path):
            stream, group = row.get("stream"), row.get("group")
            if not stream or not group:
                raise UnmetError(f"line {number} of {path} is {row}, expected a stream and its group")
            if groups.setdefault(stream, group) != group:
                raise UnmetError(f"{path} has stream {stream!r} in the groups {groups[stream]!r} and {group!r}")
    except OSError as error:
        raise UnmetError(f"{path} cannot be read: {error.strerror}") from error
    for unknown in sorted(groups.keys() - set(names)):
        raise UnmetError(f"{path} has a group for stream {unknown!r}, which is not one of the streams")
    for name in names:
        if name not in groups:
            raise UnmetError(f"{path} has no group for stream {name!r}")
    return [groups[name] for name in names]

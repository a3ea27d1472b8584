"""The group of each stream, such as a person or a room, by the column that names it."""

import numpy as np

from streamfs.data.recordings.grid import source_of
from streamfs.data.recordings.rows import Rows
from streamfs.data.recordings.unmet import UnmetError


def groups_of(rows: Rows) -> list[str] | None:
    """Return the group of each stream; None if no column names them. Refuse a stream with two."""
    if rows.layout.groups is None:
        return None
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

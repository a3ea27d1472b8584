"""The group of each stream: the room or site, which future streams may not share."""

from pathlib import Path

from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.training.promises.csv_rows import read_rows


def read_groups(path: str | Path, streams: StreamSet) -> list[str]:
    """Read the group of each stream, in their order, from a CSV file with the columns stream and group."""
    groups: dict[str, str] = {}
    for number, row in read_rows(path):
        stream, group = row.get("stream"), row.get("group")
        if not stream or not group:
            raise DataError(f"line {number} of {path} is {row}, expected a stream and its group")
        if groups.setdefault(stream, group) != group:
            raise DataError(f"{path} has stream {stream!r} in the groups {groups[stream]!r} and {group!r}")
    names = list(map(str, streams.names))
    for unknown in sorted(groups.keys() - set(names)):
        raise DataError(f"{path} has a group for stream {unknown!r}, which is not one of the streams")
    for name in names:
        if name not in groups:
            raise DataError(f"{path} has no group for stream {name!r}")
    return [groups[name] for name in names]

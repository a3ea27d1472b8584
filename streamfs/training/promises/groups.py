"""Which group each stream is of: the room, the site, what streams have in common that others may not have."""

from pathlib import Path

from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.training.promises.csv_rows import read_rows


def read_groups(path: str | Path, streams: StreamSet) -> list[str]:
    """Read which group each stream is of.

    Parameters
    ----------
    path : path
        A CSV file with the columns stream and group, a row a stream.
    streams : StreamSet
        All of which must have a group.

    Returns
    -------
    list of str
        The group of each stream, in their order.

    Raises
    ------
    DataError
        If a stream has no group, or two, the file names one that there is not, or cannot be read.
    """
    groups: dict[str, str] = {}
    for number, row in read_rows(path):
        stream, group = row.get("stream"), row.get("group")
        if not stream or not group:
            raise DataError(f"line {number} of {path} is {row}, expected a stream and its group")
        if groups.setdefault(stream, group) != group:
            raise DataError(f"{path} has stream {stream!r} in the groups {groups[stream]!r} and {group!r}")
    names = list(map(str, streams.names))
    for unknown in sorted(groups.keys() - set(names)):
        raise DataError(f"{path} has a group for stream {unknown!r}, which there is not among the streams")
    for name in names:
        if name not in groups:
            raise DataError(f"{path} has no group for stream {name!r}")
    return [groups[name] for name in names]

"""The group of each stream: the room or site, which future streams may not share."""

from pathlib import Path
from typing import Any

import numpy.typing as npt

from feature_extractors.arrays import Integers
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.evaluation.by_group import counts_by_group
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


def worst_group(labels: Integers, truth: Integers, groups: npt.NDArray[Any]) -> dict[str, Any]:
    """Return the group whose labels are right least often, with counts; of equal ones the first.

    Parameters
    ----------
    labels, truth : ndarray of int, shape (n_streams,)
        The class that each stream was given, -1 for none, and its class.
    groups : ndarray of shape (n_streams,)
        The group of each stream. Groups without a label are left out, unless no group has one.

    Examples
    --------
    >>> import numpy as np
    >>> worst_group(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), np.array(["hall", "hall", "lab", "lab"]))
    {'group': 'lab', 'streams': 2, 'labelled': 2, 'right': 1}
    """
    found = counts_by_group(labels >= 0, labels == truth, groups)
    return min(found, key=lambda each: each["right"] / each["labelled"] if each["labelled"] else 1.0)

"""The rows of a recording in the order of streams and times, and new streams that are made of them."""

from collections.abc import Iterable

import numpy as np

from feature_extractors.arrays import Integers
from streamfs.data.recordings.rows import Rows
from streamfs.data.recordings.windows import Timeline


def timeline(rows: Rows) -> tuple[Timeline, Integers]:
    """Return the rows that have a stream and a time in order, and their places among all rows."""
    blocks = [*rows.all_blocks()]
    streams = np.concatenate([block.streams for block in blocks])
    times = np.concatenate([block.times for block in blocks])
    labels = np.concatenate(
        [
            np.full(len(block.streams), -1, dtype=np.int32) if block.labels is None else block.labels
            for block in blocks
        ]
    )
    order = np.lexsort((times, streams))
    order = order[(streams[order] >= 0) & ~np.isnan(times[order])]
    return Timeline(streams[order], times[order], labels[order]), order


def divide(rows: Rows, places: Integers, numbers: Integers, names: Iterable[str]) -> None:
    """Make streams of the rows at some places, by their numbers; those of -1, and all others, are left out."""
    blocks = [*rows.all_blocks()]
    ends = np.cumsum([len(block.streams) for block in blocks])
    parts = np.full(ends[-1], -1, dtype=np.int32)
    parts[places] = numbers
    for block, part in zip(blocks, np.split(parts, ends[:-1]), strict=True):
        block.streams = part
    rows.streams = {name: number for number, name in enumerate(names)}

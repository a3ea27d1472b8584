"""A gateway's spool, from which records are read in order, by segments; it may be growing."""

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.log_reader import read_log
from streamfs.gateway.storage.segment import find_end, first_position, segments


def start_of(folder: Path) -> int:
    """Return the position of the oldest record that is there, 0 if there is none."""
    return min(_firsts(folder), default=0)


def end_after(folder: Path, start: int, most: int | None = None) -> int:
    """Return the position up to which there are records from another on, in a number of segments at most."""
    later = [first for first in _firsts(folder) if first > start]
    if most is not None and len(later) >= most:
        return later[most - 1]
    paths = segments(folder)
    return max(start, find_end(paths[-1])[0]) if paths else start


def pieces(folder: Path, start: int, end: int) -> list[tuple[int, int]]:
    """Divide what lies between positions by segments: the first and the last position of each piece."""
    return [*pairwise([start, *(first for first in _firsts(folder) if start < first < end), end])]


def records_between(folder: Path, start: int, end: int) -> Iterator[Record]:
    """Read records; raise a LogError if some are missing or damaged."""
    return (record for _, record in islice(read_log(folder, start), end - start))


def _firsts(folder: Path) -> list[int]:
    return [first_position(path) for path in segments(folder)]

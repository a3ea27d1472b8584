"""The spool: a folder that keeps the segments that a log has released."""

import os
from bisect import bisect
from collections.abc import Iterator
from contextlib import closing
from errno import EXDEV
from itertools import groupby, islice
from math import inf
from pathlib import Path

from streamfs.errors import LogError, StorageError
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.folders import OWNERS_FILE, make_folder, sync_folder
from streamfs.gateway.storage.frames import pack_frame
from streamfs.gateway.storage.segment import (
    Segment,
    find_end,
    first_position,
    segment_name,
    segments,
    whole_frames,
)
from streamfs.gateway.storage.sparse_files import copy_sparse

_AT_ONCE = 1000  # records that are added together


class SpoolWriter:
    """Takes segments in order, perhaps of a log that goes on from a mirror, which is cut elsewhere.

    Each record is kept once: what is here is never touched again.
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.folder = folder
        self._is_passed = False  # whether all that comes is known to lie after all that is here

    def take(self, path: Path, end: int) -> None:
        """Take a segment that ends at a position: the file, or if some of its records are here, only the others.

        Raise a StorageError if what is here is damaged, or is of another log.
        """
        try:
            here = [] if self._is_passed else self._overlapping(path, end)
            if here:
                sync_folder(self.folder)  # who has moved it here may have died since
                self._add(path, self._lacking(path, end, here))
                path.unlink()
            else:
                _move(path, self.folder)
        except LogError as error:
            raise StorageError(str(error)) from error

    def _overlapping(self, path: Path, end: int) -> list[Path]:
        """Return the segments that are here with records of this one."""
        first, end = first_position(path), min(end, find_end(path)[0])
        paths = segments(self.folder)
        n = bisect(paths, first, key=first_position)
        before = [each for each in paths[:n][-1:] if find_end(each)[0] > first]
        self._is_passed = n == len(paths) and not before
        return before + [each for each in paths[n:] if first_position(each) < end]

    def _lacking(self, path: Path, end: int, here: list[Path]) -> list[int]:
        """Return the positions after those of a segment's records that are not here."""
        lacking, known = [], _records(here, end)
        at, other = 0.0, None
        for position, record in _records([path], end):
            while at < position:
                at, other = next(known, (inf, None))
            if at > position:
                lacking.append(position)
            elif record != other:
                raise StorageError(
                    f"{self.folder} has other records than {path.parent}: move them away, or name another spool"
                )
        return lacking

    def _add(self, path: Path, lacking: list[int]) -> None:
        """Add records of a segment, each run of them as a segment."""
        for _, run in groupby(enumerate(lacking), lambda numbered: numbered[1] - numbered[0]):
            positions = [position for _, position in run]
            first = positions[0] - 1
            records = (record for position, record in _records([path], positions[-1]) if position > first)
            with closing(Segment(self.folder / segment_name(first))) as segment:
                for at in range(first, positions[-1], _AT_ONCE):
                    segment.write([pack_frame(at, [*islice(records, _AT_ONCE)])])
                segment.sync()
            sync_folder(self.folder)


def _records(paths: list[Path], end: int) -> Iterator[tuple[int, Record]]:
    """Yield the records of segments up to a position, each with the one after it; the next segment ends one."""
    ends = [*map(first_position, paths[1:]), end]
    for path, until in zip(paths, ends, strict=True):
        for frame in whole_frames(path):
            numbered = enumerate(frame.records(), frame.first + 1)
            yield from ((position, record) for position, record in numbered if position <= until)


def _move(path: Path, folder: Path) -> None:
    """Move a file to a folder, perhaps on another file system."""
    try:
        path.replace(folder / path.name)
    except OSError as error:
        if error.errno != EXDEV:
            raise
        partial = folder / f"{path.name}.partial"
        partial.touch(OWNERS_FILE)
        with path.open("rb") as source, partial.open("wb") as copy:
            copy_sparse(source, copy)
            copy.flush()
            os.fsync(copy.fileno())
        partial.replace(folder / path.name)
        sync_folder(folder)
        path.unlink()

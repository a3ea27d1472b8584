"""The spool: a folder that keeps the segments that a log has released."""

import os
from bisect import bisect
from collections.abc import Iterable
from contextlib import closing
from errno import EXDEV
from itertools import groupby
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
                self._add(_records([path], end), _records(here, end), path.parent)
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

    def _add(self, records: dict[int, Record], here: dict[int, Record], log: Path) -> None:
        """Add those of some records that are not here, each run of them as a segment."""
        if any(here.get(position, record) != record for position, record in records.items()):
            raise StorageError(
                f"{self.folder} has other records than {log}: move them away, or name another spool"
            )
        lacking = enumerate(position for position in records if position not in here)
        for _, run in groupby(lacking, lambda numbered: numbered[1] - numbered[0]):
            positions = [position for _, position in run]
            first = positions[0] - 1
            with closing(Segment(self.folder / segment_name(first))) as segment:
                segment.write([pack_frame(first, [records[position] for position in positions])])
                segment.sync()
            sync_folder(self.folder)


def _records(paths: Iterable[Path], end: int) -> dict[int, Record]:
    """Return the records of segments up to a position, by the position after each; of two, that of the later."""
    return {
        position: record
        for path in paths
        for frame in whole_frames(path)
        for position, record in enumerate(frame.records(), frame.first + 1)
        if position <= end
    }


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

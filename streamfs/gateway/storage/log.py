"""The log: every record that has changed the gateway's state, in order, on disk."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from math import inf
from os import PathLike, getpid
from pathlib import Path
from typing import IO

from streamfs.errors import LogError, StateError
from streamfs.gateway.core.options import Commits
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.durable_position import DurablePosition, check_end, known_durable
from streamfs.gateway.storage.folders import OWNERS_FOLDER, check_in_place, make_folder, open_owned, sync_folder
from streamfs.gateway.storage.frames import pack_frame
from streamfs.gateway.storage.log_reader import read_log, read_segment
from streamfs.gateway.storage.segment import (
    HEADER_BYTES,
    Segment,
    find_end,
    first_position,
    segment_name,
    segments,
    storing,
)
from streamfs.gateway.storage.spool_writer import SpoolWriter

__all__ = ["Log", "read_log", "read_segment"]

_LOCK = "lock"


class Log:
    """An append-only log of records: segments in a folder, which one process at a time may open.

    A record's position is its number from 0. Until the log is begun nothing of it is changed: then a torn frame at
    the end of the last segment is cut off. A new segment is begun at `segment_bytes`, or once the arrivals in one
    would span more than `segment_seconds`; released ones are moved to the spool, or without one removed.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        segment_bytes: int = Commits.segment_bytes,
        segment_seconds: float | None = None,
        spool: str | PathLike[str] | None = None,
    ) -> None:
        if segment_bytes < 1:
            raise ValueError(f"segment_bytes is {segment_bytes}, expected at least 1")
        self.end = self.torn_bytes = 0
        self._folder, self._lock_path, self._segment_bytes = Path(folder), Path(folder, _LOCK), segment_bytes
        self._segment_seconds = inf if segment_seconds is None else segment_seconds
        self._begun = inf  # arrival of the first record appended to the newest segment since it was opened
        self._spool: SpoolWriter | None = None
        self._lock: IO[bytes] | None = None
        self._durable: DurablePosition | None = None
        self._segment: Segment | None = None  # the newest; None before the first and after abandoning
        self._sizes: dict[int, int] = {}  # bytes of segments by first position, ascending
        self._unsynced: list[bytes] = []  # frames that are not known to be durable
        self._synced = 0  # position up to which records are durable
        self._has_moved = False  # whether a segment was moved that is not known to be durable in the spool
        with ExitStack() as exits, storing(self._folder):
            exits.callback(self.close)
            make_folder(self._folder, OWNERS_FOLDER)
            self._spool = None if spool is None else SpoolWriter(Path(spool))
            self._lock = _lock(self._lock_path)
            self._whole_bytes = self._find_end()
            exits.pop_all()

    @property
    def start(self) -> int:
        """Position of the oldest record that the log still has."""
        return next(iter(tuple(self._sizes)), self.end)  # atomic: other threads read it too

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return len(self._sizes)

    @property
    def n_bytes(self) -> int:
        """Size of all segments."""
        return sum(tuple(self._sizes.values()))

    def begin(self) -> None:
        """Cut off what is torn, and make the rest durable; done by the first append or sync, if not before."""
        self._check_open()
        if self._durable is not None:
            return
        if self._sizes:
            first = max(self._sizes)
            path = self._folder / segment_name(first)
            with storing(path):
                self._segment = Segment(path, self._whole_bytes)
            self._sizes[first] = self._segment.size
            self._sync_folders()
        with storing(self._folder):
            self._durable = DurablePosition(self._folder)
        self._durable.write(self.end)

    def append(self, records: Sequence[Record]) -> int:
        """Append records as one frame, which is durable after the next `sync`; return the new end.

        After a StorageError none of them is appended, and the same ones may be appended again.
        """
        if not records:
            return self.end
        self.begin()
        frame = pack_frame(self.end, records)
        with storing(self._folder):
            self._check_in_place()
            segment = self._segment_for(len(frame), records[-1].arrival)
            try:
                segment.write([frame])
            except OSError:
                if not segment.is_sound:
                    self._abandon()
                raise
        self._begun = min(self._begun, records[0].arrival)
        self._unsynced.append(frame)
        self.end += len(records)
        self._sizes[max(self._sizes)] = segment.size
        return self.end

    def sync(self) -> None:
        """Make what was appended durable.

        After a StorageError the operating system may have dropped what it could not write, so the next call writes
        everything that was not durable again, to another segment.
        """
        self.begin()
        if not self._unsynced:
            return
        with storing(self._folder):
            segment = self._segment or self._begin()
            try:
                segment.sync()
            except OSError:
                self._abandon()
                raise
        self._unsynced.clear()
        self._synced = self.end
        if self._durable is not None:
            self._durable.write(self.end)

    def read(self, start: int = 0) -> Iterator[tuple[int, Record]]:
        """Read the records from a position on, as `read_log` does."""
        if not 0 <= start <= self.end:
            raise ValueError(f"start is {start}, expected a position from 0 to {self.end}")
        position = start
        for position, record in read_log(self._folder, start, self.end):
            yield position, record
        if position < self.end:
            raise LogError(f"{self._folder} ends at record {position}, expected {self.end}")

    def release(self, position: int) -> None:
        """Move segments whose records all lie before a position to the spool, or remove them; the newest stays."""
        released = [(first, end) for first, end in pairwise(tuple(self._sizes)) if end <= position]
        for first, end in released:
            path = self._folder / segment_name(first)
            if self._spool is None:
                with storing(self._folder):
                    path.unlink()
            else:
                with storing(self._spool.folder):
                    self._spool.take(path, end)
            self._has_moved = True
            del self._sizes[first]
        if self._has_moved:
            self._sync_folders()

    def close(self) -> None:
        """Close the log without syncing."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        for file in (self._durable, self._lock):
            if file is not None:
                file.close()

    def _check_open(self) -> None:
        if self._lock is None or self._lock.closed:
            raise ValueError(f"the log in {self._folder} is closed, expected an open one")

    def _check_in_place(self) -> None:
        """Raise an OSError if the folder, or the newest segment, is not where it was."""
        if self._lock is not None:
            check_in_place(self._lock_path, os.fstat(self._lock.fileno()))
        if self._segment is not None:
            self._segment.check_in_place()

    def _find_end(self) -> int:
        """Find the end of the last segment, and return the bytes that are whole there."""
        paths = segments(self._folder)
        self._sizes = {first_position(path): path.stat().st_size for path in paths}
        known = known_durable(self._folder)
        if not paths:
            check_end(self._folder, 0, known)
            return 0
        first = first_position(paths[-1])
        self.end, size = find_end(paths[-1])
        check_end(paths[-1], self.end, known)
        self.torn_bytes = self._sizes[first] - size
        self._sizes[first] = size
        self._synced = self.end
        return size

    def _sync_folders(self) -> None:
        """Make moves durable: what left the log is in the spool first, also what a process moved that has died."""
        for folder in [self._folder] if self._spool is None else [self._spool.folder, self._folder]:
            with storing(folder):
                sync_folder(folder)
        self._has_moved = False

    def _segment_for(self, n_bytes: int, arrival: float) -> Segment:
        """Return the segment to append a frame of this size and arrival to."""
        segment = self._segment
        is_full = segment and (
            segment.size + n_bytes > self._segment_bytes or arrival > self._begun + self._segment_seconds
        )
        if segment and is_full and segment.size > HEADER_BYTES:
            self.sync()  # only the last segment may have a torn end
            segment.close()
            self._segment, self._begun = None, inf
        return self._segment or self._begin()

    def _begin(self) -> Segment:
        """Begin a segment with what is not durable; replace one that starts there, which has nothing else."""
        segment = Segment(self._folder / segment_name(self._synced))
        try:
            if self._has_moved and self._spool is not None:  # what has left the folder is in the spool first
                sync_folder(self._spool.folder)
            sync_folder(self._folder)
            segment.write(self._unsynced)
        except OSError:
            segment.close()
            raise
        self._segment = segment
        self._sizes.pop(self._synced, None)
        self._sizes[self._synced] = segment.size
        return segment

    def _abandon(self) -> None:
        """Abandon the newest segment: the next begins after what is durable, with what is not."""
        if self._segment is not None:
            self._segment.abandon()
            self._segment = None


def _lock(path: Path) -> IO[bytes]:
    """Lock a log's folder for this process, by a file in it."""
    with ExitStack() as exits:
        file = exits.enter_context(open_owned(path, "a+b"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().decode(errors="replace")
            raise StateError(
                f"{path.parent} is in use by another gateway, process {owner}: stop it, or name another state"
            ) from None
        with suppress(OSError):  # it is locked even on a full disk
            file.truncate(0)
            file.write(b"%d" % getpid())
        exits.pop_all()
    return file

"""The log: every record that has changed the gateway's state, in order, on disk."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import IO

from streamfs.errors import LogError, StateError
from streamfs.gateway.core.options import Commits
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.frames import pack_frame
from streamfs.gateway.storage.log_reader import read_log, read_segment
from streamfs.gateway.storage.segment import (
    HEADER_BYTES,
    Segment,
    find_end,
    first_position,
    move,
    segment_name,
    segments,
    storing,
    sync_folder,
)

__all__ = ["Log", "read_log", "read_segment"]

_LOCK = "lock"


class Log:
    """An append-only log of records, in segments in a folder of its own, which one process at a time may open.

    A record's position is its number from 0; ``end`` is the position after the last. When the log is opened, a
    frame that was torn at the end of the last segment is cut off, and counted in ``torn_bytes``.

    Parameters
    ----------
    folder : path
        Where the segments are; made if it is not there.
    segment_bytes : int
        Size at which a new segment is begun.
    spool : path, optional
        Folder to which released segments are moved; without one they are removed.

    Attributes
    ----------
    end : int
        Number of records ever appended.
    torn_bytes : int
        Bytes that were cut off when the log was opened.

    Raises
    ------
    StateError
        If another process has opened the log.
    LogError
        If the last segment is damaged anywhere but at its end.
    StorageError
        If the folder cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from streamfs.gateway.core.records import CLOCK, MESSAGE
    >>> with TemporaryDirectory() as folder:
    ...     log = Log(folder)
    ...     log.append([Record(MESSAGE, 0.0, "sensors/n1/light", b"410"), Record(CLOCK, 0.5, "", b"")])
    ...     log.sync()
    ...     list(log.read(1))
    ...     log.close()
    2
    [(2, Record(kind=1, arrival=0.5, topic='', payload=b'', content_type=''))]
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        segment_bytes: int = Commits.segment_bytes,
        spool: str | PathLike[str] | None = None,
    ) -> None:
        if segment_bytes < 1:
            raise ValueError(f"segment_bytes is {segment_bytes}, expected at least 1")
        self.end = self.torn_bytes = 0
        self._folder, self._segment_bytes = Path(folder), segment_bytes
        self._spool = None if spool is None else Path(spool)
        self._lock: IO[bytes] | None = None
        self._segment: Segment | None = None  # the newest; None before the first, and where that was abandoned
        self._sizes: dict[int, int] = {}  # bytes of the segments by first position, rising
        self._unsynced: list[bytes] = []  # frames that are not known to be durable
        self._synced = 0  # position up to which records are durable
        with ExitStack() as exits, storing(self._folder):
            exits.callback(self.close)
            for place in (self._folder, self._spool):
                if place is not None:
                    place.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(self._folder)
            self._find_end()
            exits.pop_all()

    @property
    def start(self) -> int:
        """Position of the oldest record that the log still has."""
        return next(iter(tuple(self._sizes)), self.end)  # at once, for other threads ask too

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return len(self._sizes)

    @property
    def n_bytes(self) -> int:
        """Size of all segments."""
        return sum(tuple(self._sizes.values()))

    def append(self, records: Sequence[Record]) -> int:
        """Append records as one frame, which is durable after the next `sync`.

        Parameters
        ----------
        records : sequence of Record
            Of at most 4 GiB.

        Returns
        -------
        int
            The new end.

        Raises
        ------
        StorageError
            If they cannot be written: then none is, and the same may be appended again.
        ValueError
            If a kind is not from 0 to 255, or the records are too large.
        """
        if not records:
            return self.end
        self._check_open()
        frame = pack_frame(self.end, records)
        with storing(self._folder):
            segment = self._segment_for(len(frame))
            try:
                segment.write([frame])
            except OSError:
                if not segment.is_sound:
                    self._abandon()
                raise
        self._unsynced.append(frame)
        self.end += len(records)
        self._sizes[max(self._sizes)] = segment.size
        return self.end

    def sync(self) -> None:
        """Make durable what was appended.

        Raises
        ------
        StorageError
            If that failed. The operating system may then have forgotten what it could not write, so the next call
            writes all that was not durable anew, to another segment.
        """
        if not self._unsynced:
            return
        self._check_open()
        with storing(self._folder):
            segment = self._segment or self._begin()
            try:
                segment.sync()
            except OSError:
                self._abandon()
                raise
        self._unsynced.clear()
        self._synced = self.end

    def read(self, start: int = 0) -> Iterator[tuple[int, Record]]:
        """Read the records from a position on.

        Parameters
        ----------
        start : int
            Position of the first to read.

        Yields
        ------
        tuple of int and Record
            The position after the record, and the record.

        Raises
        ------
        LogError
            If the records from there on are released, missing or damaged.
        ValueError
            If the position is not from 0 to the end.
        """
        if not 0 <= start <= self.end:
            raise ValueError(f"start is {start}, expected a position from 0 to {self.end}")
        position = start
        for position, record in read_log(self._folder, start):
            yield position, record
        if position < self.end:
            raise LogError(f"{self._folder} ends at record {position}, expected {self.end}")

    def release(self, position: int) -> None:
        """Let go of the segments all of whose records lie before a position: to the spool, or for good.

        The newest segment stays.

        Raises
        ------
        StorageError
            If a segment cannot be moved or removed; it stays, and may be released later.
        """
        for first, following in pairwise(tuple(self._sizes)):
            if following > position:
                return
            with storing(self._spool or self._folder):
                move(self._folder / segment_name(first), self._spool)
            del self._sizes[first]

    def close(self) -> None:
        """Close the log; nothing is synced."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        if self._lock is not None:
            self._lock.close()

    def _check_open(self) -> None:
        if self._lock is None or self._lock.closed:
            raise ValueError(f"the log in {self._folder} is closed, expected an open one")

    def _find_end(self) -> None:
        """Find the end of the last segment, cut off what is torn there, and make sure of the rest."""
        paths = segments(self._folder)
        self._sizes = {first_position(path): path.stat().st_size for path in paths}
        if not paths:
            return
        first = first_position(paths[-1])
        self.end, size = find_end(paths[-1])
        self.torn_bytes = self._sizes[first] - size
        self._synced = self.end
        self._segment = Segment(paths[-1], size)
        self._sizes[first] = self._segment.size
        sync_folder(self._folder)

    def _segment_for(self, n_bytes: int) -> Segment:
        """Return the segment to which a frame of this size belongs."""
        segment = self._segment
        if segment and segment.size > HEADER_BYTES and segment.size + n_bytes > self._segment_bytes:
            self.sync()  # only the last segment may have a torn end
            segment.close()
            self._segment = None
        return self._segment or self._begin()

    def _begin(self) -> Segment:
        """Begin a segment with all that is not durable; one that starts there has nothing else, and gives way."""
        segment = Segment(self._folder / segment_name(self._synced))
        try:
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
        """Give up the newest segment: the next begins behind what is durable, with what is not."""
        if self._segment is not None:
            self._segment.abandon()
            self._segment = None


def _lock(folder: Path) -> IO[bytes]:
    """Take the folder for this process."""
    with ExitStack() as exits:
        file = exits.enter_context((folder / _LOCK).open("a+b", buffering=0))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().decode(errors="replace")
            raise StateError(f"{folder} is in use by another gateway, process {owner}") from None
        with suppress(OSError):  # on a full disk it is locked all the same
            file.truncate(0)
            file.write(b"%d" % os.getpid())
        exits.pop_all()
    return file

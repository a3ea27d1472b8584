"""Segments: the files of the log, each named after the position of its first record."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO
from zlib import crc32

from streamfs.base.plain_files import plain
from streamfs.errors import LogError, StorageError
from streamfs.gateway.storage.folders import check_in_place, open_owned
from streamfs.gateway.storage.frames import MARK_BYTES, Frame, read_frame

_KIND, _VERSION = b"streamfs log ", b"1"
_TITLE = _KIND + _VERSION + b"\n"
_CHECKSUM_BYTES = 4  # of the title and the mark
_PIECE = 1 << 20  # bytes
HEADER_BYTES = len(_TITLE) + MARK_BYTES + _CHECKSUM_BYTES
_NAME = re.compile(r"\d{20}\.log")


def segment_name(first: int) -> str:
    """Return the name of the segment whose first record has this position."""
    return f"{first:020d}.log"


def first_position(path: Path) -> int:
    """Return the position of a segment's first record."""
    return int(path.name.removesuffix(".log"))


def segments(folder: Path) -> list[Path]:
    """Return the segments in a folder, oldest first."""
    with reading(folder), os.scandir(folder) as found:
        return [folder / name for name in sorted(each.name for each in found) if _NAME.fullmatch(name)]


def whole_frames(path: Path) -> Iterator[Frame]:
    """Read the frames of a segment, up to the first that is not whole."""
    with reading(path), plain(path).open("rb") as file:
        mark = _mark(path, file)
        if mark:
            yield from _frames(path, file, mark)


def find_end(path: Path) -> tuple[int, int]:
    """Return position and bytes at the end of a segment's whole frames; 0 bytes if the header is not whole.

    Anything after it is torn. If a whole frame follows, the segment is damaged, which is a LogError.
    """
    position, size = first_position(path), HEADER_BYTES
    with reading(path), plain(path).open("rb") as file:
        limit = os.fstat(file.fileno()).st_size  # ignores what an open log writes from now on
        mark = _mark(path, file)
        if not mark:
            return position, 0
        for frame in _frames(path, file, mark):
            position, size = frame.position, frame.end
        if _has_frame_after(file, mark, size, limit):
            raise LogError(f"{path} is damaged at byte {size}: no whole frame there, but one after it")
    return position, size


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn an OSError while writing into a `StorageError` that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an OSError while reading into a `LogError` that names the file."""
    try:
        yield
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or error}") from error


class Segment:
    """A segment that is being written.

    The file is cut to `size` bytes; with 0 it is created, and its header is durable before a frame follows.
    `is_sound` is False once a partly written frame could not be cut off.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        self.size, self.is_sound = size, True
        if not size:
            path.unlink(missing_ok=True)
        self._path, self._file = path, open_owned(path, "r+b" if size else "x+b")
        try:
            self._start()
        except OSError:
            self.close()
            raise

    def write(self, frames: Iterable[bytes]) -> None:
        """Write all of the frames; on an OSError none of them, if the segment is still sound."""
        self._write(b"".join(part for frame in frames for part in (self._mark, frame)))

    def sync(self) -> None:
        """Make what was written durable."""
        os.fdatasync(self._file.fileno())
        self._synced = self.size

    def check_in_place(self) -> None:
        """Raise an OSError if the file was deleted or moved."""
        check_in_place(self._path, os.fstat(self._file.fileno()))

    def abandon(self) -> None:
        """Close, and if possible cut off what may not be durable."""
        with suppress(OSError), closing(self):
            self._cut(self._synced)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _start(self) -> None:
        if self.size:
            self._file.seek(len(_TITLE))
            self._mark = self._file.read(MARK_BYTES)
            self._cut(self.size)
        else:
            self._mark = os.urandom(MARK_BYTES)
            self._write(_header(self._mark))
        self.sync()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self.is_sound = False
            with suppress(OSError):
                self._cut(self.size)
                self.is_sound = True
            raise
        self.size += len(data)

    def _cut(self, size: int) -> None:
        self._file.truncate(size)
        self._file.seek(size)


def _header(mark: bytes) -> bytes:
    title = _TITLE + mark
    return title + crc32(title).to_bytes(_CHECKSUM_BYTES, "little")


def _mark(path: Path, file: IO[bytes]) -> bytes | None:
    """Read the mark of a segment's frames from its header; None if the header is torn."""
    header = file.read(HEADER_BYTES)
    mark = header[len(_TITLE) : len(_TITLE) + MARK_BYTES]
    if header == _header(mark):
        return mark
    title = header[: len(_TITLE)]
    if _TITLE.startswith(title.rstrip(b"\0")) and os.fstat(file.fileno()).st_size <= HEADER_BYTES:
        return None
    if title.startswith(_KIND) and not title.startswith(_KIND + _VERSION):
        version = title.removeprefix(_KIND).strip().decode(errors="replace")
        raise LogError(f"{path} has version {version} of the log, expected {_VERSION.decode()}")
    raise LogError(f"{path} is not a segment of a streamfs log, or its header is damaged")


def _frames(path: Path, file: IO[bytes], mark: bytes) -> Iterator[Frame]:
    """Read the frames after the header of a segment, up to the first that is not whole."""
    position = first_position(path)
    while frame := read_frame(file, mark):
        if frame.first != position:
            found = f"the frame at byte {frame.offset} starts with record {frame.first}"
            raise LogError(f"{path} is damaged: {found}, expected {position}")
        yield frame
        position = frame.position


def _has_frame_after(file: IO[bytes], mark: bytes, offset: int, limit: int) -> bool:
    for place in _places(file, mark, offset + 1, limit):
        file.seek(place)
        if read_frame(file, mark):
            return True
    return False


def _places(file: IO[bytes], mark: bytes, start: int, end: int) -> Iterator[int]:
    """Yield where a mark begins between two offsets; the file, which may be huge, is read in pieces."""
    for at in range(start, end, _PIECE):
        file.seek(at)
        piece = file.read(min(_PIECE + len(mark) - 1, end - at))
        found = piece.find(mark)
        while found >= 0:
            yield at + found
            found = piece.find(mark, found + 1)

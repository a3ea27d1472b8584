"""Reading logs: whole folders of segments, and single segments."""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from streamfs.errors import LogError
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.frames import Frame
from streamfs.gateway.storage.segment import (
    HEADER_BYTES,
    find_end,
    first_position,
    reading,
    segments,
    whole_frames,
)


class Extent(NamedTuple):
    """The size of a log: positions of its oldest record and after its newest, number of segments, bytes."""

    start: int
    end: int
    n_segments: int
    n_bytes: int


def extent(folder: str | PathLike[str]) -> Extent:
    """Measure the log in a folder; it may be open."""
    paths = segments(Path(folder))
    if not paths:
        return Extent(0, 0, 0, 0)
    with reading(Path(folder)):
        n_bytes = sum(_size(path) for path in paths)
    return Extent(first_position(paths[0]), find_end(paths[-1])[0], len(paths), n_bytes)


def read_segment(path: str | PathLike[str]) -> Iterator[tuple[int, Record]]:
    """Read one segment, for example one in the spool; yield the position after each record, and the record.

    Raises
    ------
    LogError
        If the file is not a segment, or is damaged.
    """
    segment = Path(path)
    end = HEADER_BYTES
    for frame in whole_frames(segment):
        yield from enumerate(frame.records(), frame.first + 1)
        end = frame.end
    if segment.stat().st_size != end:
        raise LogError(f"{segment} is damaged at byte {end}: no whole frame there")


def check_segment(path: Path, until: int | None) -> None:
    """Raise a LogError if a segment that ends at a position is damaged; None stands for the log's last segment."""
    for frame in _frames(path, until):
        deque(frame.records(), maxlen=0)


def read_log(folder: str | PathLike[str], start: int = 0, end: int | None = None) -> Iterator[tuple[int, Record]]:
    """Read the segments in a folder, a spool or a log that may be open: as `read_segment`.

    A segment ends where the next one starts: anything after that was written again to the next one. Where the end
    is not known, that of the last segment may be torn, or still be written.

    Raises
    ------
    LogError
        If records from `start` on are missing or damaged.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from streamfs.gateway.storage.log import Log
    >>> with TemporaryDirectory() as folder:
    ...     log = Log(folder)
    ...     log.append([Record(0, float(number), "sensors/n1/light", b"410") for number in range(3)])
    ...     [(position, record.arrival) for position, record in read_log(folder, 1)]
    ...     log.close()
    3
    [(2, 1.0), (3, 2.0)]
    """
    paths = segments(Path(folder))
    firsts = [first_position(path) for path in paths]
    if start < min(firsts, default=0):
        raise LogError(f"{folder} starts at record {firsts[0]}, expected {start}: earlier ones are released")
    for path, until in zip(paths, [*firsts, end][1:], strict=True):
        if until is None or until > start:
            for frame in _frames(path, until):
                if frame.position > start:
                    numbered = enumerate(frame.records(), frame.first + 1)
                    yield from islice(numbered, max(0, start - frame.first), None)


def _size(path: Path) -> int:
    """Return the bytes of a segment; 0 if the log has released it meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _frames(path: Path, until: int | None) -> Iterator[Frame]:
    """Read the frames of a segment that ends at the position `until`, or of one whose end is not known: None."""
    position = first_position(path)
    for frame in whole_frames(path):
        yield frame
        position = frame.position
        if position == until:
            return
    if until is None:
        find_end(path)
    elif position != until:
        raise LogError(f"{path} is whole up to record {position}, expected {until}: records are missing")

"""The position up to which a log is durable, so that a damaged end is told from a torn one."""

import os
from contextlib import suppress
from pathlib import Path
from struct import Struct
from zlib import crc32

from streamfs.base.plain_files import read_file
from streamfs.errors import LogError
from streamfs.gateway.storage.folders import open_owned

_POSITION, _CHECKSUM = Struct("<Q"), Struct("<I")
_NAME = "durable"


def known_durable(folder: Path) -> int:
    """Return the position up to which the log in a folder was durable at least; 0 if that is not known."""
    try:
        content = read_file(folder / _NAME)
    except OSError:
        return 0
    position = content[: _POSITION.size]
    if len(position) < _POSITION.size or content[_POSITION.size :] != _CHECKSUM.pack(crc32(position)):
        return 0
    return int(_POSITION.unpack(position)[0])


def check_end(path: Path, end: int, known: int) -> None:
    """Raise a LogError if a log ends, with the file at a path, before the position that is known to be durable."""
    if end < known:
        raise LogError(f"{path} is damaged: it is whole up to record {end}, expected {known}, which was durable")


class DurablePosition:
    """Writes the position after each sync of the log, without a sync of its own.

    After a power failure the file may lag behind the log, but is never ahead of it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = open_owned(folder / _NAME, "r+b")

    def write(self, position: int) -> None:
        """Write the position; on a disk that fails, the previous one stays."""
        content = _POSITION.pack(position)
        with suppress(OSError):
            os.pwrite(self._file.fileno(), content + _CHECKSUM.pack(crc32(content)), 0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

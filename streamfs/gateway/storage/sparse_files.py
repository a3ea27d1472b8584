"""Copies of files with holes, such as the torn end of a log, where nothing was ever written."""

import os
from collections.abc import Iterator
from errno import ENXIO
from typing import IO

_PIECE = 1 << 20  # bytes


def copy_sparse(source: IO[bytes], copy: IO[bytes]) -> None:
    """Copy what a file has now to an empty one; holes stay holes."""
    size = os.fstat(source.fileno()).st_size
    for begin, end in [*_parts(source.fileno(), size)]:
        for at in range(begin, end, _PIECE):
            source.seek(at)
            copy.seek(at)
            copy.write(source.read(min(_PIECE, end - at)))
    copy.truncate(size)


def _parts(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each part of a file that has data."""
    end = 0
    while end < size:
        try:
            begin = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != ENXIO:
                raise
            return  # a hole up to the end
        end = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, min(end, size)

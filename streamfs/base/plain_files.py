"""Files that are read: no pipes or devices, which may have no end, and of those read whole none that is huge."""

import os
import stat
from errno import EFBIG, EINVAL
from os import PathLike
from pathlib import Path

LARGEST = 1 << 26
"""Bytes of settings and other files that are written by hand."""

_OTHERS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def plain(path: str | PathLike[str]) -> Path:
    """Return a path to be opened; raise an OSError if it has a pipe, a socket or a device, or none can have it.

    Reading these may wait, or go on, without end. What else cannot be opened says so when it is.

    Examples
    --------
    >>> plain("/dev/zero")
    Traceback (most recent call last):
        ...
    OSError: [Errno 22] it is a device, expected a file: '/dev/zero'
    """
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)  # noqa: PTH116 - at each start, often
    except OSError:
        kind = 0
    except ValueError as error:  # of a NUL character, or one that UTF-8 has not
        raise OSError(EINVAL, "no file can have this name", os.fspath(path)) from error
    if kind in _OTHERS:
        raise OSError(EINVAL, f"it is {_OTHERS[kind]}, expected a file", os.fspath(path))
    return Path(path)


def read_file(path: str | PathLike[str], largest: int = LARGEST) -> bytes:
    """Read a plain file whole; raise an OSError if that fails or it has more bytes than the `largest`."""
    with plain(path).open("rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        if n_bytes > largest:
            raise OSError(EFBIG, f"it has more than {largest} bytes, expected fewer", os.fspath(path))
        return file.read()


def read_text(path: str | PathLike[str]) -> str:
    """Read a plain file of text in UTF-8, with or without a mark in front; lines end with line feeds."""
    return read_file(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")

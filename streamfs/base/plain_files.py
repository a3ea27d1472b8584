"""Files that are read: no pipes or devices, which may have no end, and of those read whole none that is huge."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EFBIG, EINVAL
from os import PathLike
from pathlib import Path
from reprlib import repr as shortened
from typing import IO, TextIO, cast

from streamfs.errors import DataError

LARGEST = 1 << 26
"""Bytes of settings and other files that are written by hand."""

PACKED = b"\x1f\x8b"
"""What is first in files that gzip has packed."""

_OTHERS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def path_of(given: object) -> Path:
    """Return what is given as a path; raise a TypeError if it is none.

    Examples
    --------
    >>> path_of(5)
    Traceback (most recent call last):
        ...
    TypeError: path is 5, expected the path of a file, such as 'streams.csv'
    """
    if not isinstance(given, str | PathLike):
        raise TypeError(f"path is {shortened(given)}, expected the path of a file, such as 'streams.csv'")
    return Path(given)


def plain(path: str | PathLike[str]) -> Path:
    """Return a path to be opened; raise an OSError for a pipe, a socket, a device, or what no file can be called.

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
    except ValueError as error:  # for a NUL character, or one that UTF-8 does not have
        raise OSError(EINVAL, "no file can have this name", os.fspath(path)) from error
    if kind in _OTHERS:
        raise OSError(EINVAL, f"it is {_OTHERS[kind]}, expected a file", os.fspath(path))
    return path if isinstance(path, Path) else Path(path)


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


def opened_bytes(path: str | PathLike[str]) -> IO[bytes]:
    """Open a plain file, which gzip may have packed, whatever it ends in."""
    with plain(path).open("rb") as file:
        is_packed = file.read(len(PACKED)) == PACKED
    return cast("IO[bytes]", gzip.open(path)) if is_packed else plain(path).open("rb")


@contextmanager
def opened_text(path: str | PathLike[str], newline: str | None = None, errors: str = "strict") -> Iterator[TextIO]:
    """Open a plain file of text in UTF-8, with or without a mark in front, which gzip may have packed.

    A DataError refuses other encodings, and what is damaged.
    """
    try:
        with (
            opened_bytes(path) as content,
            io.TextIOWrapper(content, "utf-8-sig", errors, newline) as file,
        ):
            yield file
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)} is {not_utf8(error)}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{os.fspath(path)} cannot be read: it is damaged: {error}") from error


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return that bytes are not in UTF-8, and from where on."""
    return f"not UTF-8 from {error.object[error.start :][:9]!r} on"

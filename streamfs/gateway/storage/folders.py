"""Folders of a state: for their owner alone, durable, and still there."""

import os
from contextlib import suppress
from errno import ENOTDIR
from pathlib import Path
from typing import IO

OWNERS_FOLDER, OWNERS_FILE = 0o700, 0o600
"""Modes of the folders and files of a state, which hold all that was received."""


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder with this mode, and its missing parents, durably; the mode of one that exists stays.

    One that exists may have been made by a process that has died before that was durable. A parent on another file
    system does not have it, and one that may not be read is not ours.
    """
    parent = folder.parent
    if not folder.is_dir():
        if not parent.exists():
            make_folder(parent)
        if folder.exists():
            raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), folder)
        folder.mkdir(mode, exist_ok=True)
    if folder.stat().st_dev == parent.stat().st_dev:
        with suppress(PermissionError):
            sync_folder(parent)


def open_owned(path: Path, mode: str) -> IO[bytes]:
    """Open a file without a buffer; one that is not there is made, for its owner alone."""

    def make(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CREAT, OWNERS_FILE)

    return open(path, mode, buffering=0, opener=make)


def sync_folder(folder: Path) -> None:
    """Make a folder's entries durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_in_place(path: Path, opened: os.stat_result) -> None:
    """Raise an OSError if a path no longer names the file that was opened there.

    What is written to a file that was deleted, or moved with its folder, is not found at the next start.
    """
    try:
        is_there = os.path.samestat(os.stat(path), opened)  # noqa: PTH116 - at each commit, and twice as fast
    except FileNotFoundError:
        is_there = False
    if not is_there:
        raise OSError(f"{path.name} was deleted or moved while in use; put it back, or start the gateway again")

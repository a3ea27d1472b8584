"""Databases that are only read, also in folders that may not be written."""

import sqlite3
from collections.abc import Callable
from pathlib import Path


def open_read_only(path: Path, connect: Callable[..., sqlite3.Connection] = sqlite3.connect) -> sqlite3.Connection:
    """Open a database that is only read; one that nobody writes to may be in a folder that cannot be written.

    Where there is a write-ahead log with something in it, the database alone is not the whole, and is not read.
    Raise the SQLite error if it cannot be read.
    """
    try:
        return _opened(path, "mode=ro", connect)
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
    return _opened(path, "immutable=1", connect)


def _opened(path: Path, mode: str, connect: Callable[..., sqlite3.Connection]) -> sqlite3.Connection:
    database = connect(f"{path.absolute().as_uri()}?{mode}", uri=True)
    try:
        database.execute("SELECT name FROM sqlite_master").fetchall()
    except BaseException:
        database.close()
        raise
    return database

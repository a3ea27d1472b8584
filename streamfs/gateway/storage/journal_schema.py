"""The tables of the journal, and how those of older versions become those of today."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamfs.errors import StateError, StorageError

APPLICATION = 0x73746673  # what SQLite knows our files by

_TABLES = """
CREATE TABLE progress (
    position INTEGER NOT NULL  -- up to which the records of the log have their outputs here
);
INSERT INTO progress VALUES (0);
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    episode INTEGER NOT NULL,
    label TEXT,
    confidence REAL,  -- of this and others, NULL is no number
    tick INTEGER NOT NULL,
    cost REAL,
    reason TEXT NOT NULL,
    time REAL,
    UNIQUE (stream, episode)
);
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    retain INTEGER NOT NULL
);
CREATE TABLE energy (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    line TEXT NOT NULL  -- JSON
);
CREATE TABLE snapshots (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    position INTEGER NOT NULL,
    checksum BLOB NOT NULL,  -- SHA-256
    state BLOB NOT NULL
);
"""

_MARKS = """
CREATE TABLE marks (
    node TEXT NOT NULL,
    channel TEXT NOT NULL,
    sequence TEXT NOT NULL,  -- any whole number
    time REAL,
    PRIMARY KEY (node, channel)
) WITHOUT ROWID;
"""

MIGRATIONS = (_TABLES, _MARKS)
"""Scripts: each makes of one version the next, the first of an empty file version 1."""

_PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


@contextmanager
def using(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a file into a `StorageError` or `StateError` that names it."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the rest is detail
        if kind in _PASSING:
            raise StorageError(f"{path} cannot be used: {error}") from error
        if kind in _DAMAGE:
            raise StateError(f"{path} is no journal of streamfs, or is damaged: {error}") from error
        raise


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a journal has the version of today.

    Raises
    ------
    StateError
        If it has not, or as `version_of`.
    """
    version = version_of(connection, path)
    if version != len(MIGRATIONS):
        raise StateError(f"{path} has version {version} of the journal, expected {len(MIGRATIONS)}")


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a journal; 0 if the database is empty.

    Raises
    ------
    StateError
        If the database is something else, damaged, or of a newer version.
    """
    with using(path):
        version, application, n_tables = (
            connection.execute(query).fetchone()[0]
            for query in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
        )
    if application != APPLICATION and (n_tables or version or application):
        raise StateError(f"{path} is a database, but no journal of streamfs")
    if version > len(MIGRATIONS):
        written = "a newer streamfs has written it"
        raise StateError(f"{path} has version {version} of the journal, expected {len(MIGRATIONS)}: {written}")
    return int(version)


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Look for damage in a database.

    Raises
    ------
    StateError
        If there is any.
    """
    with using(path):
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise StateError(f"{path} is damaged: {found}")


@contextmanager
def undoing(connection: sqlite3.Connection) -> Iterator[None]:
    """Roll the transaction back on any error."""
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a journal to the version of today: each step in a transaction, whole or not at all.

    Raises
    ------
    StateError
        As `version_of` does.
    StorageError
        If it cannot be written.
    """
    for version in range(version_of(connection, path), len(MIGRATIONS)):
        marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version + 1};"
        with using(path), undoing(connection):
            connection.executescript(f"BEGIN IMMEDIATE; {MIGRATIONS[version]} {marks} COMMIT;")

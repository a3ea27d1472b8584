"""The tables of the journal, and the migrations from older versions."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamfs.errors import StateError, StorageError

APPLICATION = 0x73746673  # SQLite's application id of our files

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
"""Scripts, each from one version to the next; the first makes version 1 of an empty file."""

_TEMPORARY = {
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
    """Turn a SQLite error into a `StorageError` or `StateError` that names the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the other bits are detail
        if kind in _TEMPORARY:
            raise StorageError(f"{path} cannot be used: {error}") from error
        if kind in _DAMAGE:
            raise StateError(f"{path} is not a streamfs journal, or is damaged: {error}") from error
        raise


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise a StateError if a journal does not have the current version."""
    version = version_of(connection, path)
    if version != len(MIGRATIONS):
        raise StateError(f"{path} has version {version} of the journal, expected {len(MIGRATIONS)}")


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a journal; 0 if the database is empty."""
    with using(path):
        version, application, n_tables = (
            connection.execute(query).fetchone()[0]
            for query in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
        )
    if application != APPLICATION and (n_tables or version or application):
        raise StateError(f"{path} is a database, but not a streamfs journal")
    if version > len(MIGRATIONS):
        written = "a newer streamfs has written it"
        raise StateError(f"{path} has version {version} of the journal, expected {len(MIGRATIONS)}: {written}")
    return int(version)


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Raise a StateError if a database is damaged."""
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
    """Migrate a journal to the current version, each step in one transaction; raise as `version_of`."""
    for version in range(version_of(connection, path), len(MIGRATIONS)):
        marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version + 1};"
        with using(path), undoing(connection):
            connection.executescript(f"BEGIN IMMEDIATE; {MIGRATIONS[version]} {marks} COMMIT;")

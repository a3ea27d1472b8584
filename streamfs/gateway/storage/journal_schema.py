"""The tables of the journal, and the migrations from older versions."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from streamfs.errors import StateError, StorageError
from streamfs.gateway.storage.journal_rows import checksum

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

_CHECKSUMS = """
CREATE TABLE totals (
    position INTEGER NOT NULL,  -- up to which the records of the log have their outputs here
    published INTEGER NOT NULL,  -- highest number that the outbox has given
    decisions INTEGER NOT NULL,  -- of this and the others, the sum of the table's checksums
    energy INTEGER NOT NULL,
    outbox INTEGER NOT NULL,
    snapshots INTEGER NOT NULL,
    marks INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
ALTER TABLE decisions RENAME TO old_decisions;
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY,
    stream TEXT NOT NULL,
    episode INTEGER NOT NULL,
    label TEXT,
    confidence REAL,  -- of this and others, NULL is no number
    tick INTEGER NOT NULL,
    cost REAL,
    reason TEXT NOT NULL,
    time REAL,
    checksum INTEGER NOT NULL,
    UNIQUE (stream, episode)
);
INSERT INTO decisions
SELECT *, checksum(number, stream, episode, label, confidence, tick, cost, reason, time) FROM old_decisions;
ALTER TABLE outbox RENAME TO old_outbox;
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    retain INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
INSERT INTO outbox SELECT *, checksum(number, topic, payload, retain) FROM old_outbox;
ALTER TABLE energy RENAME TO old_energy;
CREATE TABLE energy (
    number INTEGER PRIMARY KEY,
    line TEXT NOT NULL,  -- JSON
    checksum INTEGER NOT NULL
);
INSERT INTO energy SELECT *, checksum(number, line) FROM old_energy;
ALTER TABLE snapshots RENAME TO old_snapshots;
CREATE TABLE snapshots (
    number INTEGER PRIMARY KEY,
    position INTEGER NOT NULL,
    digest BLOB NOT NULL,  -- SHA-256 of the state
    checksum INTEGER NOT NULL,
    state BLOB NOT NULL
);
INSERT INTO snapshots
SELECT number, position, checksum, checksum(number, position, checksum), state FROM old_snapshots;
ALTER TABLE marks ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE marks SET checksum = checksum(node, channel, sequence, time);
INSERT INTO totals SELECT
    position,
    (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name IN ('outbox', 'old_outbox')),
    (SELECT coalesce(sum(checksum), 0) FROM decisions),
    (SELECT coalesce(sum(checksum), 0) FROM energy),
    (SELECT coalesce(sum(checksum), 0) FROM outbox),
    (SELECT coalesce(sum(checksum), 0) FROM snapshots),
    (SELECT coalesce(sum(checksum), 0) FROM marks),
    0
FROM progress;
UPDATE totals SET checksum = checksum(position, published, decisions, energy, outbox, snapshots, marks);
DROP TABLE old_decisions;
DROP TABLE old_outbox;
DROP TABLE old_energy;
DROP TABLE old_snapshots;
DROP TABLE progress;
"""

_EXPIRY = """
-- What was damaged before stays so: checksums that are wrong are left alone.
CREATE TEMPORARY TABLE sums (old INTEGER, new INTEGER);
ALTER TABLE outbox ADD COLUMN expiry INTEGER NOT NULL DEFAULT 0;  -- seconds; 0 is never
INSERT INTO sums SELECT coalesce(sum(checksum), 0), 0 FROM outbox;
UPDATE outbox SET checksum = checksum(number, topic, payload, retain, expiry)
WHERE checksum = checksum(number, topic, payload, retain);
UPDATE sums SET new = (SELECT coalesce(sum(checksum), 0) FROM outbox);
UPDATE totals SET (outbox, checksum) = (
    SELECT
        outbox - old + new,
        checksum(position, published, decisions, energy, outbox - old + new, snapshots, marks)
    FROM sums
)
WHERE checksum = checksum(position, published, decisions, energy, outbox, snapshots, marks);
DROP TABLE sums;
"""

MIGRATIONS = (_TABLES, _MARKS, _CHECKSUMS, _EXPIRY)
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
_DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_TOOBIG,
}


def connect(address: str | PathLike[str], **options: bool) -> sqlite3.Connection:
    """Open a database for any thread; damaged texts are read too, since the checksums of their rows show them."""
    connection = sqlite3.connect(address, isolation_level=None, check_same_thread=False, **options)
    connection.text_factory = lambda stored: stored.decode(errors="surrogateescape")
    return connection


@contextmanager
def using(path: Path) -> Iterator[None]:
    """Turn an error of SQLite, or of the file, into a `StorageError` or `StateError` that names the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the other bits are detail
        if kind in _TEMPORARY:
            raise StorageError(f"{path} cannot be used: {error}") from error
        if kind in _DAMAGE:
            raise StateError(f"{path} is not a streamfs journal, or is damaged: {error}") from error
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be used: {error.strerror or error}") from error
    except UnicodeDecodeError as error:  # in the message of an error
        raise StateError(f"{path} is damaged: the names of its tables cannot be read") from error


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise a StateError if a journal does not have the current version."""
    version = version_of(connection, path)
    if version != len(MIGRATIONS):
        raise StateError(f"{path} has version {version} of the journal, expected {len(MIGRATIONS)}")


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a journal; 0 if the database is empty."""
    with using(path):
        version, application = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")
        )
        is_other = application != APPLICATION and (version or application or _has_tables(connection))
    if is_other:
        raise StateError(f"{path} is a database, but not a streamfs journal")
    if version > len(MIGRATIONS):
        written = "a newer streamfs has written it"
        raise StateError(f"{path} has version {version} of the journal, expected {len(MIGRATIONS)}: {written}")
    return int(version)


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Raise a StateError if a database's pages, tables or indexes are damaged."""
    with using(path):
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
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


def migrate(connection: sqlite3.Connection, path: Path, version: int = 0) -> None:
    """Migrate a journal from a version, by default that of an empty one, to the current.

    The transaction in which that happens is left open.
    """
    connection.create_function("checksum", -1, checksum, deterministic=True)
    steps = MIGRATIONS[version:]
    if steps:
        marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {len(MIGRATIONS)};"
        with using(path), undoing(connection):
            connection.executescript(f"BEGIN IMMEDIATE; {' '.join(steps)} {marks}")

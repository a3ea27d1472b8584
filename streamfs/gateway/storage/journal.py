"""The journal: decisions, the outbox, energy and snapshots, committed in transactions."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isnan
from os import PathLike
from pathlib import Path
from typing import Any

import orjson

from streamfs.base.plain_files import plain
from streamfs.errors import StateError, StorageError
from streamfs.gateway.core.options import Limits
from streamfs.gateway.core.records import Mark
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.storage.folders import check_in_place
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.journal_rows import COLUMNS
from streamfs.gateway.storage.journal_schema import check_whole, connect, migrate, using, version_of
from streamfs.gateway.storage.journal_writer import JournalWriter
from streamfs.gateway.storage.segment import storing
from streamfs.procedure.procedure import Decision

_N_SNAPSHOTS = 2  # the newest, and one as a fallback
_WAL_BYTES = 64 * 2**20  # size to which the write-ahead log shrinks after a large snapshot
_CLOSING = 1.0  # seconds for a commit under way to end before the file is closed


@dataclass
class Entry:
    """What is committed together: the outputs of the records before a position in the log."""

    position: int = 0
    decisions: list[Decision] = field(default_factory=list)  # those that are known already are left out
    publications: list[Publication] = field(default_factory=list)
    energy: list[dict[str, Any]] = field(default_factory=list)
    confirmed: list[int] = field(default_factory=list)  # numbers of publications that leave the outbox
    snapshot: bytes | Callable[[], bytes] | None = None
    marks: list[Mark] = field(default_factory=list)  # written with a snapshot only

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit but a position."""
        return self.snapshot is None and not (self.decisions or self.publications or self.energy or self.confirmed)

    def packed_snapshot(self) -> bytes | None:
        """Return the snapshot, calling it if it is a function."""
        return self.snapshot() if callable(self.snapshot) else self.snapshot


class Journal(JournalReader):
    """The journal of one gateway, a SQLite file: written by one thread; others that read it wait for a commit.

    Until it is begun nothing of it is changed: a migration from an older version is not committed before.
    At least `decisions_kept` decisions and as many lines of the energy log are kept. The log is needed from
    `oldest_snapshot_position` on, that of the older snapshot; 0 before there are two.
    """

    def __init__(self, path: str | PathLike[str], *, decisions_kept: int = Limits.decisions_kept) -> None:
        if decisions_kept < 1:
            raise ValueError(f"decisions_kept is {decisions_kept}, expected at least 1")
        self._kept, path = decisions_kept, Path(path)
        with using(path):
            connection = connect(plain(path))
        try:
            _open(connection, path)
            super().__init__(path, connection)
            self._opened = self.path.stat()
            totals = self.check_sums()
            self._snapshots = self.snapshot_positions()
        except BaseException:
            connection.close()
            raise
        numbers = {"outbox": totals["published"], **self.highest_numbers()}
        # rows that may be added before older ones are removed
        self._until_pruning = decisions_kept - max(numbers["decisions"], numbers["energy"])
        self._writer = JournalWriter(connection, numbers, {table: totals[table] for table in COLUMNS})
        self.repeated_decisions = 0
        self.position = totals["position"]
        self._has_begun = False

    def begin(self) -> None:
        """Commit a migration, and have a write-ahead log; done by the first commit, if not before."""
        if self._has_begun:
            return
        with self._in_use:
            _begin(self._connection, self.path)
        self._has_begun = True

    def commit(self, entry: Entry) -> list[int]:
        """Commit an entry durably; return its publications' numbers in the outbox.

        After a StorageError nothing is committed, and the same entry may be committed again.
        """
        if entry.position < self.position:
            raise ValueError(f"position is {entry.position}, expected at least {self.position}")
        with storing(self.path):
            check_in_place(self.path, self._opened)
        self.begin()
        snapshots = self._snapshots
        with self._in_use, using(self.path), self._writer.transaction(entry.position):
            n_repeated = self._add_decisions(entry.decisions)
            numbers = self._add_publications(entry.publications)
            self._remove_publications(entry.confirmed)
            self._writer.append("energy", [(orjson.dumps(line).decode(),) for line in entry.energy])
            if (state := entry.packed_snapshot()) is not None:
                snapshots = self._add_snapshot(entry.position, state)
                self._replace_marks(entry.marks)
            until_pruning = self._prune(self._until_pruning - len(entry.decisions) - len(entry.energy))
        self.position, self._snapshots, self._until_pruning = entry.position, snapshots, until_pruning
        self.repeated_decisions += n_repeated
        return numbers

    @property
    def oldest_snapshot_position(self) -> int:
        """Position of the older snapshot; 0 before there are two."""
        return min(self._snapshots.values()) if len(self._snapshots) >= _N_SNAPSHOTS else 0

    def close(self) -> None:
        """Close the file; if a commit hangs on the disk, leave that to the end of the process."""
        if self._in_use.acquire(timeout=_CLOSING):
            self._connection.close()
            self._in_use.release()

    def _add_decisions(self, decisions: Sequence[Decision]) -> int:
        """Add decisions; return how many were known already."""
        rows = [
            (
                made.stream,
                made.episode,
                made.label,
                _real(made.confidence),
                made.tick,
                _real(made.cost),
                made.reason,
                _real(made.time),
            )
            for made in decisions
        ]
        return len(rows) - self._writer.append("decisions", rows)[1]

    def _add_publications(self, publications: Sequence[Publication]) -> list[int]:
        """Add publications to the outbox; return their numbers."""
        rows = [(topic, payload, int(retain), expiry) for topic, payload, retain, expiry in publications]
        first, n = self._writer.append("outbox", rows)
        return list(range(first, first + n))

    def _remove_publications(self, numbers: Sequence[int]) -> None:
        if len(numbers) > 1:
            among = "number IN (SELECT value FROM json_each(?))"
            self._writer.remove("outbox", among, orjson.dumps(numbers).decode())
        elif numbers:
            self._writer.remove("outbox", "number = ?", numbers[0])

    def _add_snapshot(self, position: int, state: bytes) -> dict[int, int]:
        """Add a snapshot, remove damaged ones and all but the newest; return the others' positions by number."""
        digest = hashlib.sha256(state).digest()
        number, _ = self._writer.append("snapshots", [(position, digest)], (state,))
        whole = [(each, at) for each, at in self._snapshots.items() if each not in self._torn]
        snapshots = dict([*whole, (number, position)][-_N_SNAPSHOTS:])
        for each in self._snapshots.keys() - snapshots.keys():
            self._writer.remove("snapshots", "number = ?", each)
        return snapshots

    def _replace_marks(self, marks: Sequence[Mark]) -> None:
        self._writer.clear("marks")
        rows = [(node, channel, str(sequence), _real(time)) for node, channel, sequence, time in marks]
        self._writer.add("marks", rows)

    def _prune(self, until_pruning: int) -> int:
        """Remove decisions and energy beyond what is kept if it is time; return rows until the next time."""
        if until_pruning > 0:
            return until_pruning
        for table in ("decisions", "energy"):
            newest = f"(SELECT number FROM {table} ORDER BY number DESC LIMIT 1 OFFSET ?)"  # noqa: S608 - ours
            self._writer.remove(table, f"number <= {newest}", self._kept)
        return self._kept // 10


def _open(connection: sqlite3.Connection, path: Path) -> None:
    """Check a journal, and migrate it in a transaction that is not committed."""
    version = version_of(connection, path)
    check_whole(connection, path)
    migrate(connection, path, version)


def _begin(connection: sqlite3.Connection, path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise StorageError(f"{path} may not be written")
    with using(path):
        if connection.in_transaction:
            connection.execute("COMMIT")
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    if mode != "wal":
        raise StateError(f"{path} cannot have a write-ahead log, expected a file system that shares memory")


def _real(value: float) -> float | None:
    """Return a number as SQLite gives it back."""
    return None if isnan(value) else float(value) + 0.0  # it has no NaN, and no -0.0

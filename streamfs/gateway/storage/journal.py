"""The journal: decisions, the outbox, energy and snapshots, committed in transactions."""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any

import orjson

from streamfs.errors import StateError
from streamfs.gateway.core.options import Limits
from streamfs.gateway.core.records import Mark
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.journal_schema import check_whole, migrate, undoing, using, version_of
from streamfs.procedure.procedure import Decision

_N_SNAPSHOTS = 2  # the newest, and one as a fallback
_WAL_BYTES = 64 * 2**20  # size to which the write-ahead log shrinks after a large snapshot

_PRUNING = (
    "DELETE FROM decisions WHERE number <= (SELECT number FROM decisions ORDER BY number DESC LIMIT 1 OFFSET ?)",
    "DELETE FROM energy WHERE number <= (SELECT number FROM energy ORDER BY number DESC LIMIT 1 OFFSET ?)",
)


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
    """The journal of one gateway, a SQLite file: written by one thread, read by any.

    At least `decisions_kept` decisions and as many lines of the energy log are kept. The log is needed from
    `oldest_snapshot_position` on, that of the older snapshot; 0 before there are two.
    """

    def __init__(self, path: str | PathLike[str], *, decisions_kept: int = Limits.decisions_kept) -> None:
        if decisions_kept < 1:
            raise ValueError(f"decisions_kept is {decisions_kept}, expected at least 1")
        self._kept = decisions_kept
        self._until_pruning = 0  # rows that may be added before older ones are removed
        with using(Path(path)):
            self._writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._open(Path(path))
            super().__init__(path)
        except BaseException:
            self._writer.close()
            raise
        self.repeated_decisions = 0
        self.position = self.committed_position()
        self.n_outbox = self.counts()["outbox"]
        self.oldest_snapshot_position = self._find_oldest_snapshot()

    def commit(self, entry: Entry) -> list[int]:
        """Commit an entry durably; return its publications' numbers in the outbox.

        After a StorageError nothing is committed, and the same entry may be committed again.
        """
        if entry.position < self.position:
            raise ValueError(f"position is {entry.position}, expected at least {self.position}")
        with using(self.path), undoing(self._writer):
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.execute("UPDATE progress SET position = ?", (entry.position,))
            n_repeated = self._add_decisions(entry.decisions)
            numbers = [self._add_publication(publication) for publication in entry.publications]
            n_confirmed = self._remove_publications(entry.confirmed)
            self._add_energy(entry.energy)
            if (state := entry.packed_snapshot()) is not None:
                self._add_snapshot(entry.position, state)
                self._replace_marks(entry.marks)
            oldest = self._find_oldest_snapshot()
            until_pruning = self._prune(self._until_pruning - len(entry.decisions) - len(entry.energy))
            self._writer.execute("COMMIT")
        self.position, self._until_pruning = entry.position, until_pruning
        self.repeated_decisions += n_repeated
        self.n_outbox += len(numbers) - n_confirmed
        self.oldest_snapshot_position = oldest
        return numbers

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._writer.close()

    def _open(self, path: Path) -> None:
        version_of(self._writer, path)  # before anything is changed
        check_whole(self._writer, path)
        with using(path):
            mode = self._writer.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            self._writer.execute("PRAGMA synchronous = FULL")
            self._writer.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
        if mode != "wal":
            raise StateError(f"{path} cannot have a write-ahead log, expected a file system that shares memory")
        migrate(self._writer, path)

    def _add_decisions(self, decisions: Sequence[Decision]) -> int:
        """Add decisions; return how many were known already."""
        columns = ("stream", "episode", "label", "confidence", "tick", "cost", "reason", "time")
        added = self._writer.executemany(
            f"INSERT INTO decisions ({', '.join(columns)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - ours
            "ON CONFLICT (stream, episode) DO NOTHING",
            map(attrgetter(*columns), decisions),
        )
        return len(decisions) - added.rowcount

    def _add_publication(self, publication: Publication) -> int:
        query = "INSERT INTO outbox (topic, payload, retain) VALUES (?, ?, ?)"
        row = (publication.topic, publication.payload, publication.retain)
        return self._writer.execute(query, row).lastrowid or 0

    def _remove_publications(self, numbers: Sequence[int]) -> int:
        """Remove publications; return how many were there."""
        rows = ((number,) for number in numbers)
        return self._writer.executemany("DELETE FROM outbox WHERE number = ?", rows).rowcount

    def _add_energy(self, lines: Sequence[dict[str, Any]]) -> None:
        rows = ((orjson.dumps(line).decode(),) for line in lines)
        self._writer.executemany("INSERT INTO energy (line) VALUES (?)", rows)

    def _add_snapshot(self, position: int, state: bytes) -> None:
        """Add a snapshot; remove damaged ones and all but the newest."""
        self._writer.executemany("DELETE FROM snapshots WHERE number = ?", ((number,) for number in self._torn))
        self._writer.execute(
            "INSERT INTO snapshots (position, checksum, state) VALUES (?, ?, ?)",
            (position, hashlib.sha256(state).digest(), state),
        )
        self._writer.execute(
            """
            DELETE FROM snapshots WHERE number <=
            (SELECT number FROM snapshots ORDER BY number DESC LIMIT 1 OFFSET ?)
            """,
            (_N_SNAPSHOTS,),
        )

    def _replace_marks(self, marks: Sequence[Mark]) -> None:
        self._writer.execute("DELETE FROM marks")
        rows = ((node, channel, str(sequence), time) for node, channel, sequence, time in marks)
        self._writer.executemany("INSERT INTO marks (node, channel, sequence, time) VALUES (?, ?, ?, ?)", rows)

    def _prune(self, until_pruning: int) -> int:
        """Remove decisions and energy beyond what is kept if it is time; return rows until the next time."""
        if until_pruning > 0:
            return until_pruning
        for query in _PRUNING:
            self._writer.execute(query, (self._kept,))
        return self._kept // 10

    def _find_oldest_snapshot(self) -> int:
        oldest, n = self._writer.execute("SELECT min(position), count(*) FROM snapshots").fetchone()
        return int(oldest) if n >= _N_SNAPSHOTS else 0

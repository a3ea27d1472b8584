"""Reading a journal: decisions, energy, the outbox, snapshots and sequence marks."""

import hashlib
import logging
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from math import inf
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Self

import orjson

from streamfs.base.plain_files import plain
from streamfs.errors import StateError
from streamfs.gateway.core.records import Mark
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.storage.folders import OWNERS_FILE
from streamfs.gateway.storage.journal_rows import COLUMNS, TOTALS, is_whole, selection
from streamfs.gateway.storage.journal_schema import check_version, check_whole, connect, using
from streamfs.gateway.storage.read_only import open_read_only

_log = logging.getLogger(__name__)

_NUMBERED = ("decisions", "energy", "snapshots")  # tables whose newest row has the highest number given
_HIGHEST = f"SELECT {', '.join(f'(SELECT coalesce(max(number), 0) FROM {table})' for table in _NUMBERED)}"  # noqa: S608 - ours
_SUMS = ", ".join(f"(SELECT coalesce(sum(checksum), 0) FROM {table})" for table in COLUMNS)  # noqa: S608 - ours
_TOTALS = f"{', '.join(TOTALS)}, checksum"

_REMEDY = "put back a copy of the state folder, or move it away to start afresh"


class JournalReader:
    """Read a journal, from any thread, also while a gateway writes it."""

    def __init__(self, path: str | PathLike[str], connection: sqlite3.Connection | None = None) -> None:
        self.path = Path(path)
        self._torn: set[int] = set()
        self._in_use = Lock()  # SQLite crashes when a connection is closed while another thread uses it
        self._connection = _opened(self.path) if connection is None else connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def torn_snapshots(self) -> int:
        """Number of snapshots that were found damaged."""
        return len(self._torn)

    def committed_position(self) -> int:
        """Return the position in the log up to which outputs are committed."""
        rows = self._rows(f"SELECT {_TOTALS} FROM totals")  # noqa: S608 - ours
        return self._whole_totals(rows)["position"]

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        return {table: self.count(table) for table in COLUMNS}

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(self._rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - ours

    def decisions(
        self, limit: int | None = None, *, stream: str | None = None, since: float = -inf
    ) -> list[dict[str, Any]]:
        """Return the newest `limit` decisions (by default all), oldest first, as `Decision.to_json` does.

        Those of one `stream`, if given, and of event times from `since` on, seconds since 1970, are chosen first.
        """
        conditions: dict[str, str | float] = {} if stream is None else {"stream = ?": stream}
        if since > -inf:
            conditions["time >= ?"] = since
        return [decision for _, decision in self._decisions(conditions, "DESC", limit)][::-1]

    def decisions_after(self, number: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the decisions after one with this number, oldest first, each with its own."""
        return self._decisions({"number > ?": number}, "ASC", None)

    def _decisions(
        self, conditions: Mapping[str, str | float], order: str, limit: int | None
    ) -> list[tuple[int, dict[str, Any]]]:
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        at_most = -1 if limit is None else limit  # SQLite takes -1 for no limit
        rest = f"{where}ORDER BY number {order} LIMIT ?"
        names = COLUMNS["decisions"][1:]
        return [
            (row[0], {"id": f"{row[1]}/{row[2]}", **dict(zip(names, row[1:], strict=True))})
            for row in self._whole_rows("decisions", rest, *conditions.values(), at_most)
        ]

    def energy(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the newest `limit` lines of the energy log (by default all), oldest first."""
        return [orjson.loads(line) for _, line in self._newest("energy", limit)]

    def outbox(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Publication]]:
        """Return up to `limit` unconfirmed publications with numbers above `after`, oldest first."""
        rows = self._whole_rows("outbox", "WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        return [
            (number, Publication(topic, payload, bool(retain), expiry))
            for number, topic, payload, retain, expiry in rows
        ]

    def snapshots(self) -> Iterator[tuple[int, bytes]]:
        """Yield the position and the state of each snapshot, newest first; skip and count damaged ones."""
        for number, position, digest in self._whole_rows("snapshots", "ORDER BY number DESC"):
            for (state,) in self._rows("SELECT state FROM snapshots WHERE number = ?", number):
                if isinstance(state, bytes) and hashlib.sha256(state).digest() == digest:
                    yield position, state
                else:
                    _log.warning("%s: the snapshot at record %d is damaged, and skipped", self.path, position)
                    self._torn.add(number)

    def snapshot_positions(self) -> dict[int, int]:
        """Return the positions of the snapshots by their numbers, oldest first."""
        return {number: position for number, position, _ in self._whole_rows("snapshots", "ORDER BY number")}

    def snapshot_sizes(self) -> list[dict[str, int]]:
        """Return the position and the bytes of each snapshot, oldest first."""
        rows = self._rows("SELECT position, length(state) FROM snapshots ORDER BY number")
        return [{"position": position, "bytes": n_bytes} for position, n_bytes in rows]

    def marks(self) -> list[Mark]:
        """Return the sequence marks that were written with the newest snapshot."""
        rows = self._whole_rows("marks", "ORDER BY node, channel")
        return [
            (node, channel, int(sequence), float("nan") if time is None else time)
            for node, channel, sequence, time in rows
        ]

    def highest_numbers(self) -> dict[str, int]:
        """Return the highest number of each table's rows, but not of the outbox, which rows leave."""
        (numbers,) = self._rows(_HIGHEST)
        return dict(zip(_NUMBERED, numbers, strict=True))

    def copy_to(self, path: Path) -> None:
        """Write a durable copy of the journal as of one commit, in one file that its owner alone can read."""
        path.touch(OWNERS_FILE)
        with self._in_use, using(path), closing(connect(path)) as copy:
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # readers of one with a log beside it leave files behind

    def check_sums(self) -> dict[str, int]:
        """Raise a StateError if a row has vanished, or is there again; return the totals.

        Rows are checked when they are read.
        """
        rows = self._rows(f"SELECT {_TOTALS}, {_SUMS} FROM totals")  # noqa: S608 - ours
        totals = self._whole_totals(rows)
        for table, total in zip(COLUMNS, rows[0][-len(COLUMNS) :], strict=True):
            if total != totals[table]:
                raise StateError(f"{self.path} is damaged: rows of {table} are missing or are old ones; {_REMEDY}")
        return totals

    def check(self) -> None:
        """Raise a StateError if anything is damaged: pages, indexes, a row of any table, a snapshot's state."""
        check_whole(self._connection, self.path)
        self.check_sums()
        for table in COLUMNS:
            self._whole_rows(table)
        for _ in self.snapshots():
            pass
        if self._torn:
            raise StateError(f"{self.path} is damaged: {len(self._torn)} of its snapshots; a start skips them")

    def close(self) -> None:
        """Close the file."""
        with self._in_use:
            self._connection.close()

    def _whole_totals(self, rows: list[tuple[Any, ...]]) -> dict[str, int]:
        """Return the totals, given all rows of them, each with its checksum and perhaps more."""
        if len(rows) != 1 or not is_whole(rows[0][: len(TOTALS) + 1]):
            raise StateError(f"{self.path} is damaged: the row of the table totals; {_REMEDY}")
        return dict(zip(TOTALS, rows[0], strict=False))

    def _whole_rows(self, table: str, rest: str = "", *values: str | float) -> list[tuple[Any, ...]]:
        """Return rows of a table without their checksums; raise a StateError if one is damaged."""
        rows = self._rows(f"{selection(table)} {rest}", *values)
        for row in rows:
            if not is_whole(row):
                raise StateError(f"{self.path} is damaged: row {row[0]!r} of the table {table}; {_REMEDY}")
        return [row[:-1] for row in rows]

    def _newest(self, table: str, limit: int | None) -> list[tuple[Any, ...]]:
        """Return the newest rows, oldest first."""
        at_most = -1 if limit is None else limit  # SQLite takes -1 for no limit
        return self._whole_rows(table, "ORDER BY number DESC LIMIT ?", at_most)[::-1]

    def _rows(self, query: str, *values: str | float) -> list[tuple[Any, ...]]:
        with using(self.path), self._in_use:
            return self._connection.execute(query, values).fetchall()


def _opened(path: Path) -> sqlite3.Connection:
    """Open a journal that is only read."""
    if not path.exists():
        raise StateError(f"{path} does not exist, expected a gateway's journal")
    with using(path):
        connection = open_read_only(plain(path), connect)
    try:
        check_version(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection

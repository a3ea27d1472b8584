"""Reading a journal: decisions, energy, the outbox, snapshots and sequence marks."""

import hashlib
import logging
import sqlite3
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Self

import orjson

from streamfs.errors import StateError
from streamfs.gateway.core.records import Mark
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.storage.journal_schema import check_version, using

_log = logging.getLogger(__name__)


class JournalReader:
    """Read a journal, from any thread, also while a gateway writes it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._torn: set[int] = set()
        self._reading = Lock()
        if not self.path.exists():
            raise StateError(f"{self.path} does not exist, expected a gateway's journal")
        address = f"{self.path.absolute().as_uri()}?mode=ro"
        with using(self.path):
            self._reader = sqlite3.connect(address, uri=True, check_same_thread=False)
        try:
            check_version(self._reader, self.path)
        except BaseException:
            self._reader.close()
            raise

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
        return int(self._rows("SELECT position FROM progress")[0][0])

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        tables = ("decisions", "energy", "outbox", "snapshots", "marks")
        return {table: self._rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables}  # noqa: S608 - ours

    def decisions(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the newest `limit` decisions (by default all), oldest first, as `Decision.to_json` does."""
        names = ("id", "stream", "episode", "label", "confidence", "tick", "cost", "reason", "time")
        query = """
            SELECT stream || '/' || episode, stream, episode, label, confidence, tick, cost, reason, time
            FROM decisions ORDER BY number DESC LIMIT ?
        """
        return [dict(zip(names, row, strict=True)) for row in self._newest(query, limit)]

    def energy(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the newest `limit` lines of the energy log (by default all), oldest first."""
        query = "SELECT line FROM energy ORDER BY number DESC LIMIT ?"
        return [orjson.loads(line) for (line,) in self._newest(query, limit)]

    def outbox(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Publication]]:
        """Return up to `limit` unconfirmed publications with numbers above `after`, oldest first."""
        rows = self._rows(
            "SELECT number, topic, payload, retain FROM outbox WHERE number > ? ORDER BY number LIMIT ?",
            after,
            limit,
        )
        return [(number, Publication(topic, payload, bool(retain))) for number, topic, payload, retain in rows]

    def snapshots(self) -> Iterator[tuple[int, bytes]]:
        """Yield the position and the state of each snapshot, newest first; skip and count damaged ones."""
        for (number,) in self._rows("SELECT number FROM snapshots ORDER BY number DESC"):
            query = "SELECT position, checksum, state FROM snapshots WHERE number = ?"
            for position, checksum, state in self._rows(query, number):
                if hashlib.sha256(state).digest() == checksum:
                    yield position, state
                else:
                    _log.warning("%s: the snapshot at record %d is damaged, and skipped", self.path, position)
                    self._torn.add(number)

    def snapshot_sizes(self) -> list[dict[str, int]]:
        """Return the position and the bytes of each snapshot, oldest first."""
        rows = self._rows("SELECT position, length(state) FROM snapshots ORDER BY number")
        return [{"position": position, "bytes": n_bytes} for position, n_bytes in rows]

    def marks(self) -> list[Mark]:
        """Return the sequence marks that were written with the newest snapshot."""
        rows = self._rows("SELECT node, channel, sequence, time FROM marks ORDER BY node, channel")
        return [
            (node, channel, int(sequence), float("nan") if time is None else time)
            for node, channel, sequence, time in rows
        ]

    def close(self) -> None:
        """Close the file."""
        with self._reading:
            self._reader.close()

    def _rows(self, query: str, *values: int) -> list[tuple[Any, ...]]:
        with using(self.path), self._reading:
            return self._reader.execute(query, values).fetchall()

    def _newest(self, query: str, limit: int | None) -> list[tuple[Any, ...]]:
        return self._rows(query, -1 if limit is None else limit)[::-1]  # SQLite takes -1 for no limit

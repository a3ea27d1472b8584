"""Writing rows of the journal, within transactions that keep the tables' sums."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from streamfs.gateway.storage.journal_rows import COLUMNS, TOTALS, checksum
from streamfs.gateway.storage.journal_schema import undoing

_UNCOVERED = {"snapshots": ("state",)}  # columns that the checksum does not cover


def _insertion(table: str) -> str:
    columns = (*COLUMNS[table], "checksum", *_UNCOVERED.get(table, ()))
    values = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values}) ON CONFLICT DO NOTHING"  # noqa: S608 - ours


_INSERTIONS = {table: _insertion(table) for table in COLUMNS}
_UPDATE = f"UPDATE totals SET {' = ?, '.join(TOTALS)} = ?, checksum = ?"  # noqa: S608 - ours


class JournalWriter:
    """Adds and removes rows, and keeps the sum of each table's checksums in the same transaction.

    Its `numbers` are the highest by table, its `sums` those of the checksums.
    """

    def __init__(self, connection: sqlite3.Connection, numbers: dict[str, int], sums: dict[str, int]) -> None:
        self._connection, self._numbers, self._sums = connection, numbers, sums

    @contextmanager
    def transaction(self, position: int) -> Iterator[None]:
        """Commit what is written within, and a position in the log; on any error nothing."""
        before = dict(self._numbers), dict(self._sums)
        try:
            with undoing(self._connection):
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                totals = (position, self._numbers["outbox"], *(self._sums[table] for table in COLUMNS))
                self._connection.execute(_UPDATE, (*totals, checksum(*totals)))
                self._connection.execute("COMMIT")
        except BaseException:
            self._numbers, self._sums = before
            raise

    def append(
        self, table: str, rows: Sequence[tuple[Any, ...]], uncovered: tuple[Any, ...] = ()
    ) -> tuple[int, int]:
        """Add rows under the next numbers, unless their key is known; return the first number, and how many."""
        first = self._numbers[table] + 1
        self._numbers[table] += len(rows)
        return first, self.add(table, [(number, *row) for number, row in enumerate(rows, first)], uncovered)

    def add(self, table: str, rows: Sequence[tuple[Any, ...]], uncovered: tuple[Any, ...] = ()) -> int:
        """Add rows with all their columns, unless their key is known; return how many."""
        if not rows:
            return 0
        checks = [checksum(*row) for row in rows]
        whole = [(*row, check, *uncovered) for row, check in zip(rows, checks, strict=True)]
        n_added = self._connection.executemany(_INSERTIONS[table], whole).rowcount
        if n_added == len(rows):
            self._sums[table] += sum(checks)
        else:
            query = f"SELECT sum(checksum) FROM {table} WHERE number >= ?"  # noqa: S608 - ours
            self._sums[table] += self._connection.execute(query, (rows[0][0],)).fetchone()[0] or 0
        return n_added

    def remove(self, table: str, condition: str, *values: Any) -> int:
        """Remove the rows that fulfil a condition; return how many."""
        query = f"DELETE FROM {table} WHERE {condition} RETURNING checksum"  # noqa: S608 - ours
        removed = self._connection.execute(query, values).fetchall()
        self._sums[table] -= sum(check for (check,) in removed)
        return len(removed)

    def clear(self, table: str) -> None:
        """Remove all rows."""
        self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
        self._sums[table] = 0

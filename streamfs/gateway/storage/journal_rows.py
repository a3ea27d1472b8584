"""Rows of the journal's tables: each has a checksum, and each table the sum of them."""

from typing import Any
from zlib import crc32

COLUMNS = {
    "decisions": ("number", "stream", "episode", "label", "confidence", "tick", "cost", "reason", "time"),
    "energy": ("number", "line"),
    "outbox": ("number", "topic", "payload", "retain", "expiry"),
    "snapshots": ("number", "position", "digest"),
    "marks": ("node", "channel", "sequence", "time"),
}
"""What the checksum of a row covers, by table; a snapshot's state is covered by its digest."""

TOTALS = ("position", "published", *COLUMNS)
"""The row of totals: position in the log, highest number of the outbox, and each table's sum of checksums."""


def checksum(*row: Any) -> int:
    """Return the CRC-32 of a row's values, as SQLite returns them."""
    return crc32(repr(row).encode())


def is_whole(row: tuple[Any, ...]) -> bool:
    """Whether a row is what was stored; its checksum is the last value."""
    return bool(checksum(*row[:-1]) == row[-1])


def selection(table: str) -> str:
    """Return the query of a table's rows, each with its checksum."""
    return f"SELECT {', '.join(COLUMNS[table])}, checksum FROM {table}"  # noqa: S608 - ours

"""What Home Assistant has recorded: its database in SQLite, of any schema, and the file of its history page."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC
from itertools import islice
from pathlib import Path

from streamfs.cli.histories.exports import date_of, rows_of
from streamfs.cli.histories.past_reading import PastReading, device_and_quantity, value_of
from streamfs.errors import DataError
from streamfs.gateway.storage.read_only import open_read_only

EXPORTED = ["entity_id", "state", "last_changed"]
"""The header of the history page's file."""

_STATISTICS = {"statistics_short_term": 300.0, "statistics": 3600.0}  # seconds that a mean is of
_DOMAINS = ("sensor.", "binary_sensor.")


def recorded_states(path: Path) -> Iterator[PastReading]:
    """Yield the states of sensors in a recorder's database, which is only read.

    A state that is not a number, and no word for one such as ``on``, is left out.
    """
    with _opened(path) as database:
        columns = _columns(database, "states")
        if not columns:
            raise DataError(f"{path} has no table 'states': it is not a database of Home Assistant's recorder")
        is_new = bool(_columns(database, "states_meta")) and "metadata_id" in columns
        entity = "states_meta.entity_id" if is_new else "states.entity_id"
        time = "last_updated_ts" if "last_updated_ts" in columns else "last_updated"
        attributes = _attributes(database, columns)
        joins = ["LEFT JOIN states_meta ON states_meta.metadata_id = states.metadata_id"] if is_new else []
        if attributes.startswith("state_attributes"):
            joins.append("LEFT JOIN state_attributes ON state_attributes.attributes_id = states.attributes_id")
        query = f"SELECT {entity}, states.state, states.{time}, {attributes} FROM states {' '.join(joins)}"  # noqa: S608
        yield from _read(database, f"{query} ORDER BY states.{time}", path)


def recorded_statistics(path: Path) -> Iterator[PastReading]:
    """Yield the means that a recorder keeps for ever, of an hour, or of five minutes; each is known at its end."""
    with _opened(path) as database:
        for table, seconds in _STATISTICS.items():
            columns = _columns(database, table)
            if not columns:
                raise DataError(
                    f"{path} has no table {table!r}: it has no statistics of Home Assistant's recorder"
                )
            start = "start_ts" if "start_ts" in columns else "start"
            query = (
                f"SELECT statistics_meta.statistic_id, {table}.mean, {table}.{start}, NULL FROM {table} "  # noqa: S608
                f"JOIN statistics_meta ON statistics_meta.id = {table}.metadata_id ORDER BY {table}.{start}"
            )
            for reading in _read(database, query, path):
                yield reading._replace(time=reading.time + seconds)


def exported_states(path: Path) -> Iterator[PastReading]:
    """Yield the states in a file of the history page."""
    for number, row in enumerate(islice(rows_of(path), 1, None), start=1):
        if len(row) != len(EXPORTED):
            raise DataError(f"row {number} of {path} has {len(row)} cells, expected {', '.join(EXPORTED)}")
        value = value_of(row[1])
        if value is not None:
            device, quantity = device_and_quantity(row[0])
            yield PastReading(device, _seconds(row[2], path), quantity, value)


def _read(database: sqlite3.Connection, query: str, path: Path) -> Iterator[PastReading]:
    """Yield the readings of rows of entity, state, time and attributes."""
    places: dict[str, tuple[str, str]] = {}
    for entity, state, time, attributes in database.execute(query):
        value = None if state is None else value_of(state)
        if value is None or time is None or not isinstance(entity, str) or not entity.startswith(_DOMAINS):
            continue
        kind = _kind(attributes)
        if kind or entity not in places:
            places[entity] = device_and_quantity(entity, kind)
        device, quantity = places[entity]
        yield PastReading(device, _seconds(time, path), quantity, value)


def _kind(attributes: object) -> str:
    """Return what an entity is said to measure by its attributes."""
    try:
        said = json.loads(str(attributes or "{}"))
    except (ValueError, RecursionError):
        return ""
    return str(said.get("device_class") or "") if isinstance(said, dict) else ""


def _attributes(database: sqlite3.Connection, columns: list[str]) -> str:
    """Return the column that has the attributes of a state."""
    if "attributes_id" in columns and _columns(database, "state_attributes"):
        return "state_attributes.shared_attrs"
    return "states.attributes" if "attributes" in columns else "NULL"


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database; raise a DataError if it cannot be read."""
    try:
        with closing(open_read_only(path)) as database:
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:  # of names of tables, too
        raise DataError(f"{path} cannot be read: {error}") from error


def _seconds(time: object, path: Path) -> float:
    """Return a time in seconds since 1970: dates without an offset are in UTC."""
    if isinstance(time, int | float):
        return float(time)
    date = date_of(time, path)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()

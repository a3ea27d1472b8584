"""What InfluxDB gives out: line protocol, and CSV with annotations."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from streamfs.base.plain_files import opened_text
from streamfs.cli.histories.exports import date_of, rows_of
from streamfs.cli.histories.past_reading import PastReading, device_and_quantity, value_of
from streamfs.errors import DataError

DEVICES = ("entity_id", "device", "device_id", "node", "friendly_name", "name", "sensor", "topic", "host")
"""Tags that name a device; the first that is there counts, else all tags do."""

ANNOTATIONS = ("#group", "#datatype", "#default", ",result,table,")
"""How the first row of a CSV file with annotations begins, or its header without them."""

LINE = re.compile(
    r"(?P<tags>(?:\\.|[^\s\\])+)\s+(?P<fields>(?:\"(?:\\.|[^\"\\])*\"|\\.|[^\s\\\"])+)(?:\s+(?P<time>-?\d+))?\s*$"
)
"""A line of the protocol."""

_COMMA, _EQUALS = (re.compile(rf"(?:\\.|\"(?:\\.|[^\"\\])*\"|[^{sign}\\\"])+") for sign in ",=")
_OWN = {"", "result", "table", "_start", "_stop", "_time", "_value", "_field", "_measurement"}
_UNITS = (1e17, 1e9), (1e14, 1e6), (1e11, 1e3)  # from this size on, units of which that number makes a second


def lines(path: Path) -> Iterator[PastReading]:
    """Yield the numbers in a file of line protocol; times are told by their size, nanoseconds by default."""
    with opened_text(path) as file:
        for number, text in enumerate(file, start=1):
            line = text.strip()
            if not line or line.startswith("#"):
                continue
            found = LINE.fullmatch(line)
            if found is None or found["time"] is None:
                raise DataError(f"line {number} of {path} is {line[:60]!r}, expected line protocol with a time")
            measurement, *pairs = _COMMA.findall(found["tags"])
            tags = dict(_pair(pair) for pair in pairs)
            for pair in _COMMA.findall(found["fields"]):
                field, said = _pair(pair)
                value = value_of(said[:-1] if re.fullmatch(r"-?\d+[iu]", said) else said.strip('"'))
                if value is not None:
                    place = _place(_plain(measurement), field, tags)
                    yield PastReading(place[0], _seconds(int(found["time"])), place[1], value)


def annotated(path: Path) -> Iterator[PastReading]:
    """Yield the numbers in a CSV file with annotations, which may hold several tables."""
    header: list[str] = []
    for number, row in enumerate(rows_of(path), start=1):
        if not any(row) or row[0].startswith("#"):
            header = []
        elif not header:
            header = row
            for column in ("_time", "_value", "_field", "_measurement"):
                if column not in row:
                    raise DataError(f"{path} has no column {column!r}, only {', '.join(row)}")
        elif len(row) != len(header):
            raise DataError(f"row {number} of {path} has {len(row)} cells, expected {len(header)}")
        else:
            yield from _of_row(dict(zip(header, row, strict=True)), path)


def _of_row(cells: Mapping[str, str], path: Path) -> Iterator[PastReading]:
    """Yield the number in a row of a table, if it has one."""
    value = value_of(cells["_value"])
    if value is not None:
        tags = {name: cell for name, cell in cells.items() if name not in _OWN and cell}
        device, quantity = _place(cells["_measurement"], cells["_field"], tags)
        yield PastReading(device, date_of(cells["_time"], path).timestamp(), quantity, value)


def _place(measurement: str, field: str, tags: Mapping[str, str]) -> tuple[str, str]:
    """Return device and quantity; Home Assistant writes the unit as the measurement and the field ``value``."""
    named = next((tags[tag] for tag in DEVICES if tag in tags), None)
    if field == "value" and "entity_id" in tags:
        return device_and_quantity(tags["entity_id"], tags.get("device_class", ""))
    return named or "/".join(tags.values()) or measurement, measurement if field == "value" else field


def _pair(text: str) -> tuple[str, str]:
    """Return the parts of a tag or field."""
    key = _EQUALS.match(text)
    name = key[0] if key else ""
    return _plain(name), _plain(text[len(name) + 1 :])


def _plain(text: str) -> str:
    """Return a text without its escapes."""
    return re.sub(r"\\([,= \\\"])", r"\1", text)


def _seconds(number: int) -> float:
    return float(number / next((unit for least, unit in _UNITS if abs(number) >= least), 1.0))

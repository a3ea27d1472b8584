"""Which history a file is: found by what it begins with."""

from collections.abc import Iterator
from pathlib import Path

from streamfs.base.plain_files import opened_text
from streamfs.cli.histories.home_assistant import EXPORTED, exported_states, recorded_states, recorded_statistics
from streamfs.cli.histories.influx import ANNOTATIONS, LINE, annotated, lines
from streamfs.cli.histories.mosquitto_sub import is_printed, printed
from streamfs.cli.histories.past_reading import PastReading
from streamfs.cli.histories.zigbee2mqtt import PUBLISHED, published

DATABASE = b"SQLite format 3\0"
TABLES = (".csv", ".csv.gz", ".parquet")
_SEEN, _SEEN_CHARACTERS = 500, 1 << 20  # lines, and characters in them


def history(path: Path, time_zone: str = "UTC", *, statistics: bool = False) -> Iterator[PastReading] | None:
    """Return the readings of a file that another system has written; None if it is another file.

    Parameters
    ----------
    path : path
        A database of Home Assistant's recorder or a file of its history page, line protocol or annotated CSV of
        InfluxDB, a log of Zigbee2MQTT, or what mosquitto_sub has printed.
    time_zone : str
        Zone of the times of a log.
    statistics : bool
        Whether to read a recorder's statistics, which reach further back, in place of its states.
    """
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(len(DATABASE)) == DATABASE:
            return recorded_statistics(path) if statistics else recorded_states(path)
    with opened_text(path, errors="replace") as file:
        begun = (file.readline if path.name.endswith(TABLES) else file.read)(_SEEN_CHARACTERS)
    first = [line.strip() for line in begun.rstrip("\n").split("\n", _SEEN)[:_SEEN]]
    return _of_text(path, first, time_zone)


def _of_text(path: Path, first: list[str], time_zone: str) -> Iterator[PastReading] | None:
    """Return the readings of a text file, by its first lines."""
    if first and first[0].startswith(ANNOTATIONS):
        return annotated(path)
    if first and first[0].replace('"', "").split(",") == EXPORTED:
        return exported_states(path)
    if path.name.endswith(TABLES):
        return None
    if any(PUBLISHED.search(line) for line in first):
        return published(path, time_zone)
    if any(map(is_printed, first)):
        return printed(path)
    said = next((line for line in first if line and not line.startswith("#")), "")
    found = LINE.fullmatch(said)
    return lines(path) if found is not None and "=" in found["fields"] else None

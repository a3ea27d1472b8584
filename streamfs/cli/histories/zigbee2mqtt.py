"""What the log of Zigbee2MQTT says that it has published."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from streamfs.cli.histories.exports import date_of
from streamfs.cli.histories.past_reading import PastReading, value_of

PUBLISHED = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:\.\d+)?)"
    r".*?MQTT publish: topic '(?P<topic>[^']+)', payload '(?P<payload>\{.*\})'"
)
"""A line about a publication, of any version."""

_OTHERS = ("/bridge", "/availability", "/set", "/get")
_GOES_BACK = 600.0  # seconds
_NO_READINGS = {"linkquality", "last_seen", "update_available"}


def published(path: Path, time_zone: str = "UTC") -> Iterator[PastReading]:
    """Yield the numbers in what a log says was published.

    Times are those of ``last_seen``, or of the log, which are local and in `time_zone`. The bridge publishes all
    that it knows of a device whenever something changes, and when it starts: what says the same as before is
    no reading, and of a time that was there before only what has changed.
    """
    clock = _Clock(time_zone, path)
    last: dict[str, dict[str, Any]] = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            found = PUBLISHED.search(line)
            if found is None or any(part in found["topic"] for part in _OTHERS):
                continue
            said = _json(found["payload"])
            name = found["topic"].partition("/")[2] or found["topic"]
            before = last.get(name, {})
            last[name] = said
            if said == before:
                continue
            seen = said.get("last_seen")
            is_again = seen is not None and seen == before.get("last_seen")
            time = clock.seconds(found["date"] if seen is None else seen)
            for quantity, text in said.items():
                value = value_of(text)
                if value is None or quantity in _NO_READINGS or (is_again and before.get(quantity) == text):
                    continue
                yield PastReading(name, time, quantity, value)


def _json(payload: str) -> dict[str, Any]:
    try:
        said = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}


class _Clock:
    """Times of a log in seconds since 1970: the hour that clocks show twice begins anew where they go back."""

    def __init__(self, zone: str, path: Path) -> None:
        self._zone, self._path = ZoneInfo(zone), path
        self._before = 0.0
        self._fold = 0

    def seconds(self, time: object) -> float:
        """Return the seconds of a date, local if it has no offset, or of milliseconds since 1970."""
        if isinstance(time, int | float):
            return float(time) / 1e3
        date = date_of(time, self._path)
        if date.tzinfo:
            return date.timestamp()
        first, second = (date.replace(tzinfo=self._zone, fold=fold).timestamp() for fold in (0, 1))
        self._fold = int(first != second and (self._fold or first <= self._before - _GOES_BACK))
        self._before = first
        return second if self._fold else first

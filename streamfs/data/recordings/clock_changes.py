"""Local times that clocks show twice in autumn: the order of the rows tells which of both they are."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.data.recordings.blocks import Block
from streamfs.errors import DataError, LayoutError

_Mask = npt.NDArray[np.bool_]
_Places = npt.NDArray[np.intp]
_Keys = npt.NDArray[np.int64]

_DAY, _NIGHT = 86_400.0, 4 * 3600.0
_FIRST_SUNDAY = 3 * _DAY
_ZONES = "Europe/Berlin", "Europe/London", "Europe/Athens", "America/New_York", "Australia/Sydney"
"""Those that are proposed: they have no hour in common that clocks show twice."""

_KNOWN = -2.2e9, 7.2e9  # 1900 to 2198


class Repeat(NamedTuple):
    """Times that clocks show twice: seconds since 1970 at which they first begin, and how long they last."""

    begin: float
    seconds: float

    def holds(self, times: Array) -> _Mask:
        """Return which times are within it, as shown first."""
        return np.asarray((times >= self.begin) & (times < self.begin + self.seconds))


def repeats(zone: str, first: float, last: float) -> list[Repeat]:
    """Return what the clocks of a zone show twice between two times.

    Examples
    --------
    >>> (repeat,) = repeats("Europe/Berlin", 1792800000, 1793000000)
    >>> datetime.fromtimestamp(repeat.begin, ZoneInfo("Europe/Berlin")).isoformat(), repeat.seconds
    ('2026-10-25T02:00:00+02:00', 3600.0)
    """
    place = ZoneInfo(zone)

    def offset(at: float) -> float:
        return (datetime.fromtimestamp(at, place).utcoffset() or timedelta()).total_seconds()

    days = range(int(max(first, _KNOWN[0]) - _DAY), int(min(last, _KNOWN[1]) + 2 * _DAY), int(_DAY))
    offsets = [offset(day) for day in days]
    found = []
    for day, before, after in zip(days, offsets, offsets[1:], strict=False):
        if after < before:
            change = bisect_left(range(day, day + int(_DAY)), x=True, key=lambda at: offset(at) < before)
            found.append(Repeat(day + change - (before - after), before - after))
    return found


def order_repeated(blocks: Sequence[Block], n_columns: int, zone: str, what: str) -> None:
    """Move the rows of a table that show a local time for the second time behind those that show it first.

    Where the second showing begins, times go back: once in the table, or else in each stream, or in each of its
    columns, which may have only one reading in each. Raise a DataError that begins with `what` if they do not.
    """
    ends = [end for block in blocks if block.is_local for end in block.ends]
    for repeat in repeats(zone, min(ends), max(ends)) if ends else ():
        rows = _chosen(blocks, n_columns, repeat.holds)
        is_open, is_second = np.ones(len(rows.times), dtype=bool), np.zeros(len(rows.times), dtype=bool)
        for keys in (np.zeros_like(rows.series), rows.streams, rows.series):
            for group in _groups(keys, is_open.nonzero()[0]):
                is_pair = keys is rows.series and len(group) == 2
                turn = _turn(rows.times[group], 0.0 if is_pair else repeat.seconds / 2, repeat.seconds)
                if turn is not None:
                    is_second[group[turn:]], is_open[group] = True, False
        if is_open.any():
            raise _undecided(rows.times[is_open][0], zone, what)
        for number, block in enumerate(blocks):
            block.times[rows.places[is_second & (rows.blocks == number)]] += repeat.seconds


def refuse_shown_twice(times: Array, zone: str, what: str) -> None:
    """Refuse local times that the clocks of a zone show twice, where no order tells which they are."""
    for repeat in repeats(zone, times.min(), times.max()) if len(times) else ():
        for time in times[repeat.holds(times)]:
            raise _undecided(time, zone, what)


def refuse_repeated(blocks: Sequence[Block], n_columns: int, what: str) -> None:
    """Refuse dates of a table, in no known zone, that go back as clocks do in autumn: in a night to Sunday."""
    rows = _chosen(blocks, n_columns, lambda times: (times - _FIRST_SUNDAY) % (7 * _DAY) < _NIGHT)
    _, series = np.unique(rows.series, return_inverse=True)
    for group in _groups((rows.times // _DAY).astype(np.int64) * len(rows.times) + series, np.arange(len(series))):
        turn = _turn(rows.times[group], 1800.0, 3600.0)
        if turn is not None:
            time = rows.times[group[turn]]
            zone = next(({"time_zone": each} for each in _ZONES if _shows_twice(each, time)), {})
            problem = f"{what} goes back to {_shown(time, 'UTC')}, as where clocks change in autumn"
            raise LayoutError(f"{problem}: name the time zone of the dates, or UTC if they are in order", zone)


class _Chosen(NamedTuple):
    """Some rows, the oldest first: block and place there, time, stream, and stream and column as one number."""

    blocks: _Places
    places: _Places
    times: Array
    streams: _Keys
    series: _Keys


def _chosen(blocks: Sequence[Block], n_columns: int, is_chosen: Callable[[Array], _Mask]) -> _Chosen:
    """Return the rows with a local time of those that are chosen by their times."""
    parts = []
    for number, block in enumerate(blocks):
        is_row = is_chosen(block.times) & block.timed if block.is_local else np.zeros(0, dtype=bool)
        places = is_row.nonzero()[0]
        streams = block.streams[places].astype(np.int64)
        parts.append(
            (np.full(len(places), number), places, block.times[places], streams, block.series(n_columns, places))
        )
    is_rising = sum(float(np.nansum(np.sign(np.diff(block.times)))) for block in blocks) >= 0
    return _Chosen(*(np.concatenate(each)[:: 1 if is_rising else -1] for each in zip(*parts, strict=True)))


def _groups(keys: _Keys, places: _Places) -> Iterator[_Places]:
    """Yield places of equal keys, in their order."""
    order = places[np.argsort(keys[places], kind="stable")]
    ends = np.diff(keys[order]).nonzero()[0] + 1
    yield from (group for group in np.split(order, ends) if len(group))


def _turn(times: Array, least: float, most: float) -> int | None:
    """Return where times go back by some seconds at least, if they do so once, and by no more than the most."""
    falls = times[:-1] - times[1:]
    (turns,) = (falls >= least).nonzero()
    is_one = len(turns) == 1 and falls[turns[0]] <= most
    return int(turns[0]) + 1 if is_one else None


def _shows_twice(zone: str, local: float) -> bool:
    """Return whether clocks of a zone show a time twice, given as seconds since 1970 if it were in UTC."""
    shown = datetime.fromtimestamp(local, UTC).replace(tzinfo=ZoneInfo(zone))
    return shown.timestamp() < shown.replace(fold=1).timestamp()


def _undecided(time: float, zone: str, what: str) -> DataError:
    return DataError(
        f"{what} is {_shown(time, zone)} somewhere, which {zone} has twice, and no order of rows tells which it "
        "is: record dates with an offset, or leave these rows out"
    )


def _shown(time: float, zone: str) -> str:
    return f"{datetime.fromtimestamp(time, ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"

"""Histories: what gateways and other systems have kept. How each is read, rooms further up and packages know."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from streamfs.errors import DataError

Readings = Iterator[tuple[str, float, str, float]]
"""Stream, seconds, sensor and value of each reading."""

Reader = Callable[[Path, str], Readings | None]
"""Of a path and the time zone of dates without one; None if it knows no such file."""

_READERS: list[str] = []


def register(*places: str) -> None:
    """Make readers known by where they are, such as ``module:function``; they are imported once a path is read."""
    _READERS.extend(places)


def readings_of(paths: Sequence[Path], time_zone: str) -> Readings | None:
    """Return the readings of some histories; None if these are tables, or not there."""
    found = [_history(path, time_zone) for path in paths]
    known = [readings for readings in found if readings is not None]
    if not known:
        return None
    if len(known) < len(found):
        table = paths[found.index(None)]
        raise DataError(
            f"{table} is a table of readings, and others of these files are histories: read each alone"
        )
    return chain.from_iterable(known)


def _history(path: Path, time_zone: str) -> Readings | None:
    """Return the readings of a path by the first reader that knows it."""
    return next((found for read in _readers() if (found := read(path, time_zone)) is not None), None)


def _readers() -> Iterator[Reader]:
    """Yield the readers: ours, and those of installed packages."""
    from pkgutil import resolve_name  # noqa: PLC0415 - all who import streamfs would wait for it

    from feature_extractors.own_parts import own_names, own_part  # noqa: PLC0415 - loads numpy

    yield from map(resolve_name, _READERS)
    yield from (own_part("streamfs.histories", name) for name in own_names("streamfs.histories"))

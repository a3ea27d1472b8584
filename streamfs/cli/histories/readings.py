"""Histories that gateways and other systems have kept, as readings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from streamfs.cli.histories.find import history
from streamfs.errors import DataError

if TYPE_CHECKING:
    from streamfs.gateway.settings.settings import Settings

JOURNAL = "journal.sqlite"
"""File in a gateway's state."""

Readings = Iterator[tuple[str, float, str, float]]


def readings_of(paths: Sequence[Path], time_zone: str = "UTC") -> Readings | None:
    """Return the readings of some histories; None if these are tables, or not there."""
    found = [gateway_readings(path, None, Counter()) or history(path, time_zone) for path in paths]
    known = [readings for readings in found if readings is not None]
    if not known:
        return None
    if len(known) < len(found):
        table = paths[found.index(None)]
        raise DataError(
            f"{table} is a table of readings, and others of these files are histories: read each alone"
        )
    return chain.from_iterable(known)


def gateway_readings(path: Path, settings: "Settings | None", left_out: Counter[str]) -> Readings | None:
    """Return the readings in a gateway's state, which its journal stands for, or spool; None if a path is neither.

    `settings` are those of the gateway; by default they are as its log and journal say, or else nodes publish to
    sensors/{node}/{channel}.
    """
    path = path.parent if path.name == JOURNAL and path.is_file() else path
    if not path.is_dir():
        return None
    from streamfs.gateway.storage.segment import segments  # noqa: PLC0415 - tables shall not wait for the gateway
    from streamfs.gateway.storage.state import log_folder  # noqa: PLC0415

    if not (log_folder(path).is_dir() or segments(path)):
        return None
    from streamfs.gateway.collected import collect  # noqa: PLC0415
    from streamfs.gateway.core.options import Options  # noqa: PLC0415

    routes = None if settings is None else tuple(source.route() for source in settings.sources)
    prefix = Options.prefix if settings is None else settings.prefix
    return collect(path, routes, prefix, left_out)

"""The history that a gateway has kept: its state or its spool, as readings."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamfs.gateway.collected import Collected
    from streamfs.gateway.settings.settings import Settings

JOURNAL = "journal.sqlite"
"""File in a gateway's state."""


def kept(path: Path, _time_zone: str) -> "Iterator[Collected] | None":
    """Return the readings in a gateway's state or spool, as its log says they are read; None if it is neither."""
    return gateway_readings(path, None, Counter())


def gateway_readings(
    path: Path, settings: "Settings | None", left_out: Counter[str]
) -> "Iterator[Collected] | None":
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

"""Parts that installed packages bring, by entry points: features, radios, selectors, classifiers and so on."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

GROUPS = (
    "streamfs.features",
    "streamfs.radios",
    "streamfs.selectors",
    "streamfs.learners",
    "streamfs.classifiers",
    "streamfs.stopping",
    "streamfs.devices",
    "streamfs.codecs",
    "streamfs.histories",
)
"""Groups of entry points; names of ours are looked up first, and installed packages only for others."""


@cache
def _found(group: str) -> Mapping[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=group)}


def own_names(group: str) -> tuple[str, ...]:
    """Return the names of parts that installed packages bring."""
    return tuple(_found(group))


def own_part(group: str, name: object) -> Any:
    """Load the part of a name from an installed package; None if no package brings one."""
    found = _found(group).get(name) if isinstance(name, str) else None
    return None if found is None else found.load()

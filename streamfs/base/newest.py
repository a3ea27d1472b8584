"""Dictionaries that forget what was set longest ago, so that made-up names cannot fill them."""

from typing import Any

MOST_NAMES = 32_768
"""Topics, nodes, devices or channels of which something is remembered, where anybody may make names up."""


def keep_newest(known: dict[str, Any], name: str, value: object, most: int) -> None:
    """Set a value, and of more than `most` names forget the eldest.

    Examples
    --------
    >>> known = {"a": 1, "b": 2}
    >>> keep_newest(known, "a", 3, 2)
    >>> keep_newest(known, "c", 4, 2)
    >>> known
    {'a': 3, 'c': 4}
    """
    known.pop(name, None)
    known[name] = value
    if len(known) > most:
        del known[next(iter(known))]

"""The values in a nested document, such as one of JSON, by their dotted paths: ``ENERGY.Power``."""

from collections.abc import Iterator
from typing import Any


def scalars(document: object) -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each number, truth value or text in a document.

    >>> dict(scalars({"ENERGY": {"Power": [12, 0], "Today": None}}))
    {'ENERGY.Power.0': 12, 'ENERGY.Power.1': 0}
    """
    left = [("", document)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            named = [(f"{path}.{name}" if path else str(name), each) for name, each in inner if name != ""]
            left += reversed(named)
        elif value is not None:
            yield path, value

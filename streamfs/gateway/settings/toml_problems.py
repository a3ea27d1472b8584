"""Errors of a TOML file, reported together."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamfs.errors import SettingsError
from streamfs.gateway.settings.toml_lines import Place, line_of

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Problems:
    """Collects the errors of a file; ``lines`` are those of its keys, see `lines_of`.

    Of its options, ``at_top`` are in no table.
    """

    def __init__(self, file: Path, lines: Mapping[Place, int], at_top: Sequence[str] = ()) -> None:
        self.file = file
        self.at_top = at_top
        self._lines = lines
        self._found: list[tuple[int, str]] = []

    def add(self, place: Place, text: str) -> None:
        """Add an error of a key."""
        self._found.append((line_of(place, self._lines), f"{dotted(place)} {text}".strip()))

    def report(self) -> None:
        """Raise a SettingsError with all errors, in the order of the file, if there are any."""
        if self._found:
            lines = (f"{self.file}, line {line}: {text}" for line, text in sorted(dict.fromkeys(self._found)))
            raise SettingsError("\n".join(lines))


def dotted(place: Place) -> str:
    """Return a key with the keys of the enclosing tables, without positions in arrays."""
    keys = (key for key in place if isinstance(key, str))
    return ".".join(key if _BARE.fullmatch(key) else f'"{key}"' for key in keys)

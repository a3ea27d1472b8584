"""What is wrong with a TOML file, told all at once."""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamfs.errors import SettingsError
from streamfs.gateway.settings.toml_lines import Place, line_of

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Problems:
    """What is wrong with a file.

    Parameters
    ----------
    file : pathlib.Path
        Which.
    lines : mapping of tuple to int
        Where its keys stand; see `lines_of`.
    """

    def __init__(self, file: Path, lines: Mapping[Place, int]) -> None:
        self.file = file
        self._lines = lines
        self._found: list[tuple[int, str]] = []

    def add(self, place: Place, text: str) -> None:
        """Note what is wrong with a key."""
        self._found.append((line_of(place, self._lines), f"{dotted(place)} {text}".strip()))

    def tell(self) -> None:
        """Raise all that was noted, in the order of the file.

        Raises
        ------
        SettingsError
            If anything was.
        """
        if self._found:
            lines = (f"{self.file}, line {line}: {text}" for line, text in sorted(dict.fromkeys(self._found)))
            raise SettingsError("\n".join(lines))


def dotted(place: Place) -> str:
    """Return a key with those of the tables around it; which table of an array it is, the line tells.

    Examples
    --------
    >>> dotted(("source", 0, "fields", "a.b"))
    'source.fields."a.b"'
    """
    keys = (key for key in place if isinstance(key, str))
    return ".".join(key if _BARE.fullmatch(key) else f'"{key}"' for key in keys)


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a question for the known word that is most like this one; empty if none is.

    Examples
    --------
    >>> nearest("keepalve", ["url", "keepalive"])
    '; did you mean keepalive?'
    """
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""

"""Labels that are the names of the files' folders, or what the files' own names begin with."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamfs.data.recordings.layout_words import FOLDER, NAME
from streamfs.data.recordings.rows import Rows
from streamfs.errors import DataError

_NUMBER = re.compile(r"[\s_-]*\(?\d[\d\sT:()_-]*$")
"""What is left out at the end of a file's name."""


def beginning(name: str) -> str:
    """Return what the name of a file begins with, before its first point, and before a number at its end.

    Examples
    --------
    >>> beginning("wave_03"), beginning("left-hand 2026-11-28T10-30"), beginning("wave.3f2a7c"), beginning("17")
    ('wave', 'left-hand', 'wave', '')
    """
    return _NUMBER.sub("", name.rpartition("/")[2].partition(".")[0])


PLACES_OF_FILES: dict[str | Path | None, Callable[[str, str], str]] = {
    FOLDER: lambda folder, _: folder,
    NAME: lambda _, name: beginning(name),
}
"""What the label of a file is, by its folder and its name."""


def of_files(rows: Rows, place: str) -> list[str]:
    """Return the label of each stream by its files; refuse a stream of two, and of none."""
    found = []
    for name, stream in rows.streams.items():
        labels = sorted({PLACES_OF_FILES[place](*file) for file in rows.files[stream]})
        if len(labels) > 1:
            several = " and ".join(map(repr, labels[:2]))
            what = "files in the folders" if place == FOLDER else "files that are named"
            raise DataError(f"stream {name} has {what} {several}: which is its label?")
        if not labels[0]:
            raise DataError(f"stream {name} has no label in the {place} of its file")
        found += labels
    return found


def proposed_place(rows: Rows) -> dict[str, Any]:
    """Return where the labels may be: in several folders, or in beginnings of names, several of each."""
    for place, of in PLACES_OF_FILES.items():
        counts = Counter(of(*file) for files in rows.files.values() for file in files)
        if len(counts) > 1 and "" not in counts and (place == FOLDER or min(counts.values()) > 1):
            return {"labels": place}
    return {}

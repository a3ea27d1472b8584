"""Sets of labelled series in a folder."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamfs.data.recordings.layout import Layout
from streamfs.data.recordings.tables import open_series
from streamfs.data.stream_files import read_tables
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.experiments.early.series import Split

FILE = re.compile(
    r"(?P<name>.+?)(?:_(?P<part>train|test))?\.(?:csv|csv\.gz|parquet|ts|ts\.gz|tsv|tsv\.gz)", re.IGNORECASE
)
"""The file of a set, or of a part of one."""

EXPECTED = "NAME_train and NAME_test, or NAME alone, as .csv, .csv.gz, .parquet, .ts, .ts.gz, .tsv or .tsv.gz"


@dataclass(frozen=True)
class SeriesFiles:
    """The files of a set: train and test series, or one that is split in halves by the seed."""

    train: Path
    test: Path | None = None

    def split(self, seed: int) -> Split:
        """Read the series.

        Raises
        ------
        DataError
            If a file cannot be read, series differ in length, or a reading is missing.
        """
        streams = read_series(self.train)
        halves = streams.split(0.5, seed) if self.test is None else (streams, read_series(self.test))
        try:
            return Split.of(*halves)
        except DataError as error:
            raise DataError(f"{self.train}: {error}") from error


def sets_in(folder: Path) -> Mapping[str, SeriesFiles]:
    """Find the sets of a folder, by name: its files, and those of a folder for each set, as in archives.

    Raises
    ------
    DataError
        If there is none, a part of one is missing, or one is there twice.
    """
    found: dict[str, dict[str, Path]] = defaultdict(dict)
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        match = FILE.fullmatch(path.name)
        if match and (path.parent == folder or match["name"] == path.parent.name):
            parts, part = found[match["name"]], (match["part"] or "").lower()
            if part in parts:
                raise DataError(f"{path} and {parts[part]} are the same part of {match['name']}, expected one")
            parts[part] = path
    if not found:
        raise DataError(f"{folder} has no set, expected files {EXPECTED}")
    return {name: _files(name, parts) for name, parts in found.items()}


def _files(name: str, parts: Mapping[str, Path]) -> SeriesFiles:
    if {*parts} == {""}:
        return SeriesFiles(parts[""])
    if {*parts} == {"train", "test"}:
        return SeriesFiles(parts["train"], parts["test"])
    raise DataError(f"{name} has {', '.join(path.name for path in parts.values())}, expected {EXPECTED}")


def read_series(path: Path) -> StreamSet:
    """Read a file as `StreamSet.read` does; a line of a ``.tsv`` file is a class and its series, as in UCR's."""
    if not path.name.lower().endswith((".tsv", ".tsv.gz")):
        return StreamSet.read(path)
    return StreamSet.of_read(read_tables([open_series(path)], Layout()))

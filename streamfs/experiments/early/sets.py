"""Sets of labelled series in a folder."""

import gzip
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.experiments.early.series import Split

FILE = re.compile(
    r"(?P<name>.+?)(?:_(?P<part>train|test))?\.(?:csv|csv\.gz|parquet|ts|tsv|tsv\.gz)", re.IGNORECASE
)
"""The file of a set, or of a part of one."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)

EXPECTED = "NAME_train and NAME_test, or NAME alone, as .csv, .csv.gz, .parquet, .ts, .tsv or .tsv.gz"


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
    return _read_lines(path) if path.name.lower().endswith((".tsv", ".tsv.gz")) else StreamSet.read(path)


def _read_lines(path: Path) -> StreamSet:
    """Read a class and the values of one column from each line; the first line may hold names."""
    open_file = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with open_file(path, "rt", encoding="utf-8") as lines:
            rows = [line.split("\t" if "\t" in line else None) for line in map(str.strip, lines) if line]
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    labels = [_label(row[0]) for row in rows]
    has_names = bool(rows) and not _NUMBER.fullmatch(labels[0]) and labels[0] not in labels[1:]
    series = [_values(row, f"series {number} of {path}") for number, row in enumerate(rows[has_names:], start=1)]
    lengths = {len(each) for each in series}
    if lengths <= {0}:
        raise DataError(f"{path} has no series, expected a class and values on each line")
    if len(lengths) > 1:
        raise DataError(f"series of {path} have {min(lengths)} to {max(lengths)} values, expected as many of each")
    return StreamSet(np.array(series)[..., np.newaxis], labels[has_names:], ["x0"])


def _label(cell: str) -> str:
    """Return a class, which is a word or a number, however that is written."""
    return f"{float(cell):g}" if _NUMBER.fullmatch(cell) else cell


def _values(row: list[str], place: str) -> list[float]:
    """Return the values behind a class."""
    try:
        return [float(cell) for cell in row[1:]]
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error

"""A log of the subsets that a search has scored, from which a later search continues."""

import os
from collections.abc import Sequence
from pathlib import Path

import orjson

from streamfs.base.plain_files import plain
from streamfs.errors import DataError

BEGINNING = b'{"problem":"'
"""Of each line."""


class SearchLog:
    """A file of scored subsets, one per line, written as they are scored.

    `problem` is a short name for all on which scores depend; lines of other problems are ignored. A torn last
    line, whose writer was stopped, is dropped; any other line that is not a score is a `DataError`.
    """

    def __init__(self, path: str | Path, problem: str) -> None:
        self.path = Path(path)
        self.problem = problem
        self._known: dict[frozenset[str], tuple[float, float, float, int]] = {}
        if self.path.exists():
            self._read()

    def find(self, names: Sequence[str]) -> tuple[float, float, float, int] | None:
        """Return chance, cost, shortfall and start of a subset of features; None if it has no score."""
        return self._known.get(frozenset(names))

    def add(self, names: Sequence[str], chance: float, cost: float, shortfall: float, start: int) -> None:
        """Write the score of a subset."""
        self._known[frozenset(names)] = chance, cost, shortfall, start
        known_cost = None if cost == float("inf") else cost
        line = {
            "problem": self.problem,
            "features": sorted(names),
            "chance": chance,
            "cost": known_cost,
            "shortfall": shortfall,
            "start": start,
        }
        with self.path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")

    def _read(self) -> None:
        """Read the lines; the last may be torn."""
        *lines, torn = plain(self.path).read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                found = orjson.loads(line)
                if found["problem"] == self.problem:
                    cost = float("inf") if found["cost"] is None else float(found["cost"])
                    self._known[frozenset(found["features"])] = (
                        float(found["chance"]),
                        cost,
                        float(found["shortfall"]),
                        int(found["start"]),
                    )
            except (ValueError, KeyError, TypeError) as error:
                raise self._foreign(number, line) from error
        if torn[: len(BEGINNING)] != BEGINNING[: len(torn)]:
            raise self._foreign(len(lines) + 1, torn)
        if torn:
            os.truncate(self.path, self.path.stat().st_size - len(torn))

    def _foreign(self, number: int, line: bytes) -> DataError:
        return DataError(f"line {number} of {self.path} is {line[:80]!r}, expected the score of a subset")

"""What a search has judged, kept in a file, so that a later one need not judge it again."""

import os
from collections.abc import Sequence
from pathlib import Path

import orjson

from streamfs.errors import DataError

BEGINNING = b'{"problem":"'
"""Of each line."""

Verdict = tuple[float, float, float]
"""Chance, cost and shortfall; see `Judged`."""


class Judgements:
    """A file of judged subsets, one a line, written as they are judged.

    Parameters
    ----------
    path : path
        The file; it is made where it is not there.
    problem : str
        A short name for all on which judgements depend: streams, features, promise, seed. Those of other problems
        are let be.

    Raises
    ------
    DataError
        If a whole line of the file is none of a judgement, or what is behind the last is not the beginning of one.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "judged.jsonl"
    >>> Judgements(path, "1f").keep(["mean(t)"], 0.99, 12.5, 0.0)
    >>> Judgements(path, "1f").find(["mean(t)"]), Judgements(path, "2a").find(["mean(t)"])
    ((0.99, 12.5, 0.0), None)
    """

    def __init__(self, path: str | Path, problem: str) -> None:
        self.path = Path(path)
        self.problem = problem
        self._known: dict[frozenset[str], Verdict] = {}
        if self.path.exists():
            self._read()

    def find(self, names: Sequence[str]) -> Verdict | None:
        """What was judged of a subset of features; None where nothing was."""
        return self._known.get(frozenset(names))

    def keep(self, names: Sequence[str], chance: float, cost: float, shortfall: float) -> None:
        """Write down what was judged.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        self._known[frozenset(names)] = chance, cost, shortfall
        known_cost = None if cost == float("inf") else cost
        line = {
            "problem": self.problem,
            "features": sorted(names),
            "chance": chance,
            "cost": known_cost,
            "shortfall": shortfall,
        }
        with self.path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")

    def _read(self) -> None:
        """Read the lines; the last may be torn, where its writer was stopped."""
        *lines, torn = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                found = orjson.loads(line)
                if found["problem"] == self.problem:
                    cost = float("inf") if found["cost"] is None else float(found["cost"])
                    self._known[frozenset(found["features"])] = (
                        float(found["chance"]),
                        cost,
                        float(found["shortfall"]),
                    )
            except (ValueError, KeyError, TypeError) as error:
                raise self._foreign(number, line) from error
        if torn[: len(BEGINNING)] != BEGINNING[: len(torn)]:
            raise self._foreign(len(lines) + 1, torn)
        if torn:
            os.truncate(self.path, self.path.stat().st_size - len(torn))

    def _foreign(self, number: int, line: bytes) -> DataError:
        return DataError(f"line {number} of {self.path} is {line[:80]!r}, no judgement of a search")

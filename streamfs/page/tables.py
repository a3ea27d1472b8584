"""The streams and nodes of a view, to be searched, sorted and shown a page at a time."""

from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamfs.gateway.operations.courses import key_of
from streamfs.gateway.operations.view_file import Seen

RowNumbers = npt.NDArray[np.intp]
Column = npt.NDArray[Any]

WAITING, OPEN, DECIDED = 1, 2, 3
STATUSES = {WAITING: "waiting", OPEN: "open", DECIDED: "decided"}
"""What an engine says of a stream."""

NEVER, SENDS, SILENT, STILL, MISSING, UNTOLD = (
    "never heard",
    "sending as told",
    "silent as told",
    "still sending",
    "asked, but silent",
    "not known yet",
)
CONDUCTS = (MISSING, STILL, NEVER, SENDS, SILENT, UNTOLD)
"""What a node does beside what it was told, what needs attention first."""

_SLACK = 5.0  # seconds that a message may take, beside two ticks
_PATIENT_TICKS = 10  # without a message, of a model that knows no longest silence


class NamedRows:
    """Rows with names and columns.

    Attributes
    ----------
    names : list of str
        Of the rows.
    columns : mapping of str to ndarray
        What rows can be sorted by, beside their names.
    """

    def __init__(self, names: list[str], columns: Mapping[str, Column]) -> None:
        self.names = names
        self.columns = columns

    def __len__(self) -> int:
        return len(self.names)

    def chosen(self, text: str = "", only: npt.NDArray[np.bool_] | None = None, sort: str = "name") -> RowNumbers:
        """Return the rows whose name has a text in it, in any case, sorted by a column, falling after a ``-``.

        What is not known comes last. Equal rows are in the order of their names.

        Examples
        --------
        >>> rows = NamedRows(["b", "Ab", "c"], {"age": np.array([3.0, np.nan, 1.0])})
        >>> rows.chosen("B", sort="-age").tolist()
        [0, 1]
        """
        rows = self._by_name if only is None else self._by_name[only[self._by_name]]
        if text:
            wanted, names = text.casefold(), self._folded
            rows = rows[[wanted in names[row] for row in rows.tolist()]]
        column = self.columns.get(sort.removeprefix("-"))
        if column is None:
            return rows[::-1] if sort.startswith("-") else rows
        keys = column[rows].astype(np.float64)
        return rows[np.argsort(-keys if sort.startswith("-") else keys, kind="stable")]

    def row(self, name: str) -> int | None:
        """Return the row of a name, or of the number that stands for it, in hexadecimal."""
        place = bisect_left(self._by_name, name, key=self.names.__getitem__)
        if place < len(self.names) and self.names[self._by_name[place]] == name:
            return int(self._by_name[place])
        return next((row for row, each in enumerate(self.names) if f"{key_of(each):016x}" == name), None)

    @cached_property
    def _folded(self) -> list[str]:
        """The names in lower case; those that already are, are not kept twice."""
        pairs = ((name, name.casefold()) for name in self.names)
        return [name if name == folded else folded for name, folded in pairs]

    @cached_property
    def _by_name(self) -> RowNumbers:
        return np.array(sorted(range(len(self.names)), key=self.names.__getitem__), dtype=np.intp)


class NewestReading(NamedTuple):
    """A channel's newest reading in a stream, with its age and the greatest that serves, in ticks.

    The age of one that never came is -1.
    """

    channel: str
    node: str
    value: float
    age: int
    most: int

    @property
    def state(self) -> str:
        """Whether it serves."""
        return "missing" if self.age < 0 else "too old" if self.age > self.most else ""


class SeenStreams(NamedRows):
    """The streams of all models.

    Attributes
    ----------
    models : list of dict
        What is to be known of each model.
    model : ndarray of shape (n_streams,)
        The model of each stream.
    """

    def __init__(self, seen: Seen) -> None:
        facts, arrays = seen
        self.models: list[dict[str, Any]] = facts.get("models", [])
        of_model: list[list[str]] = facts.get("streams", [])
        sizes = [len(names) for names in of_model]
        self.model = np.repeat(np.arange(len(sizes)), sizes)
        self._first = np.cumsum([0, *sizes])
        self._arrays = arrays
        self._nodes: list[str] = facts.get("nodes", [])
        self._n_channels = max(1, len(facts.get("channels", [])))
        names = ("status", "episode", "tick", "start", "confidence")
        columns = {name: self._joined(name) for name in names}
        super().__init__([name for names in of_model for name in names], columns)

    def _joined(self, name: str) -> Column:
        parts = [self._arrays[f"model{place}.{name}"] for place in range(len(self.models))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def n_slots(self) -> int:
        """Number of channels that feed any stream, counted once for each node."""
        slots = [np.unique(self._arrays[f"model{place}.slots"]) for place in range(len(self.models))]
        return len(np.unique(np.concatenate(slots))) if slots else 0

    @cached_property
    def cost_unit(self) -> str | None:
        """The unit of what decisions cost; None if it is not known, or models differ in it."""
        units = {model.get("unit") for model in self.models}
        return units.pop() if len(units) == 1 else None

    def with_status(self, word: str) -> npt.NDArray[np.bool_] | None:
        """Return which streams have a status; None, for all, if there is no such status."""
        number = next((number for number, each in STATUSES.items() if each == word), None)
        return None if number is None else self.columns["status"] == number

    def counts(self) -> dict[str, int]:
        """Return the number of streams of each status."""
        return {word: int(np.count_nonzero(self.columns["status"] == n)) for n, word in STATUSES.items()}

    def readings(self, row: int) -> list[NewestReading]:
        """Return the newest reading of each channel of a stream."""
        place = int(self.model[row])
        model, own = self.models[place], row - int(self._first[place])
        values, ages, slots = (self._arrays[f"model{place}.{name}"][own] for name in ("value", "age", "slots"))
        return [
            NewestReading(channel, self._node_of(slot), value, age, most)
            for channel, slot, value, age, most in zip(
                model["channels"], slots.tolist(), values.tolist(), ages.tolist(), model["max_ages"], strict=True
            )
        ]

    def _node_of(self, slot: int) -> str:
        node = slot // self._n_channels
        return self._nodes[node] if 0 <= node < len(self._nodes) else ""


class SeenNodes(NamedRows):
    """The nodes that have names: those that are there.

    Attributes
    ----------
    channels : list of str
        What nodes may send.
    """

    def __init__(self, seen: Seen) -> None:
        facts, arrays = seen
        names: list[str] = facts.get("nodes", [])
        kept = np.array([bool(name) for name in names], dtype=bool)
        of = {
            name.removeprefix("nodes."): array[kept] for name, array in arrays.items() if name.startswith("nodes.")
        }
        self.channels: list[str] = facts.get("channels", [])
        self.told: Column = of.pop("told", np.zeros((0, 0), dtype=bool))
        self.behind: Column = of.pop("behind", np.zeros((0, 0)))
        self._models: list[dict[str, Any]] = facts.get("models", [])
        self._written = float(facts.get("written", 0.0))
        n_left_out = sum(of[f"n_{cause}"] for cause in ("late", "duplicate", "future", "overflow")) if of else None
        columns = of if n_left_out is None else {**of, "left_out": n_left_out, "conduct": self._conducts(of)}
        super().__init__([name for name in names if name], columns)

    def _conducts(self, of: Mapping[str, Column]) -> Column:
        """Return for each node the place of what it does in `CONDUCTS`."""
        period = min((float(model["period"]) for model in self._models), default=1.0)
        silences = [model["max_silence"] for model in self._models if model["max_silence"] is not None]
        patience = max([*silences, _PATIENT_TICKS * period]) + _SLACK
        heard, told_at, is_told = of["heard"], of["told_at"], self.told.any(axis=1)
        silent_for = self._written - np.fmax(heard, told_at)
        cases = {
            UNTOLD: ~np.isfinite(told_at),
            NEVER: np.isnan(heard) & ~is_told,
            MISSING: is_told & ~(silent_for <= patience),
            SENDS: is_told,
            STILL: heard > told_at + 2 * period + _SLACK,
        }
        places = [CONDUCTS.index(word) for word in cases]
        found: Column = np.select([*cases.values()], places, CONDUCTS.index(SILENT))
        return found

    def with_conduct(self, word: str) -> npt.NDArray[np.bool_] | None:
        """Return which nodes do something; None, for all, if nobody can do that."""
        if word not in CONDUCTS or "conduct" not in self.columns:
            return None
        return np.asarray(self.columns["conduct"] == CONDUCTS.index(word))

    def counts(self) -> dict[str, int]:
        """Return how many nodes do what, of what is done."""
        if "conduct" not in self.columns:
            return {}
        numbers = np.bincount(self.columns["conduct"].astype(int), minlength=len(CONDUCTS)).tolist()
        return {word: number for word, number in zip(CONDUCTS, numbers, strict=True) if number}

    def asked(self, row: int) -> list[str]:
        """Return the channels that a node was told to send."""
        return [channel for channel, told in zip(self.channels, self.told[row].tolist(), strict=True) if told]

    def sent(self, row: int) -> list[tuple[str, float]]:
        """Return the channels that a node has sent, and how far each was behind its newest, in seconds."""
        pairs = zip(self.channels, self.behind[row].tolist(), strict=True)
        return [(channel, behind) for channel, behind in pairs if behind == behind]  # noqa: PLR0124 - NaN

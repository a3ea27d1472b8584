"""Which nodes begin to number their messages anew again and again, and what to do about it."""

import logging
from collections.abc import Sequence
from operator import eq
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streamfs.gateway.core.numbering import Numbering

if TYPE_CHECKING:
    from streamfs.gateway.core.left_out import Counts

_log = logging.getLogger(__name__)

MOST_NAMED = 10
"""Nodes that warnings name."""

MOST_LOGGED = 100
"""Nodes that the log names."""

SHARE, LEAST = 0.1, 3
"""Share of the looks at which a node has other numbers, and their number, at which it has begun anew."""

EVERY = 5.0
"""Seconds from one look to the next, which goes over all channels of all nodes."""

WINDOW = 3600.0
"""Seconds after which a look is no longer recent, or up to twice that."""

ADVICE = (
    "begins to number its messages anew again and again: two devices have its name, or it starts again and again"
)


class NumberingNotes:
    """Notes on nodes that have begun anew from look to look: warnings, and a line in the log for each.

    Two devices of one name each count for themselves, and what they say is taken for what one says.
    """

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._last: Numbering | None = None
        self._names: Sequence[str] = ()
        self._looks: Counts = np.zeros((2, 2, 0), dtype=np.int64)  # recent and older; with news, and anew
        self._turned_at = self._due_at = 0.0
        self._logged: set[str] = set()

    def is_due(self, now: float) -> bool:
        """Return whether it is time for a look, at a time in seconds on a clock that does not step."""
        return now >= self._due_at

    def update(self, numbering: Numbering, names: Sequence[str], now: float) -> None:
        """Take the newest numbers, of nodes with these names at first, at a time as in `is_due`."""
        self._due_at = now + EVERY
        last, self._last = self._last, numbering
        stays = self._meet(names, len(numbering.marks))
        if now >= self._turned_at + WINDOW:
            self._looks[1], self._looks[0], self._turned_at = self._looks[0], 0, now
        if last is not None and last.marks.shape == numbering.marks.shape:
            self._looks[0, 0] += stays & numbering.has_gone_on(last)
            self._looks[0, 1] += stays & numbering.begun_anew(last)
        with_news, anew = self._looks.sum(axis=0)
        noted = np.flatnonzero((anew >= LEAST) & (anew >= SHARE * with_news))
        self._note([f"{names[node]} {ADVICE}" for node in noted[:MOST_NAMED].tolist()], len(noted))

    def _meet(self, names: Sequence[str], n_nodes: int) -> npt.NDArray[np.bool_]:
        """Return which nodes are those of the last look, and forget looks at others: numbers are used again."""
        is_same, self._names = [*map(eq, self._names, names)], names
        stays = np.zeros(n_nodes, dtype=np.bool_)
        stays[: len(is_same)] = is_same
        known, self._looks = self._looks[:, :, :n_nodes], np.zeros((2, 2, n_nodes), dtype=np.int64)
        self._looks[:, :, : known.shape[2]] = known
        self._looks *= stays
        return stays

    def _note(self, named: list[str], n_noted: int) -> None:
        n_others = n_noted - len(named)
        self.warnings = named + [f"each of {n_others} further nodes {ADVICE}"] * (n_others > 0)
        for text in named:
            if text not in self._logged and len(self._logged) < MOST_LOGGED:
                self._logged.add(text)
                _log.warning("%s", text)

"""Which nodes begin to number their messages anew again and again, and what to do about it."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

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
        self._looks: Counts = np.zeros((2, 2, 0), dtype=np.int64)  # recent and older; with news, and anew
        self._turned_at = self._due_at = 0.0
        self._logged: set[str] = set()

    def is_due(self, now: float) -> bool:
        """Return whether it is time for a look, at a time in seconds on a clock that does not step."""
        return now >= self._due_at

    def update(self, numbering: Numbering, name: Callable[[int], str], now: float) -> None:
        """Take the newest numbers, at a time as in `is_due`."""
        self._due_at = now + EVERY
        last, self._last = self._last, numbering
        n_nodes = len(numbering.marks)
        known = self._looks[:, :, :n_nodes]
        self._looks = np.pad(known, ((0, 0), (0, 0), (0, n_nodes - known.shape[2])))
        if now >= self._turned_at + WINDOW:
            self._looks[1], self._looks[0], self._turned_at = self._looks[0], 0, now
        if last is None or last.marks.shape != numbering.marks.shape:
            return
        self._looks[0, 0] += numbering.has_gone_on(last)
        self._looks[0, 1] += numbering.begun_anew(last)
        with_news, anew = self._looks.sum(axis=0)
        noted = np.flatnonzero((anew >= LEAST) & (anew >= SHARE * with_news))
        self.warnings = [f"{name(node)} {ADVICE}" for node in noted[:MOST_NAMED].tolist()]
        if len(noted) > MOST_NAMED:
            self.warnings.append(f"each of {len(noted) - MOST_NAMED} further nodes {ADVICE}")
        for text in self.warnings[:MOST_NAMED]:
            if text not in self._logged and len(self._logged) < MOST_LOGGED:
                self._logged.add(text)
                _log.warning("%s", text)

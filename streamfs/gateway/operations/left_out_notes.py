"""Which nodes have readings that are left out, why, and what to do about it."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from streamfs.gateway.core.left_out import CAUSES, Counts

_log = logging.getLogger(__name__)

MOST_NAMED = 10
"""Nodes that warnings name for each cause."""

MOST_COUNTED = 100
"""Nodes that are counted by their names, and named in the log; all others are counted together."""

OTHERS = ""
"""What all others are called."""

SHARE, LEAST = 0.1, 10
"""Share of a node's recent readings, and their number, that must be left out for a warning."""

WINDOW = 300.0
"""Seconds after which readings are no longer recent, or up to twice that."""

ADVICE: Mapping[str, str] = {
    "late": "were late: its clock was set, or stands still, or it sends several channels in batches longer than "
    "time.lateness",
    "duplicate": "came for a tick that had one: it repeats itself, sends too often, its clock stands still, two "
    "nodes have its name, it sends no times and numbers its messages anew after fewer than 65 that say the same, "
    "or after a crash the broker sent again what it had sent",
    "overflow": "were dropped: too many wait for the stream's other node, which is behind or silent",
}
"""What has happened, and why; stamps of the future are among the warnings of clocks."""


class LeftOutNotes:
    """Notes on the readings that are left out: warnings, counts, and a line in the log for each node and cause.

    `counts` are those at the start, which no warning concerns.
    """

    def __init__(self, counts: Counts) -> None:
        self.warnings: list[str] = []
        self.counts: dict[tuple[str, str], int] = {}
        self._before = self._since = counts
        self._turned_at = 0.0
        self._counted: dict[int, str] = {}  # the nodes that are counted by their names
        self._logged: set[tuple[str, str]] = set()

    def update(self, counts: Counts, name: Callable[[int], str], now: float) -> None:
        """Take the newest counts by node, at a time in seconds on a clock that does not step."""
        if now >= self._turned_at + WINDOW:
            self._before, self._since, self._turned_at = self._since, counts, now
        self.warnings = []
        if not counts[:, 1:].any():
            self.counts = {}
            return
        recent = _since(self._before, counts)
        shares = recent / np.maximum(recent[:, :1], 1)
        is_noted = (shares >= SHARE) & (recent >= LEAST)
        for column, cause in enumerate(CAUSES, start=1):
            if cause in ADVICE and is_noted[:, column].any():
                noted = np.flatnonzero(is_noted[:, column])
                self._note(
                    cause, noted[np.argsort(-shares[noted, column], kind="stable")], shares[:, column], name
                )
        self._count(counts, name)

    def _note(
        self, cause: str, noted: Counts, shares: npt.NDArray[np.float64], name: Callable[[int], str]
    ) -> None:
        """Warn of nodes, the worst first, and log what was not logged before."""
        for node in noted[:MOST_NAMED].tolist():
            text = f"{min(100 * shares[node], 100):.0f} % of the readings of {name(node)} {ADVICE[cause]}"
            self.warnings.append(text)
            if (name(node), cause) not in self._logged and len(self._logged) < MOST_COUNTED:
                self._logged.add((name(node), cause))
                _log.warning("%s", text)
        if len(noted) > MOST_NAMED:
            self.warnings.append(f"readings of {len(noted) - MOST_NAMED} further nodes {ADVICE[cause]}")

    def _count(self, counts: Counts, name: Callable[[int], str]) -> None:
        """Count by the names of the first nodes that have readings left out, and all others together."""
        of_causes = counts[:, 1:]
        concerned = np.flatnonzero(of_causes.any(axis=1))
        self._counted = {node: of for node, of in self._counted.items() if name(node) == of}
        for node in concerned.tolist():
            if len(self._counted) == MOST_COUNTED:
                break
            if name(node):
                self._counted.setdefault(node, name(node))
        named = list(self._counted)
        found = Counter(
            {
                (of, cause): int(of_causes[node, i])
                for node, of in self._counted.items()
                for i, cause in enumerate(CAUSES)
            }
        )
        others = of_causes.sum(axis=0) - of_causes[named].sum(axis=0)
        found.update({(OTHERS, cause): int(number) for cause, number in zip(CAUSES, others, strict=True)})
        self.counts = dict(+found)


def _since(before: Counts, counts: Counts) -> Counts:
    """Return what has been counted since; a number that has fallen is that of another node."""
    recent = counts.copy()
    n_known = min(len(before), len(counts))
    recent[:n_known] -= before[:n_known]
    return np.where((recent < 0).any(axis=1, keepdims=True), counts, recent)

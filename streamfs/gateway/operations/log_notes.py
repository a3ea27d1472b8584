"""Warnings about counters that should stay 0."""

import logging
from collections.abc import Mapping

_log = logging.getLogger(__name__)

NOTES = {
    "late": "readings lag behind their streams by more than the lateness and may be left out",
    "future": "stamps are too far ahead of their node's others and are left out; is its clock wrong?",
    "shifted": "clocks of nodes were set back; their streams go on, and /readyz names them",
    "overflow": "too many readings of a stream wait for their tick; new ones are dropped",
    "labels_unused": "labels name a class that the model does not have, or a stream that is not decided",
    "lost_sessions": "the broker had forgotten the gateway's session: what came while it was away is "
    "lost; raise session_expiry, or let the broker keep sessions on its disk",
    "outbox_dropped": "publications were dropped, perhaps decisions: more waited for the broker than "
    "limits.outbox; the journal of the state has the decisions",
    "dropped": "messages were dropped, since more waited than limits.queue: of quality of service 0, or of a lost "
    "connection, which a broker that has kept the session sends again",
    "classifier_failures": "the classifier has failed on some rows, which counts as no answer at that tick",
    "lost": "sequence numbers are missing: messages were lost before the gateway, or were rejected or late",
}
"""The warnings, by counter."""


class LogNotes:
    """Logs a warning, once, when one of these counters rises."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def update(self, counters: Mapping[str, float]) -> None:
        """Log the warnings that are new."""
        for name, text in NOTES.items():
            if name not in self._logged and counters.get(name, 0):
                self._logged.add(name)
                _log.warning("%s (%s: %d; further ones are only counted)", text, name, counters[name])

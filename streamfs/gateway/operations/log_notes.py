"""What a gateway notes on once: counters that should stay 0, and what is wrong where one does not."""

import logging
from collections.abc import Mapping

_log = logging.getLogger(__name__)

NOTES = {
    "late": "readings lag behind by more than the lateness, and may be left out; is a batch longer than that?",
    "future": "stamps run too far ahead of the others, and are refused; is a clock wrong?",
    "skewed": "stamps do not agree with the clock here, and are moved",
    "overflow": "more readings wait for their tick than may, and new ones are dropped",
    "labels_unused": "labels are of a class that the model does not have, or of a stream that is not decided",
    "lost": "sequence numbers are missing: messages were lost on their way",
}
"""What to say of a counter that has risen."""


class LogNotes:
    """LogNotes on each counter that has risen, once."""

    def __init__(self) -> None:
        self._made: set[str] = set()

    def look(self, counters: Mapping[str, float]) -> None:
        """Look at the counters, and log what is new."""
        for name, text in NOTES.items():
            if name not in self._made and counters.get(name, 0):
                self._made.add(name)
                _log.warning("%s (%s: %d; further ones are only counted)", text, name, counters[name])

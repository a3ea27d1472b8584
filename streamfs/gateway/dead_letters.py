"""Messages that could not be read: told of on a topic, and in the log once a topic."""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson

from streamfs.gateway.core.options import Options
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.outbox import Outbox

MAX_TOLD = 1000
"""Topics of which the first message is logged."""

_log = logging.getLogger(__name__)


class DeadLetters:
    """Tells of rejected messages.

    Parameters
    ----------
    outbox : Outbox
        What publishes them; they are only passing.
    options : Options
        The gateway's name, and the prefix of its topics.

    Attributes
    ----------
    counters : Counter of str
        ``dead_letters`` that were to be published.
    """

    def __init__(self, outbox: Outbox, options: Options) -> None:
        self.counters = Counter(dead_letters=0)
        self._outbox = outbox
        self._options = options
        self._told: set[str] = set()

    def tell(self, rejected: Iterable[dict[str, Any]]) -> None:
        """Tell of messages, each as `Effects.rejected` has it."""
        for message in rejected:
            self.counters["dead_letters"] += 1
            self._outbox.say([dead_letter(message, self._options.prefix, self._options.name)])
            topic = message["topic"]
            if topic not in self._told and len(self._told) < MAX_TOLD:
                self._told.add(topic)
                _log.warning("%s: %s (further ones on this topic are only counted)", topic, message["error"])


def dead_letter(rejected: dict[str, Any], prefix: str, gateway: str) -> Publication:
    """Tell of a rejected message."""
    return Publication(f"{prefix}/deadletter/{gateway}", orjson.dumps(rejected), retain=False)

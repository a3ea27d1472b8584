"""Dead letters: rejected messages, published on a topic and logged once a topic."""

import logging
from collections import Counter
from collections.abc import Iterable
from time import monotonic
from typing import Any

import orjson

from streamfs.gateway.core.options import Options
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.operations.data_warnings import LastRejected
from streamfs.gateway.outbox import Outbox

MAX_LOGGED = 1000
"""Topics of which the first message is logged."""

_log = logging.getLogger(__name__)


class DeadLetters:
    """Publishes and logs rejected messages, counts them as ``dead_letters``, and keeps the last by cause."""

    def __init__(self, outbox: Outbox, options: Options) -> None:
        self.counters = Counter(dead_letters=0)
        self.last: dict[str, LastRejected] = {}
        self._outbox = outbox
        self._options = options
        self._logged: set[str] = set()

    def publish(self, rejected: Iterable[dict[str, Any]]) -> None:
        """Publish messages as `Effects.rejected` has them."""
        for message in rejected:
            self.counters["dead_letters"] += 1
            self._outbox.add_passing([dead_letter(message, self._options.prefix, self._options.name)])
            topic, cause = message["topic"], message["cause"]
            number = self.last[cause].number if cause in self.last else 0
            self.last[cause] = LastRejected(number + 1, topic, message["error"], monotonic())
            if topic not in self._logged and len(self._logged) < MAX_LOGGED:
                self._logged.add(topic)
                _log.warning("%s: %s (further ones on this topic are only counted)", topic, message["error"])


def dead_letter(rejected: dict[str, Any], prefix: str, gateway: str) -> Publication:
    """Return the publication of a rejected message."""
    return Publication(f"{prefix}/deadletter/{gateway}", orjson.dumps(rejected), retain=False)

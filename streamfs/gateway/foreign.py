"""Messages of streams that other gateways serve: dropped before they are logged."""

from collections import Counter

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.topics import LONGEST_TOPIC

MAX_TOPICS = 200_000
"""Topics of which it is remembered whose they are."""


class Foreign:
    """Drop, and count as ``foreign``, the messages of streams that another gateway serves."""

    def __init__(self, bindings: Bindings, prefix: str) -> None:
        self.counters = Counter(foreign=0)
        self._labels = f"{prefix}/label/"
        self._is_known: dict[str, bool] = {}
        self.follow(bindings)

    def follow(self, bindings: Bindings) -> None:
        """Go by other bindings."""
        self._bindings = bindings
        self._is_known.clear()

    def drop(self, messages: list[Message]) -> list[Message]:
        """Return the messages of streams that are served here."""
        if self._bindings.share is None:
            return messages
        known, find = self._is_known.get, self._find
        own = [
            message for message in messages if not (find(message[0]) if (it := known(message[0])) is None else it)
        ]
        self.counters["foreign"] += len(messages) - len(own)
        return own

    def _find(self, topic: str) -> bool:
        """Return whether another gateway serves what is published on a topic, and remember it."""
        if len(self._is_known) >= MAX_TOPICS:
            self._is_known.clear()
        if topic.startswith(self._labels):
            is_foreign = self._bindings.is_stream_elsewhere(topic.removeprefix(self._labels))
        else:
            is_foreign = self._bindings.is_foreign(topic)
        if len(topic) <= LONGEST_TOPIC:
            self._is_known[topic] = is_foreign
        return is_foreign

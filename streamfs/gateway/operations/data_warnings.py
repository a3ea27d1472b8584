"""What to do about messages and streams that are left out."""

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from streamfs.gateway.core.unheard import Unheard
from streamfs.gateway.operations.log_notes import NOTES

_log = logging.getLogger(__name__)

MOST_NAMED = 10
"""Topics that warnings name."""

MOST_LOGGED = 100
"""Topics that the log names."""

RECENT = 600.0
"""Seconds for which there is a warning after what it warns of has happened."""

_TEXTS = {
    "refused": "messages of new streams are ignored: there are limits.streams, or too many were evicted this hour",
    "evicted": "streams were evicted for new ones: there are more nodes than limits.streams, or names are made up",
    **{name: NOTES[name] for name in ("lost_sessions", "outbox_dropped", "dropped")},
}


_NOTHING = (
    "no message has come since the start: look whether anything is published where sources read, and whether the "
    "broker's access list lets the gateway read it; mosquitto grants subscriptions that it then does not serve"
)


class LastRejected(NamedTuple):
    """The last message that was rejected for a cause, with the number of them, and its monotonic time."""

    number: int
    topic: str
    error: str
    at: float


class DataWarnings:
    """Warns of messages that were rejected or feed no stream, and of streams that were refused or evicted.

    `suggest` returns what could be done about a topic, or nothing. The log names each topic once.
    """

    def __init__(self, suggest: Callable[[str], str] = lambda _: "") -> None:
        self._suggest = suggest
        self._named: set[str] = set()  # topics that the log has named
        self._n_connections = -1.0
        self._connected_at = 0.0  # monotonic time from which on this connection holds
        self._seen: dict[str, tuple[float, float]] = {}  # of each counter, and the monotonic time of its last rise

    def update(
        self,
        now: float,
        counters: Mapping[str, float],
        rejected: Mapping[str, LastRejected],
        orphans: Mapping[str, int],
        unheard: Unheard,
        *,
        is_connected: bool = True,
    ) -> list[str]:
        """Return the warnings at a monotonic time.

        Topics that feed no stream are among them as long as the gateway runs, and silence only after `RECENT`
        seconds of one connection.
        """
        if not is_connected or counters.get("connections", 0) != self._n_connections:
            self._n_connections, self._connected_at = counters.get("connections", 0), now
        found = [
            f"{number} messages are dead letters ({cause}); the last, on {topic}: {error}"
            for cause, (number, topic, error, at) in sorted(rejected.items())
            if now - at < RECENT
        ]
        for name, text in _TEXTS.items():
            number, rose_at = self._seen.get(name, (0.0, -RECENT))
            if counters.get(name, 0) > number:
                number, rose_at = self._seen[name] = counters[name], now
            if now - rose_at < RECENT:
                found.append(f"{text} ({name}: {number:.0f})")
        self._name_once(orphans)
        found += [*_of_orphans(orphans), *_of_channels(unheard)]
        if now >= self._connected_at + RECENT:
            found += [_NOTHING] * (counters.get("received") == 0) + _of_nodes(unheard)
        return found

    def _name_once(self, orphans: Mapping[str, int]) -> None:
        for topic in orphans:
            if topic not in self._named and len(self._named) < MOST_LOGGED:
                self._named.add(topic)
                why = self._suggest(topic) or "its node is not bound, or no model reads its channel"
                _log.warning("messages on %s feed no stream: %s (further ones are only counted)", topic, why)


def _of_orphans(orphans: Mapping[str, int]) -> list[str]:
    if not orphans:
        return []
    busiest = sorted(orphans, key=lambda topic: (-orphans[topic], topic))[:MOST_NAMED]
    named = ", ".join(busiest) + (", ..." if len(orphans) > MOST_NAMED else "")
    why = "since their node is not bound or no model reads their channel"
    return [f"messages on {len(orphans)} topics feed no stream, {why}: {named}"]


def _of_channels(unheard: Unheard) -> list[str]:
    """Warn of nodes that send, but not all that they are to."""
    warnings = [
        f"{node} has sent {n} readings, but never {', '.join(channels)}, for which its streams wait: compare its "
        "topics and payloads with the settings"
        for node, n, channels in unheard.partial
    ]
    further = unheard.n_partial - len(unheard.partial)
    if further:
        warnings.append(f"{further} further nodes never send a channel for which their streams wait")
    return warnings


def _of_nodes(unheard: Unheard) -> list[str]:
    """Warn of nodes that send nothing."""
    if not unheard.n_silent:
        return []
    named = ", ".join(unheard.silent) + (", ..." if unheard.n_silent > len(unheard.silent) else "")
    return [f"{unheard.n_silent} nodes have never sent anything, and their streams wait: {named}"]

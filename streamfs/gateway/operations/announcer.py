"""Announce streams to Home Assistant when they appear, and all of them when it starts."""

from collections.abc import Iterable
from importlib.metadata import version

from streamfs.gateway.core.options import Options
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.operations.discovery import discovery, gateway_discovery, is_birth, removal


class Announcer:
    """Tracks the announced streams; ``prefix`` is that of Home Assistant's topics, None announces nothing."""

    def __init__(self, options: Options, prefix: str | None) -> None:
        self._names = options.name, options.prefix
        self._prefix = prefix
        self._version = "" if prefix is None else version("streamfs")  # which reads a file
        self._announced: set[str] = set()
        self._is_known = False  # whether Home Assistant has the announcements

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics to subscribe to."""
        return () if self._prefix is None else (f"{self._prefix}/status",)

    def receive(self, topic: str, payload: bytes) -> bool:
        """Process a message; return whether it was for the announcer."""
        if topic not in self.topics:
            return False
        if self._prefix is not None and is_birth(topic, payload, self._prefix):
            self._is_known = False
        return True

    def news(self, streams: Iterable[str]) -> list[Publication]:
        """Return the announcements of new streams, and the removals of those that are gone."""
        if self._prefix is None:
            return []
        now = set(streams)
        gone = [removal(stream, self._names[0], self._prefix) for stream in sorted(self._announced - now)]
        new = [
            publication
            for stream in sorted(now - self._announced if self._is_known else now)
            for publication in discovery(stream, *self._names, self._prefix, self._version)
        ]
        self._announced = now
        if not self._is_known:
            new = gateway_discovery(*self._names, self._prefix, self._version) + new
            self._is_known = True
        return gone + new

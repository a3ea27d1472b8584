"""Announces streams to Home Assistant as they come, and all of them again when it asks."""

from collections.abc import Iterable
from importlib.metadata import version

from streamfs.gateway.core.options import Options
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.operations.discovery import discovery, gateway_discovery, is_birth, removal


class Announcer:
    """Keeps account of which streams are announced.

    Parameters
    ----------
    options : Options
        The gateway's name, and the prefix of its topics.
    prefix : str, optional
        First part of Home Assistant's topics; None announces nothing.
    """

    def __init__(self, options: Options, prefix: str | None) -> None:
        self._names = options.name, options.prefix
        self._prefix = prefix
        self._version = version("streamfs")
        self._announced: set[str] = set()
        self._is_known = False  # whether Home Assistant knows what is announced

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics to subscribe to."""
        return () if self._prefix is None else (f"{self._prefix}/status",)

    def hears(self, topic: str, payload: bytes) -> bool:
        """Take a message, and say whether it was for the announcer."""
        if topic not in self.topics:
            return False
        if self._prefix is not None and is_birth(topic, payload, self._prefix):
            self._is_known = False
        return True

    def news(self, streams: Iterable[str]) -> list[Publication]:
        """Announce the streams that are new, and take back those that have left."""
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

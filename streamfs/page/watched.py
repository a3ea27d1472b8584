"""A gateway as the page knows it: its newest view, how old that is, and what has become of it lately."""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from threading import Lock
from time import time
from typing import Any, NamedTuple

from streamfs.errors import ModelError, StateError
from streamfs.gateway.operations.actions import without_numbers
from streamfs.gateway.operations.courses import Course
from streamfs.gateway.operations.view_file import NOW, STREAMS, Seen, unpack
from streamfs.page.sources import GatewayPlace
from streamfs.page.tables import SeenNodes, SeenStreams
from streamfs.procedure.procedure import Procedure

SILENT_AFTER = 5.0
"""Seconds after which a view that should be written every second says that its gateway is not there."""

_EVERY, _MOST = 5.0, 720  # seconds between points of the past, and points: an hour

UNKNOWN, ENDED, SILENT, TROUBLE, ATTENTION, WELL = "unknown", "stopped", "silent", "trouble", "warnings", "working"
"""What may be said of a gateway."""


class PastPoint(NamedTuple):
    """What a gateway had counted at a time, in seconds since 1970."""

    time: float
    decided: int
    undecided: float
    messages: float


class StreamsAndNodes(NamedTuple):
    """Streams and nodes as they were last written, and when."""

    streams: SeenStreams
    nodes: SeenNodes
    written: float


class Now(NamedTuple):
    """What a gateway says of itself; no facts, and why, if it cannot be read.

    ``time`` is the gateway's, when it was read.
    """

    facts: Mapping[str, Any]
    error: str
    ahead: float

    @property
    def age(self) -> float:
        """Seconds since it was written."""
        return max(0.0, time() + self.ahead - float(self.facts.get("written", 0.0)))

    @property
    def state(self) -> str:
        """The gateway in a word."""
        if not self.facts:
            return UNKNOWN
        if self.facts["has_ended"]:
            return ENDED
        if self.age > max(SILENT_AFTER, 3 * float(self.facts.get("seconds", 1.0))):
            return SILENT
        return TROUBLE if self.facts["problems"] else ATTENTION if self.warnings else WELL

    @property
    def warnings(self) -> list[str]:
        """What needs attention and is not muted."""
        return [each for each in self.facts.get("warnings", []) if not self.is_muted(each)]

    def is_muted(self, warning: str) -> bool:
        """Return whether somebody has muted a warning."""
        return float(self.facts.get("muted", {}).get(without_numbers(warning), 0.0)) > time() + self.ahead


_NO_ROWS = StreamsAndNodes(SeenStreams(Seen({}, {})), SeenNodes(Seen({}, {})), 0.0)


class Watched:
    """A gateway that is looked at; may be used from any thread.

    Attributes
    ----------
    number : int
        Its place among those of the page, from 1.
    source : GatewayPlace
        Where it is found.
    """

    def __init__(self, number: int, source: GatewayPlace) -> None:
        self.number = number
        self.source = source
        self._lock = Lock()
        self._stamp: Hashable = object()
        self._now = Now({}, "", 0.0)
        self._rows = _NO_ROWS
        self._procedures: dict[str, Procedure | None] = {}
        self._past: deque[PastPoint] = deque(maxlen=_MOST)

    def now(self) -> Now:
        """Return what the gateway says of itself by now."""
        with self._lock:
            stamp = self.source.stamp()
            if stamp != self._stamp or stamp is None:
                self._stamp = stamp
                self._now = self._look()
                self._note()
            return self._now

    def moved(self) -> Hashable:
        """Return what differs from the time before if there may be something new to see."""
        now = self.now()
        return now.facts.get("written"), now.error, now.state

    def rows(self) -> StreamsAndNodes:
        """Return streams and nodes as they were last written; none if they cannot be read."""
        written = float(self.now().facts.get("rows_written", 0.0))
        with self._lock:
            if written != self._rows.written:
                try:
                    seen = unpack(self.source.fetch(STREAMS).packed)
                except StateError:
                    return self._rows
                self._rows = StreamsAndNodes(SeenStreams(seen), SeenNodes(seen), written)
            return self._rows

    def decisions(self, streams: Iterable[str], limit: int = 1) -> dict[str, list[dict[str, Any]]]:
        """Return the newest decisions of each of some streams, newest first, as far as they can be read."""
        try:
            found = self.source.decisions(streams, limit)
        except StateError:
            found = {}
        for decision in self.now().facts.get("decisions", []):  # perhaps all that there is
            if decision["stream"] not in found:
                found[decision["stream"]] = [decision]
        return found

    def courses(self, stream: str) -> list[Course]:
        """Return the course of a stream by episode, as far as it can be read."""
        try:
            return self.source.courses(stream)
        except (StateError, OSError):
            return []

    def procedure(self, digest: str) -> Procedure | None:
        """Return a model that the gateway keeps; None where its file cannot be read, or holds a pickle."""
        with self._lock:
            if digest not in self._procedures:
                self._procedures = {digest: self._loaded(digest)}
            return self._procedures[digest]

    def _loaded(self, digest: str) -> Procedure | None:
        path = next((path for path in self.source.models() if path.stem == digest), None)
        try:
            return None if path is None else Procedure.load(path)
        except (ModelError, OSError):
            return None

    @property
    def past(self) -> list[PastPoint]:
        """What was counted in the last hour, as far as somebody has looked, oldest first."""
        return [*self._past]

    @property
    def name(self) -> str:
        """What the gateway calls itself, or else where it is."""
        return str(self._now.facts.get("name") or self.source.place)

    def _look(self) -> Now:
        try:
            packed, ahead = self.source.fetch(NOW)
            return Now(unpack(packed).facts, "", ahead)
        except StateError as error:
            return Now(self._now.facts, str(error), self._now.ahead)

    def _note(self) -> None:
        """Add a point to the past, if there is something new to say."""
        facts = self._now.facts
        if not facts or (self._past and facts["written"] - self._past[-1].time < _EVERY):
            return
        decided = sum(n for _, _, n in facts["decided"])
        if self._past and decided < self._past[-1].decided:
            self._past.clear()  # it has started anew
        undecided, messages = facts["gauges"].get("streams_undecided", 0), facts["counters"].get("messages", 0)
        self._past.append(PastPoint(facts["written"], decided, undecided, messages))

"""Publications that the broker refuses: kept, and tried again ever more slowly."""

from collections import deque
from collections.abc import Iterator

from streamfs.gateway.messages.publication import Numbered, Publication

FIRST_DELAY, LONGEST_DELAY = 1.0, 300.0
"""Seconds from a refusal to the next attempt; doubled each time until one succeeds."""


class RefusedPublications:
    """Keeps the publications to refused topics, in order by topic; one at a time is tried again.

    Mosquitto ends the connection at each refusal, so the topics take turns. What is too large for the connection
    waits for the next one, and keeps no other publication back.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._too_large: dict[int, tuple[Publication, str]] = {}  # with the reasons, by number
        self._waiting: dict[str, deque[Numbered]] = {}  # by topic; the next to be tried first
        self._n = 0
        self._tried: int | None = None
        self._delay = FIRST_DELAY
        self._retry_at = 0.0  # monotonic

    def __len__(self) -> int:
        return self._n + len(self._too_large)

    @property
    def reasons(self) -> dict[str, str]:
        """Why topics, and what is too large, are refused, by topic; may be read from any thread."""
        large = self._too_large.copy()
        return {topic: reason for (topic, *_), reason in large.values()} | self._reasons

    def __contains__(self, topic: str) -> bool:
        return topic in self._waiting

    def add(self, number: int, publication: Publication) -> None:
        """Keep a publication behind the refused ones of its topic."""
        self._waiting[publication.topic].append((number, publication))
        self._n += 1

    def refuse(self, number: int, publication: Publication, reason: str, now: float) -> None:
        """Keep a publication that was refused, at a monotonic time; its topic's turn is the last."""
        topic = publication.topic
        waiting = self._waiting.pop(topic, deque())
        self._waiting[topic] = deque(sorted([(number, publication), *waiting]))
        self._reasons[topic] = reason
        self._n += 1
        self._wait(now)

    def set_aside(self, number: int, publication: Publication, reason: str) -> None:
        """Keep a publication that is too large."""
        self._too_large[number] = publication, reason
        if number == self._tried:
            self._tried = None

    def take_too_large(self) -> list[Numbered]:
        """Return what is too large, and keep it no longer."""
        taken = [(number, publication) for number, (publication, _) in self._too_large.items()]
        self._too_large.clear()
        return taken

    def drop_replaced(self, number: int, by: Publication) -> list[int]:
        """Drop what is too large and replaced by a later publication that the broker has; return the numbers."""
        dropped = [
            each
            for each, ((topic, _, is_retained, _), _) in self._too_large.items()
            if by.retain and is_retained and topic == by.topic and each < number
        ]
        for each in dropped:
            del self._too_large[each]
        return dropped

    def _wait(self, now: float) -> None:
        """Try none for a while, longer each time."""
        self._tried = None
        self._retry_at = now + self._delay
        self._delay = min(2 * self._delay, LONGEST_DELAY)

    def next(self, now: float) -> Numbered | None:
        """Return the publication that is to be tried now, if any."""
        if not self._n or self._tried is not None or now < self._retry_at:
            return None
        return next(waiting[0] for waiting in self._waiting.values() if waiting)

    def take(self, number: int, topic: str) -> None:
        """Note that the publication returned by `next` is under way."""
        self._waiting[topic].popleft()
        self._n -= 1
        self._tried = number

    def put_back(self, number: int, publication: Publication, now: float) -> bool:
        """Keep a publication that was lost with the connection; return False if its topic is not refused.

        One that was tried again may have ended the connection, as a refusal does.
        """
        if publication.topic not in self._waiting:
            return False
        waiting = self._waiting[publication.topic]
        self._waiting[publication.topic] = deque(sorted([(number, publication), *waiting]))
        self._n += 1
        if number == self._tried:
            self._wait(now)
        return True

    def drop_oldest(self, n: int) -> list[int]:
        """Drop the `n` oldest, and return their numbers; the topics stay refused until one is accepted."""
        refused = (number for waiting in self._waiting.values() for number, _ in waiting)
        dropped = sorted([*refused, *self._too_large])[:n]
        gone = set(dropped)
        n_large = len(self._too_large)
        self._too_large = {number: each for number, each in self._too_large.items() if number not in gone}
        for topic, waiting in self._waiting.items():
            self._waiting[topic] = deque(each for each in waiting if each[0] not in gone)
        self._n -= len(dropped) - (n_large - len(self._too_large))
        return dropped

    def accept(self, topic: str) -> Iterator[Numbered]:
        """Return the other publications of a topic, of which one was accepted: others may be tried at once."""
        self._tried, self._delay, self._retry_at = None, FIRST_DELAY, 0.0
        del self._reasons[topic]
        waiting = self._waiting.pop(topic)
        self._n -= len(waiting)
        return iter(waiting)

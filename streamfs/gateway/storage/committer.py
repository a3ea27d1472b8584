"""The committer: a thread that makes commits durable, so that the loop never waits for the disk."""

import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import SimpleQueue
from threading import Event, Thread
from time import perf_counter
from typing import NamedTuple, TypeVar

from streamfs.errors import StorageError
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.journal import Entry, Journal
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.mirror import Mirror

_log = logging.getLogger(__name__)

Result = TypeVar("Result")

_LAST = 0.5  # seconds for the thread to end once told to give up


class _GivenUpError(Exception):
    """The committer was stopped while the disk rejected a commit."""


class Commit(NamedTuple):
    """What is made durable together; then the messages are acknowledged. The entry's position is filled in."""

    records: Sequence[Record]
    n_messages: int
    entry: Entry


class Done(NamedTuple):
    """A durable commit: messages to acknowledge, its publications' numbers in the outbox, the commit itself."""

    n_messages: int
    numbers: list[int]
    commit: Commit


class Committer:
    """Append the records of a commit to the log, make them durable, and commit its entry to the journal.

    One commit at a time. A step that fails because the disk is full or failing is retried, ever more slowly, until
    it succeeds or the committer is stopped; earlier steps are not repeated. After a snapshot the log releases what
    is no longer needed. The mirror that `mirror` returns gets the same before anything counts as durable. When
    `done` has a result, `on_done` is called from the committer's thread; `is_storing` is False while the last
    attempt has failed.
    """

    def __init__(
        self,
        log: Log,
        journal: Journal,
        on_done: Callable[[], None],
        *,
        retry: tuple[float, float] = (0.1, 5.0),
        mirror: Callable[[], Mirror | None] = lambda: None,
    ) -> None:
        if not 0 < retry[0] <= retry[1]:
            raise ValueError(f"retry is {retry}, expected two rising numbers of seconds, more than 0")
        self.counters = Counter(commits=0, committed_records=0, commit_failures=0, release_failures=0)
        self.fsync_seconds = 0.0
        self.is_storing = True
        self.is_busy = False
        self._log, self._journal, self._on_done, self._retry = log, journal, on_done, retry
        self._mirror = mirror
        self._waiting: SimpleQueue[Commit | None] = SimpleQueue()
        self._done: deque[Done] = deque()
        self._error: Exception | None = None
        self._logged: set[str] = set()
        self._gives_up = Event()
        self._is_stopped = False
        self._thread = Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    def submit(self, commit: Commit) -> None:
        """Hand over a commit without waiting; raise a ValueError if one is under way or it is stopped."""
        if self.is_busy or self._is_stopped:
            raise ValueError(f"the committer is {'busy' if self.is_busy else 'stopped'}, expected an idle one")
        self.is_busy = True
        self._waiting.put(commit)

    def done(self) -> list[Done]:
        """Return the commits that are newly durable, without waiting; raise what has ended the thread."""
        done = [self._done.popleft() for _ in range(len(self._done))]
        if self._error is not None and not done:
            raise self._error
        return done

    def stop(self, timeout: float) -> bool:
        """End the thread after the commit under way, or `timeout` seconds; return whether all is durable."""
        self._is_stopped = True
        self._waiting.put(None)
        self._thread.join(timeout)
        self._gives_up.set()
        self._thread.join(_LAST)
        return not self.is_busy

    def _run(self) -> None:
        try:
            while commit := self._waiting.get():
                numbers = self._store(commit)
                self._done.append(Done(commit.n_messages, numbers, commit))
                self.is_busy = False
                self._on_done()
                if commit.entry.snapshot is not None:
                    self._release()
        except _GivenUpError:
            return
        except Exception as error:  # noqa: BLE001 - raised again by `done`, in the loop
            self._error, self.is_storing = error, False
            self._on_done()

    def _store(self, commit: Commit) -> list[int]:
        """Make a commit durable; return its publications' numbers."""
        position = self._attempt(lambda: self._log.append(commit.records))
        self._attempt(self._sync)
        mirror = self._mirror()
        if mirror is not None:
            self._attempt(lambda: mirror.append(commit.records))
            self._attempt(mirror.sync)
        numbers: list[int] = []
        if not commit.entry.is_empty:
            entry = replace(commit.entry, position=position, snapshot=commit.entry.packed_snapshot())
            numbers = self._attempt(lambda: self._journal.commit(entry))
        self.is_storing = True
        self.counters["commits"] += 1
        self.counters["committed_records"] += len(commit.records)
        return numbers

    def _sync(self) -> None:
        before = perf_counter()
        try:
            self._log.sync()
        finally:
            self.fsync_seconds += perf_counter() - before

    def _attempt(self, step: Callable[[], Result]) -> Result:
        """Retry a step until the disk accepts it."""
        delay, longest = self._retry
        while True:
            try:
                return step()
            except StorageError as error:
                self.is_storing = False
                self._count("commit_failures", error)
                if self._gives_up.wait(delay):
                    raise _GivenUpError from error
            delay = min(2 * delay, longest)

    def _release(self) -> None:
        """Release what no snapshot needs from the log; on failure the next snapshot tries again."""
        try:
            self._log.release(self._journal.oldest_snapshot_position)
            if (mirror := self._mirror()) is not None:
                mirror.renew(self._journal, self._log.start)
        except StorageError as error:
            self._count("release_failures", error)

    def _count(self, what: str, error: StorageError) -> None:
        self.counters[what] += 1
        text = str(error)
        if text not in self._logged:
            self._logged.add(text)
            _log.error("%s (retried until it succeeds; repetitions are only counted)", text)

"""Where a gateway makes messages and their effects durable: on disk, or nowhere."""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from itertools import count
from typing import Protocol

from streamfs.errors import StorageError
from streamfs.gateway.messages.publication import Numbered
from streamfs.gateway.storage.committer import Commit, Committer, Done
from streamfs.gateway.storage.state import State

_log = logging.getLogger(__name__)

_PAGE = 1000  # publications read at once


class Store(Protocol):
    """What a gateway needs of its store; one commit at a time."""

    @property
    def is_busy(self) -> bool:
        """Whether a commit is under way."""

    @property
    def is_storing(self) -> bool:
        """Whether the last attempt to write succeeded."""

    @property
    def keeps(self) -> bool:
        """Whether anything outlives the process."""

    @property
    def counters(self) -> Counter[str]:
        """Counters."""

    @property
    def gauges(self) -> dict[str, float]:
        """Sizes."""

    @property
    def fsync_seconds(self) -> float:
        """Seconds spent making the log durable."""

    def submit(self, commit: Commit) -> None:
        """Hand over a commit without waiting."""

    def done(self) -> list[Done]:
        """Return the commits that are newly durable."""

    def waiting(self) -> Iterable[Numbered]:
        """Return the unconfirmed publications of an earlier run, by their numbers."""

    def forget_models(self, followed: Iterable[str]) -> None:
        """Remove unneeded models after a snapshot, given the digests in use."""

    def stop(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the commit under way; return whether all is durable."""


class Nowhere:
    """Keep nothing: a commit is done at once."""

    is_busy = False
    is_storing = True
    keeps = False
    fsync_seconds = 0.0

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self.gauges: dict[str, float] = {}
        self._done: deque[Done] = deque()
        self._numbers = count(1)

    def submit(self, commit: Commit) -> None:
        """Number the publications."""
        numbers = [next(self._numbers) for _ in commit.entry.publications]
        self._done.append(Done(commit.n_messages, numbers, commit))

    def done(self) -> list[Done]:
        """Return what was submitted since the last call."""
        done, self._done = list(self._done), deque()
        return done

    def waiting(self) -> Iterable[Numbered]:
        """Return nothing."""
        return ()

    def forget_models(self, followed: Iterable[str]) -> None:
        """Do nothing."""

    def stop(self, timeout: float) -> bool:  # noqa: ARG002 - nothing is under way
        """Return at once."""
        return True


class Disk:
    """Keep everything in a state folder; `wake` is called from another thread whenever `done` has a result."""

    keeps = True

    def __init__(self, state: State, wake: Callable[[], None]) -> None:
        self._state = state
        self._committer = Committer(state.log, state.journal, wake, mirror=lambda: state.mirror)
        self.submit, self.done, self.stop = self._committer.submit, self._committer.done, self._committer.stop
        self._n_forget_failures = 0

    @property
    def is_busy(self) -> bool:
        """Whether a commit is under way."""
        return self._committer.is_busy

    @property
    def is_storing(self) -> bool:
        """Whether the last attempt to write succeeded."""
        return self._committer.is_storing

    @property
    def counters(self) -> Counter[str]:
        """The committer's counters, and what was found damaged."""
        log, journal = self._state.log, self._state.journal
        counters = Counter(self._committer.counters)
        counters["release_failures"] += self._n_forget_failures
        counters["torn_bytes"] = log.torn_bytes
        counters["torn_snapshots"] = journal.torn_snapshots
        counters["repeated_decisions"] = journal.repeated_decisions
        return counters

    @property
    def gauges(self) -> dict[str, float]:
        """Sizes of the log."""
        log = self._state.log
        return {"log_bytes": log.n_bytes, "log_segments": log.n_segments, "log_position": log.end}

    @property
    def fsync_seconds(self) -> float:
        """Seconds spent making the log durable."""
        return self._committer.fsync_seconds

    def waiting(self) -> Iterable[Numbered]:
        """Yield the publications in the outbox, by their numbers."""
        after, is_full = 0, True
        while is_full:
            page = self._state.journal.outbox(after, _PAGE)
            yield from page
            after, is_full = page[-1][0] if page else after, len(page) == _PAGE

    def forget_models(self, followed: Iterable[str]) -> None:
        """Remove the models that nothing in the folder names; on failure the next snapshot tries again."""
        try:
            self._state.forget_models(followed)
        except StorageError as error:
            self._n_forget_failures += 1
            if self._n_forget_failures == 1:
                _log.warning("%s (retried after each snapshot; repetitions are only counted)", error)

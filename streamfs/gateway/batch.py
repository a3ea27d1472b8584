"""Records and effects that are committed together."""

from collections.abc import Callable, Sequence
from time import monotonic

from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.options import Commits
from streamfs.gateway.core.records import Mark, Record
from streamfs.gateway.storage.committer import Commit
from streamfs.gateway.storage.journal import Entry


class CommitBatch:
    """Records, messages and effects that wait for the next commit."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits
        self._snapshot_due = monotonic() + commits.snapshot_seconds
        self._is_changed = False  # since the last snapshot
        self._records: list[Record] = []
        self._n_messages = 0
        self._effects = Effects()
        self._since: float | None = None

    def __len__(self) -> int:
        return self._n_messages

    def add(self, records: Sequence[Record], n_messages: int, effects: Effects) -> None:
        """Add records, the number of messages that they are from, and their effects."""
        if self._since is None and (records or n_messages or not effects.is_empty):
            self._since = monotonic()
        self._records += records
        self._n_messages += n_messages
        self._effects.add(effects)

    @property
    def n_publications(self) -> int:
        """Number of publications."""
        return len(self._effects.publications)

    @property
    def oldest(self) -> float | None:
        """Monotonic time of the first addition; None if the batch is empty."""
        return self._since

    @property
    def wait(self) -> float | None:
        """Seconds until the commit is due; None if the batch is empty."""
        if self._since is None:
            return None
        if self._n_messages >= self._commits.messages:
            return 0.0
        return max(0.0, self._since + self._commits.seconds - monotonic())

    def commit(
        self, confirmed: list[int], to_state: Callable[[], Callable[[], bytes]], marks: Callable[[], list[Mark]]
    ) -> Commit:
        """Empty the batch into a commit; one that is due a snapshot gets it from ``to_state`` and ``marks``."""
        effects = self._effects
        entry = Entry(
            decisions=effects.decisions,
            publications=effects.publications,
            energy=effects.energy,
            confirmed=confirmed,
        )
        self._is_changed = self._is_changed or bool(self._records)
        if self._is_changed and monotonic() >= self._snapshot_due:
            entry.snapshot, entry.marks = to_state(), marks()
            self._snapshot_due = monotonic() + self._commits.snapshot_seconds
            self._is_changed = False
        commit = Commit(self._records, self._n_messages, entry)
        self._records, self._n_messages, self._effects, self._since = [], 0, Effects(), None
        return commit

    def want_snapshot(self) -> None:
        """Have a snapshot with the next commit."""
        self._snapshot_due = monotonic()

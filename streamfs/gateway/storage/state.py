"""The state folder: a gateway's log, journal and models."""

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

from streamfs.errors import StateError
from streamfs.gateway.core.options import Commits, Limits
from streamfs.gateway.storage.folders import OWNERS_FILE, OWNERS_FOLDER, make_folder, sync_folder
from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.models import Models
from streamfs.gateway.storage.segment import storing

if TYPE_CHECKING:
    from streamfs.gateway.storage.mirror import Mirror


def log_folder(state: str | PathLike[str]) -> Path:
    """Return the folder of the log in a state folder."""
    return Path(state, "log")


def journal_path(state: str | PathLike[str]) -> Path:
    """Return the file of the journal in a state folder."""
    return Path(state, "journal.sqlite")


def models_folder(state: str | PathLike[str]) -> Path:
    """Return the folder of the models in a state folder."""
    return Path(state, "models")


def view_folder(state: str | PathLike[str]) -> Path:
    """Return the folder of the view in a state folder, which is no part of the state."""
    return Path(state, "view")


class State:
    """The log, journal and models of a gateway, in a folder that one gateway at a time may open.

    Until it is begun, nothing that is there is changed, so that a start that is refused leaves it as it was. What
    it makes can be read by its owner alone; of folders and files that are there, the modes stay. A `mirror` may be
    set before anything is committed.
    """

    mirror: "Mirror | None" = None

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        segment_bytes: int = Commits.segment_bytes,
        segment_seconds: float | None = None,
        spool: str | PathLike[str] | None = None,
        decisions_kept: int = Limits.decisions_kept,
    ) -> None:
        self.folder, self._journal_path = Path(folder), journal_path(folder)
        with storing(self.folder):
            make_folder(self.folder, OWNERS_FOLDER)
        with ExitStack() as exits:
            self.log = Log(  # locks the folder: first
                log_folder(folder), segment_bytes=segment_bytes, segment_seconds=segment_seconds, spool=spool
            )
            exits.callback(self.log.close)
            self._make_journal()
            exits.callback(self._forget_empty_journal)
            self.journal = Journal(self._journal_path, decisions_kept=decisions_kept)
            exits.callback(self.journal.close)
            self.models = Models(models_folder(folder))
            if self.journal.position > self.log.end:
                position, end = self.journal.position, self.log.end
                raise StateError(
                    f"{folder}: the journal is at record {position}, but the log ends at record {end}"
                )
            self._exits = exits.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> None:
        """Make log and journal ready to be written; done by the first commit, if not before."""
        self.log.begin()
        self.journal.begin()

    def forget_models(self, followed: Iterable[str]) -> None:
        """Remove the models that nothing here names, given the digests in use, after each snapshot."""
        start = min(self.log.start, self.journal.oldest_snapshot_position)
        self.models.forget_models(followed, start, self.log.end)

    def _make_journal(self) -> None:
        """Make an empty file if there is no journal; SQLite gives its other files the same mode."""
        path = self._journal_path
        if not path.exists():
            with storing(path):
                path.touch(OWNERS_FILE)
                sync_folder(self.folder)

    def _forget_empty_journal(self) -> None:
        """Remove the file of a journal that was not begun."""
        with suppress(FileNotFoundError):
            if not self._journal_path.stat().st_size:
                self._journal_path.unlink()

    def close(self) -> None:
        """Close the log and the journal."""
        self._exits.close()

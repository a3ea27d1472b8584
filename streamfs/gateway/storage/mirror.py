"""A mirror of a state, on the disk of a standby: what is acknowledged is there, too."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from streamfs.base.plain_files import plain
from streamfs.errors import StateError
from streamfs.gateway.core.options import Commits
from streamfs.gateway.core.records import MODEL, SETTINGS, START, Record
from streamfs.gateway.storage.backup import back_up
from streamfs.gateway.storage.folders import OWNERS_FILE, OWNERS_FOLDER, make_folder, sync_folder
from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.models import ENDING
from streamfs.gateway.storage.segment import segments, storing
from streamfs.gateway.storage.state import State, journal_path, log_folder, models_folder

ALSO = ("zones.json",)
"""Files of a state that others write."""

_AT_ONCE = 1000  # records that are copied together


class Mirror:
    """A copy of a state that follows it: the log commit by commit, the journal with each snapshot.

    It is itself a state, as a gateway would leave it that was killed, and a gateway can go on with it.
    """

    def __init__(self, state: State, folder: Path, segment_bytes: int = Commits.segment_bytes) -> None:
        self._state, self._folder = state.folder, folder
        if not journal_path(folder).exists():
            with storing(folder):
                if folder.exists() and any(folder.iterdir()):
                    raise StateError(f"{folder} is no mirror and not empty, expected a new folder")
                with suppress(FileNotFoundError):
                    folder.rmdir()
                make_folder(folder.parent)
            state.begin()
            back_up(self._state, folder)
        self._log = Log(log_folder(folder), segment_bytes=segment_bytes)
        try:
            self._catch_up(state)
        except BaseException:
            self._log.close()
            raise

    def append(self, records: Sequence[Record]) -> None:
        """Append the records of a commit, with the models that they name; the same may be appended again."""
        if any(record.kind in (MODEL, SETTINGS, START) for record in records):
            self._copy_files()
        self._log.append(records)

    def sync(self) -> None:
        """Make what was appended durable."""
        self._log.sync()

    def renew(self, journal: Journal, start: int) -> None:
        """Copy the journal after a snapshot, and let go of the records before where the state's log starts.

        What that still has may not be in its spool, which a standby goes on with, too.
        """
        path = journal_path(self._folder)
        partial = path.with_name(f"{path.name}.partial")
        with storing(path):
            partial.unlink(missing_ok=True)
            journal.copy_to(partial)
            partial.replace(path)
            sync_folder(self._folder)
        self._copy_files()
        self._log.release(start)

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _catch_up(self, state: State) -> None:
        """Append what the mirror lacks of a state, once that is durable there: a mirror is never ahead."""
        log = state.log
        if not log.start <= self._log.end <= log.end:
            raise StateError(
                f"{self._folder} has records up to {self._log.end}, {self._state} has {log.start} to {log.end}: a "
                "standby has gone on with the mirror, or it was away for too long; move it away to begin another"
            )
        state.begin()
        self._copy_files()
        records: list[Record] = []
        for _, record in log.read(self._log.end):
            records.append(record)
            if len(records) == _AT_ONCE:
                self._log.append(records)
                records = []
        self._log.append(records)
        self._log.sync()

    def _copy_files(self) -> None:
        """Copy the models, and the files of moved zones, that are new."""
        models = models_folder(self._state)
        for path in (*models.glob(f"*{ENDING}"), *(self._state / name for name in ALSO)):
            to = self._folder / path.relative_to(self._state)
            with storing(to), suppress(FileNotFoundError):
                if not to.exists() or to.read_bytes() != plain(path).read_bytes():
                    make_folder(to.parent, OWNERS_FOLDER)
                    partial = to.with_name(f"{to.name}.partial")
                    shutil.copyfile(path, partial)
                    partial.chmod(OWNERS_FILE)
                    partial.replace(to)
                    sync_folder(to.parent)


def sever(folder: Path) -> None:
    """Let a mirror be written by nobody else from now on: who had files open there writes to others.

    The last segment and the lock are replaced by copies.
    """
    paths = segments(log_folder(folder))
    for path in (*paths[-1:], log_folder(folder) / "lock"):
        with storing(path), suppress(FileNotFoundError):
            partial = path.with_name(f"{path.name}.severed")
            shutil.copyfile(path, partial)
            partial.chmod(OWNERS_FILE)
            partial.replace(path)
            sync_folder(path.parent)

"""The state folder: where a gateway keeps its log, its journal and its models."""

from collections.abc import Iterable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Self

from streamfs.errors import StateError
from streamfs.gateway.core.options import Commits, Limits
from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.models import Models


def log_folder(state: str | PathLike[str]) -> Path:
    """Folder of the log in a state folder."""
    return Path(state) / "log"


def journal_path(state: str | PathLike[str]) -> Path:
    """File of the journal in a state folder."""
    return Path(state) / "journal.sqlite"


def models_folder(state: str | PathLike[str]) -> Path:
    """Folder of the models in a state folder."""
    return Path(state) / "models"


class State:
    """All that a gateway keeps on disk, in one folder, which one gateway at a time may open.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    segment_bytes : int
        Size at which the log begins a new segment.
    spool : path, optional
        Folder to which the log's released segments are moved.
    decisions_kept : int
        How many decisions the journal keeps at least.

    Attributes
    ----------
    folder : Path
    log : Log
    journal : Journal
    models : Models

    Raises
    ------
    StateError
        If another gateway has opened the folder, a part of it is damaged or of another version, or log and journal
        are not of one gateway.
    StorageError
        If the folder cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, State(folder) as state:
    ...     state.log.end, state.journal.position
    (0, 0)
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        segment_bytes: int = Commits.segment_bytes,
        spool: str | PathLike[str] | None = None,
        decisions_kept: int = Limits.decisions_kept,
    ) -> None:
        self.folder = Path(folder)
        with ExitStack() as exits:
            self.log = Log(log_folder(folder), segment_bytes=segment_bytes, spool=spool)  # locks the folder: first
            exits.callback(self.log.close)
            self.journal = Journal(journal_path(folder), decisions_kept=decisions_kept)
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

    def forget_models(self, followed: Iterable[str]) -> None:
        """Remove the models that nothing here names any more; to be called after each snapshot.

        Parameters
        ----------
        followed : iterable of str
            Digests of the models that streams follow now.

        Raises
        ------
        StorageError
            If one cannot be removed.
        """
        start = min(self.log.start, self.journal.oldest_snapshot_position)
        self.models.forget_models(followed, start, self.log.end)

    def close(self) -> None:
        """Close the log and the journal."""
        self._exits.close()

"""A copy of a gateway's state that is whole, made while the gateway runs."""

import os
import shutil
from os import PathLike
from pathlib import Path

from streamfs.base.plain_files import plain
from streamfs.base.progress import Progress, quiet
from streamfs.errors import StateError
from streamfs.gateway.storage.folders import OWNERS_FILE, OWNERS_FOLDER, make_folder, sync_folder
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.models import ENDING
from streamfs.gateway.storage.segment import reading, segments, storing
from streamfs.gateway.storage.sparse_files import copy_sparse
from streamfs.gateway.storage.state import journal_path, log_folder, models_folder
from streamfs.gateway.storage.verification import verify_state

_TRIES = 5


def back_up(state: str | PathLike[str], target: str | PathLike[str], progress: Progress = quiet) -> int:
    """Copy a state folder, whose gateway may be running, and verify the copy.

    Parameters
    ----------
    state : path
        Folder of the state.
    target : path
        Folder of the copy, which must not exist; it appears when the copy is whole and durable.
    progress : callable, optional
        Told what is done, how much of it, and of how much.

    Returns
    -------
    int
        The position in the log up to which the copy has outputs.

    Raises
    ------
    StateError
        If the state has no journal, the target exists, or the copy is not whole.
    StorageError
        If a file cannot be read or written.

    Notes
    -----
    The journal is copied first, as of one commit, and the log, which is always ahead of it, afterwards. A gateway
    that took another snapshot meanwhile may have let go of segments that the copied journal needs; then the copy
    is made again.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from streamfs.gateway.storage.state import State
    >>> with TemporaryDirectory() as folder:
    ...     with State(Path(folder) / "state") as new:
    ...         new.begin()
    ...     back_up(Path(folder) / "state", Path(folder) / "copy")
    ...     sorted(path.name for path in (Path(folder) / "copy").iterdir())
    0
    ['journal.sqlite', 'log']
    """
    source, wanted = Path(state), Path(target)
    if wanted.exists():
        raise StateError(f"{wanted} exists, expected a new folder for the copy")
    partial = wanted.with_name(f"{wanted.name}.partial")
    problems: list[str] = []
    for _ in range(_TRIES):
        with storing(partial):
            shutil.rmtree(partial, ignore_errors=True)
            make_folder(partial, OWNERS_FOLDER)
        position = _copy(source, partial, progress)
        problems = [found.problem for found in verify_state(partial) if found.problem]
        if not problems:
            with storing(wanted):
                partial.rename(wanted)
                sync_folder(wanted.absolute().parent)
            return position
    raise StateError(f"{source} could not be copied whole: {problems[0]}")


def _copy(source: Path, target: Path, progress: Progress) -> int:
    """Copy journal, log and models durably; return the position of the journal."""
    with JournalReader(journal_path(source)) as journal:
        journal.copy_to(journal_path(target))
    log = log_folder(source)
    files = [log / "durable", *segments(log), *sorted(models_folder(source).glob(f"*{ENDING}"))]
    for done, path in enumerate(files):
        progress("copying files", done, len(files))
        _copy_file(path, target / path.relative_to(source))
    progress("copying files", len(files), len(files))
    with JournalReader(journal_path(target)) as copied:
        return copied.committed_position()


def _copy_file(path: Path, to: Path) -> None:
    """Copy a file durably; one that is gone by now is left out, and missed by the verification if it is needed."""
    with reading(path):
        plain(path)
    with storing(to):
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return
        make_folder(to.parent, OWNERS_FOLDER)
        with source, to.open("wb") as copy:
            copy_sparse(source, copy)
            copy.flush()
            os.fsync(copy.fileno())
        to.chmod(OWNERS_FILE)
        sync_folder(to.parent)

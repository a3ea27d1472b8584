"""Verification of a state folder: every file is read, and nothing is changed."""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import NamedTuple, ParamSpec

from streamfs.errors import ModelError, StateError, StorageError
from streamfs.gateway.storage.durable_position import check_end, known_durable
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.log_reader import check_segment, extent
from streamfs.gateway.storage.models import ENDING, check_model
from streamfs.gateway.storage.segment import find_end, first_position, segments
from streamfs.gateway.storage.state import journal_path, log_folder, models_folder

Arguments = ParamSpec("Arguments")


class Verified(NamedTuple):
    """A file of a state, and what is wrong with it; nothing if that is empty."""

    file: str
    problem: str


def verify_state(state: str | PathLike[str]) -> Iterator[Verified]:
    """Check every file of a state folder, whose gateway may be running; yield each with its first problem.

    The end of the newest segment may be torn, as after a power failure: the next start cuts that off.

    Raises
    ------
    LogError
        If the folder has no log that can be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from streamfs.gateway.storage.state import State
    >>> with TemporaryDirectory() as folder:
    ...     with State(folder) as new:
    ...         new.begin()
    ...     [(Path(file).name, problem) for file, problem in verify_state(folder)]
    [('journal.sqlite', '')]
    """
    known = known_durable(log_folder(state))  # before the log goes on
    paths = segments(log_folder(state))
    for path, following in zip_longest(paths, paths[1:]):
        until = None if following is None else first_position(following)
        yield _verified(path, _check_segment, path, until, known)
    yield _verified(journal_path(state), _check_journal, state)
    for path in sorted(models_folder(state).glob(f"*{ENDING}")):
        yield _verified(path, check_model, path)


def _check_segment(path: Path, until: int | None, known: int) -> None:
    """Check the frames of a segment, and that the last segment has what is known to be durable."""
    check_segment(path, until)
    if until is None:
        check_end(path, find_end(path)[0], known)


def _check_journal(state: str | PathLike[str]) -> None:
    """Check the journal's pages, rows and sums, and that the log has what it needs."""
    with JournalReader(journal_path(state)) as journal:
        journal.check()
        position = journal.committed_position()
        snapshots = journal.snapshot_positions().values()
    start, end, *_ = extent(log_folder(state))
    if position > end:
        raise StateError(f"{journal.path} is at record {position}, but the log ends at record {end}")
    if start > max(snapshots, default=0):
        raise StateError(f"{journal.path} has no snapshot at record {start}, where the log starts, or later")


def _verified(
    path: Path, check: Callable[Arguments, None], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Verified:
    """Return what a check of a file finds."""
    try:
        check(*args, **kwargs)
    except (StateError, StorageError, ModelError) as error:
        return Verified(str(path), str(error))
    return Verified(str(path), "")

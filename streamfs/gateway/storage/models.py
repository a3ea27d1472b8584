"""The models that the log names, kept so that a replay finds them."""

import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from streamfs.base import container
from streamfs.base.plain_files import plain, read_file
from streamfs.errors import ModelError, StorageError
from streamfs.gateway.storage.folders import OWNERS_FILE, OWNERS_FOLDER, make_folder, sync_folder
from streamfs.gateway.storage.segment import storing
from streamfs.procedure.header import LARGEST

ENDING = ".streamfs"


def check_model(path: Path) -> None:
    """Raise a ModelError if a model's file does not hold what its name says."""
    try:
        digest = container.digest(read_file(path, LARGEST))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if digest != path.stem:
        raise ModelError(f"{path} is damaged: its content has the digest {digest}")


def _has(path: Path, data: bytes) -> bool:
    """Whether a file is there, with this content, which was durable before it had its name."""
    try:
        return read_file(path, len(data)) == data
    except OSError:
        return False


class Models:
    """A folder of model files, each named after the digest of its content; created with the first.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     models = Models(folder)
    ...     digest = models.keep_model(b"a model file")
    ...     models.model_path(digest).read_bytes()
    b'a model file'
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._folder = Path(folder)
        whole = [name for name in self._names() if name.endswith(ENDING)]
        self._new = {name.removesuffix(ENDING) for name in whole}  # since models were last forgotten
        self._known: set[str] = set()  # those of the call before
        self._needed_until: dict[str, int] = {}

    def keep_model(self, data: bytes) -> str:
        """Store the content of a model file durably, and return its digest; raise a StorageError if that fails."""
        digest = container.digest(data)
        path = self.model_path(digest)
        self._new.add(digest)
        with storing(path):
            make_folder(self._folder, OWNERS_FOLDER)
            if not _has(path, data):
                container.write(plain(path), data, OWNERS_FILE)
            sync_folder(self._folder)
        return digest

    def model_path(self, digest: str) -> Path:
        """Return the path of the model with this digest, stored or not."""
        return self._folder / f"{digest}{ENDING}"

    def forget_models(self, followed: Iterable[str], start: int, end: int) -> None:
        """Remove the models that no stream, record or snapshot needs, given the digests in use and the log's ends.

        To be called after each snapshot. A model that was in use, or was added, since the last call but one counts
        as needed by records up to the end: by some that are not stored yet, or by the snapshot. If one cannot be
        removed, the others are, and a StorageError is raised.
        """
        current = self._new.union(followed)
        self._needed_until |= dict.fromkeys(current | self._known, end)
        self._new, self._known = set(), current
        failure = None
        for name in self._names():
            digest = name.removesuffix(ENDING)
            if self._needed_until.get(digest, -1) < start:  # -1: not one of ours
                path = self._folder / name
                try:
                    with storing(path):
                        path.unlink(missing_ok=True)
                except StorageError as error:
                    failure = error
                else:
                    self._needed_until.pop(digest, None)
        if failure is not None:
            raise failure

    def _names(self) -> list[str]:
        """Return the names of the models' files, also of partly written ones; none if they cannot be read."""
        try:
            with os.scandir(self._folder) as found:
                return [each.name for each in found if ENDING in each.name]
        except OSError:
            return []

"""The models that the log names, kept so that a replay finds them."""

import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from streamfs.base import container
from streamfs.errors import StorageError
from streamfs.gateway.storage.segment import storing, sync_folder

_ENDING = ".streamfs"


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
        self._new = {path.stem for path in self._folder.glob(f"*{_ENDING}")}  # since models were last forgotten
        self._known: set[str] = set()  # those of the call before
        self._needed_until: dict[str, int] = {}

    def keep_model(self, data: bytes) -> str:
        """Store the content of a model file durably, and return its digest; raise a StorageError if that fails."""
        digest = container.digest(data)
        path = self.model_path(digest)
        self._new.add(digest)
        with storing(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            container.write(path, data)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            sync_folder(self._folder)
            sync_folder(self._folder.parent)
        return digest

    def model_path(self, digest: str) -> Path:
        """Return the path of the model with this digest, stored or not."""
        return self._folder / f"{digest}{_ENDING}"

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
        for path in self._folder.glob(f"*{_ENDING}*"):  # also a partly written one
            digest = path.name.removesuffix(_ENDING)
            if self._needed_until.get(digest, -1) < start:  # -1: not one of ours
                try:
                    with storing(path):
                        path.unlink(missing_ok=True)
                except StorageError as error:
                    failure = error
                else:
                    self._needed_until.pop(digest, None)
        if failure is not None:
            raise failure

"""Models that the log names: kept beside it, so that a replay finds each."""

import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from streamfs.base import container
from streamfs.errors import StorageError
from streamfs.gateway.storage.segment import storing, sync_folder

_ENDING = ".streamfs"


class Models:
    """A folder of model files, each named after the digest of its content.

    Parameters
    ----------
    folder : path
        Where they are; made when the first is kept.

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
        self._known: set[str] = set()  # those of the time before
        self._needed_until: dict[str, int] = {}

    def keep_model(self, data: bytes) -> str:
        """Keep a model file, durably: whole or not at all.

        Parameters
        ----------
        data : bytes
            Its content.

        Returns
        -------
        str
            Its digest, `Procedure.digest` of the model.

        Raises
        ------
        StorageError
            If it cannot be written.
        """
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
        """Return the path of the model with this digest, kept or not."""
        return self._folder / f"{digest}{_ENDING}"

    def forget_models(self, followed: Iterable[str], start: int, end: int) -> None:
        """Remove the models that neither the gateway nor a record or a snapshot in its state needs any more.

        To be called after each snapshot. Whatever was followed, or was there, at this time or the last counts as
        needed by records up to the end: by some that are not stored yet, or by the snapshot.

        Parameters
        ----------
        followed : iterable of str
            Digests of the models that streams follow now.
        start, end : int
            Positions of the log's first record, and behind its last.

        Raises
        ------
        StorageError
            If one cannot be removed; the others are.
        """
        current = self._new.union(followed)
        self._needed_until |= dict.fromkeys(current | self._known, end)
        self._new, self._known = set(), current
        failure = None
        for path in self._folder.glob(f"*{_ENDING}*"):  # one that was torn while it was written, too
            digest = path.name.removesuffix(_ENDING)
            if self._needed_until.get(digest, -1) < start:  # -1: no model of ours
                try:
                    with storing(path):
                        path.unlink(missing_ok=True)
                except StorageError as error:
                    failure = error
                else:
                    self._needed_until.pop(digest, None)
        if failure is not None:
            raise failure

"""Models that the log names: kept beside it, so that a replay finds each."""

import os
from collections.abc import Container
from os import PathLike
from pathlib import Path

from streamfs import container
from streamfs.gateway.segment import storing, sync_folder


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
        return self._folder / f"{digest}.streamfs"

    def forget_models(self, except_digests: Container[str]) -> None:
        """Remove all models but some.

        Parameters
        ----------
        except_digests : container of str
            Those that stay: all that the log, a snapshot or the gateway may still name.

        Raises
        ------
        StorageError
            If one cannot be removed.
        """
        for path in self._folder.glob("*.streamfs*"):  # one that was torn while it was written, too
            if path.name.removesuffix(".streamfs") not in except_digests:
                with storing(path):
                    path.unlink()

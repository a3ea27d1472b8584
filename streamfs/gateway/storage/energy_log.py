"""The energy log: JSON lines."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from streamfs.errors import StreamfsError


class EnergyLog:
    """A file of JSON lines to append to."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._file = self._path.open("ab", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, lines: Iterable[dict[str, Any]]) -> None:
        """Append lines; raise a StreamfsError if the file cannot be written."""
        try:
            for line in lines:
                self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            raise StreamfsError(f"energy log {self._path} cannot be written: {error.strerror}") from error

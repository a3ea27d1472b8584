"""The last run on a state folder, so that a gateway knows its own status again."""

from pathlib import Path
from typing import NamedTuple, Self

import orjson

from streamfs.base import container
from streamfs.base.plain_files import read_file
from streamfs.errors import StateError
from streamfs.gateway.storage.folders import OWNERS_FILE, sync_folder
from streamfs.gateway.storage.segment import storing

FILE = "last_run.json"


class LastRun(NamedTuple):
    """The name of a run, drawn at random, and its epoch."""

    run: str = ""
    epoch: int = 0

    @classmethod
    def read(cls, state: Path) -> Self:
        """Read the last run on a state folder; that of a new folder has no name."""
        path = state / FILE
        try:
            said = orjson.loads(read_file(path))
            return cls(str(said["run"]), int(said["epoch"]))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StateError(f"{path} cannot be read, expected a run and its epoch: {error}") from error

    def write(self, state: Path) -> None:
        """Write it durably."""
        with storing(state / FILE):
            container.write(state / FILE, orjson.dumps(self._asdict()), OWNERS_FILE)
            sync_folder(state)

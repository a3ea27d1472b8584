"""Zones that a gateway has from another shard, or has lost to one: a file in its state folder."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from streamfs.base.plain_files import read_file
from streamfs.errors import StateError

FILE = "zones.json"


@dataclass(frozen=True)
class Moved:
    """Zones that have come from another shard, and those of this one that have left."""

    came: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()

    def packed(self) -> bytes:
        """Return the content of the file."""
        return orjson.dumps({"came": sorted(self.came), "left": sorted(self.left)})


def read_moved(state: Path) -> Moved:
    """Read which zones were moved to and from the gateway of a state folder; none if there is no such file."""
    path = state / FILE
    try:
        said = orjson.loads(read_file(path))
        return Moved(frozenset(said["came"]), frozenset(said["left"]))
    except FileNotFoundError:
        return Moved()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StateError(f"{path} cannot be read, expected zones that came and left: {error}") from error

"""What a job is, in what its processes need of it, and in what may not change while it has a state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

import orjson

from streamfs.base import container
from streamfs.cluster.core_shard import CoreShards
from streamfs.cluster.engine_shard import EngineShards
from streamfs.cluster.places import RecordPlaces, StreamPlaces
from streamfs.cluster.serving import loaded, require_fixed
from streamfs.errors import ModelError, StateError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.replay_configuration import described, understood
from streamfs.procedure.procedure import Procedure

FILE = "job.json"
"""What a job's folder has beside Spark's checkpoint."""


class Shards(Protocol):
    """Make and restore the shards of a job."""

    def begin(self, shard: int) -> Any:
        """Return a new one."""

    def restore(self, shard: int, packed: bytes) -> Any:
        """Return what was packed; raise a ModelError if it is damaged, or of another model."""


@dataclass(frozen=True)
class Job(ABC):
    """A job on streams that are divided into shards.

    Parameters
    ----------
    model : bytes
        The content of the model's file.
    n_shards : int
        Into how many shards the streams are divided.
    trust : bool
        Whether a pickled model may be loaded.
    """

    model: bytes
    n_shards: int
    trust: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        require_fixed(self.procedure)

    @property
    def procedure(self) -> Procedure:
        """The model."""
        return loaded(self.model, trust=self.trust)

    @property
    @abstractmethod
    def shards(self) -> Shards:
        """What makes its shards."""

    def to_json(self) -> dict[str, Any]:
        """Return what may not change."""
        return {"model": self.procedure.digest, "shards": self.n_shards}


@dataclass(frozen=True)
class Deciding(Job):
    """A job that decides recorded streams.

    Parameters
    ----------
    lateness : float
        Seconds for which a sample waits for earlier ones.
    """

    lateness: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.lateness < float("inf"):
            raise ValueError(f"lateness is {self.lateness}, expected seconds, at least 0")
        super().__post_init__()

    @property
    def places(self) -> StreamPlaces:
        """Where streams go."""
        return StreamPlaces(self.n_shards)

    @property
    def shards(self) -> EngineShards:
        """The engines of shards."""
        return EngineShards(self.procedure, self.lateness)

    def to_json(self) -> dict[str, Any]:
        """Return what may not change."""
        return {**super().to_json(), "lateness": self.lateness}


@dataclass(frozen=True)
class Following(Job):
    """A job that follows live streams.

    Parameters
    ----------
    configuration : bytes
        Bindings and options, as `described` writes them.
    begun : float
        When the job has begun, seconds since 1970.
    """

    configuration: bytes
    begun: float

    @classmethod
    def of(
        cls,
        model: bytes,
        n_shards: int,
        bindings: Bindings,
        options: Options,
        begun: float,
        *,
        trust: bool = False,
    ) -> Self:
        """Return the job of bindings and options; raise a ValueError if they cannot be written down."""
        configuration = described(bindings, options)
        if not configuration:
            raise ValueError("a route of the bindings was not made by Route.of, and cannot be passed on")
        return cls(model, n_shards, configuration, begun, trust=trust)

    @property
    def places(self) -> RecordPlaces:
        """Where records go."""
        return record_places(self.configuration, self.procedure.channels, self.n_shards)

    @property
    def shards(self) -> CoreShards:
        """The cores of shards."""
        _, options = _understood(self.configuration, self.procedure.channels)
        return CoreShards(self.procedure, self.places, options, self.begun)

    def to_json(self) -> dict[str, Any]:
        """Return what may not change."""
        said = orjson.loads(self.configuration)
        streams = container.digest(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))
        return {**super().to_json(), "streams": streams, "begun": self.begun}


@lru_cache(8)
def record_places(configuration: bytes, channels: tuple[str, ...], n_shards: int) -> RecordPlaces:
    """Return where records go, given bindings and options as `described` writes them, and the model's channels."""
    bindings, options = _understood(configuration, channels)
    return RecordPlaces(bindings, n_shards, options)


@lru_cache(8)
def _understood(configuration: bytes, channels: tuple[str, ...]) -> tuple[Bindings, Options]:
    return understood(configuration, channels)


def begun(folder: Path) -> float | None:
    """Return when the job in a folder has begun; None if there is none."""
    said = _read(folder / FILE)
    return None if said is None else said.get("begun")


def settle(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Note what a job is in its folder; raise a StateError if one that is there is another."""
    path, wanted = folder / FILE, dict(wanted)
    known = _read(path)
    if known is None:
        folder.mkdir(parents=True, exist_ok=True)
        container.write(path, orjson.dumps(wanted))
        return
    for name in sorted({*known, *wanted}):
        if known.get(name) != wanted.get(name):
            raise StateError(
                f"{folder} has a job with {name} {known.get(name)}, this one has {wanted.get(name)}: the state of "
                "its shards would not fit; give another folder"
            )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        said: dict[str, Any] = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ModelError(f"{path} is damaged: {error}") from error
    return said

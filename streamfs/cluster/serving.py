"""Models that serve on a cluster: their bytes travel to the processes, each of which loads them once."""

from functools import lru_cache

from streamfs.errors import ModelError
from streamfs.procedure.procedure import Procedure


def require_fixed(procedure: Procedure) -> Procedure:
    """Return a model; raise a ModelError if it goes on training while it serves."""
    if procedure.classifier.dump() is not None:
        raise ModelError(
            f"the model's {procedure.classifier.word} goes on training while it serves: each shard, with the "
            "labels of its own streams, would have another model; expected one that stays as it is"
        )
    return procedure


@lru_cache(8)
def loaded(packed: bytes, *, trust: bool = False) -> Procedure:
    """Return the model with this content, the same one each time."""
    return Procedure.from_packed(packed, trust=trust)

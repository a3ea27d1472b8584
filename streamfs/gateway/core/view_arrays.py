"""What can be seen of streams and nodes: copies in arrays, made within the loop and as quickly as can be."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.engine.engine import DECIDED, OPEN, WAITING
from streamfs.errors import ModelError
from streamfs.gateway.core._waiting import FOREVER
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.roster import Roster
from streamfs.procedure.card_schema import cost_unit
from streamfs.procedure.procedure import Procedure

UNKNOWN, LONGEST_AGE = -1, 2**31 - 1
"""The age of a value that never came, and the largest that is told from larger ones, in ticks."""

Copies = dict[str, npt.NDArray[Any]]

_OF_NODES = {
    "heard": "f8",
    "newest": "f8",
    "lowest": "f4",
    "shift": "f4",
    "joules": "f4",
    "messages": "i4",
    "n_readings": "i4",
    "n_late": "i4",
    "n_duplicate": "i4",
    "n_future": "i4",
    "n_overflow": "i4",
}


def stream_arrays(model: ModelStreams, joiner: Joiner) -> tuple[list[str], Copies]:
    """Return the names of a model's streams, and their status, progress, and newest value of each channel.

    ``age`` is how many ticks before the newest tick of the stream a value was of; `UNKNOWN` for none.
    """
    engine = model.engine
    rows = engine.rows(WAITING, OPEN, DECIDED)
    progress, numbers = engine.progress(rows), model.numbers(rows)
    cells = (numbers * len(joiner.columns))[:, np.newaxis] + model.columns
    ticks = joiner.cells["tick"][cells]
    with np.errstate(over="ignore"):  # readings may be as large as 1e100
        values = joiner.cells["value"][cells].astype(np.float32)
    age = np.minimum(joiner.streams["next_tick"][numbers][:, np.newaxis] - 1 - ticks, LONGEST_AGE)
    return engine.names(rows), {
        "row": rows.astype(np.int32),
        "status": engine.statuses(rows),
        "episode": progress["episode"].astype(np.int32),
        "tick": progress["tick"].astype(np.int32),
        "start": progress["start"].copy(),
        "confidence": progress["confidence"].astype(np.float32),
        "slots": model.slots(rows),
        "value": values,
        "age": np.where(ticks <= -FOREVER, UNKNOWN, np.maximum(age, 0)).astype(np.int32),
    }


def node_arrays(roster: Roster, joiner: Joiner, batteries: Mapping[int, float]) -> tuple[list[str], Copies]:
    """Return the names of the nodes, and what is known of each; a node without a name has gone.

    ``told`` are the channels that it was told to send, and ``behind`` by how many seconds the stamps of their
    newest readings are behind its newest; NaN for none. ``battery`` is NaN where a node says nothing of it.
    """
    n_nodes, n_channels = joiner.n_nodes, len(joiner.channels)
    names = [roster.name(node) for node in range(n_nodes)]
    nodes = joiner.nodes[:n_nodes]
    told, told_at = roster.control.told(n_nodes)
    slots = joiner.slots[: n_nodes * n_channels]
    sent = slots["newest"].reshape(n_nodes, n_channels)  # NaN before the first
    behind = (nodes["newest"][:, np.newaxis] - sent).astype(np.float32)
    copies: Copies = {name: nodes[name].astype(kind) for name, kind in _OF_NODES.items()}
    battery = np.full(n_nodes, np.nan, dtype=np.float32)
    battery[[*batteries]] = [*batteries.values()]
    return names, copies | {"told": told, "told_at": told_at, "behind": behind, "battery": battery}


def model_facts(model: ModelStreams) -> Mapping[str, Any]:
    """Return what is to be known of a model to understand its streams."""
    procedure = model.procedure
    thresholds = procedure.rule.thresholds()
    return {
        "digest": procedure.digest,
        "classes": procedure.classes,
        "channels": procedure.channels,
        "features": [feature.name for feature in procedure.features],
        "period": procedure.period,
        "unit": _unit_of(procedure),
        "time_limit": procedure.time_limit,
        "max_silence": procedure.max_silence,
        "max_ages": [min(age, LONGEST_AGE) for age in model.max_ages.tolist()],
        "rule": procedure.rule.text(procedure.time_limit),
        "thresholds": None if thresholds is None else [thresholds.ticks, thresholds.levels],
    }


def _unit_of(procedure: Procedure) -> str | None:
    """Return the unit of a model's costs; None if that is not known."""
    try:
        return cost_unit(procedure.about)
    except ModelError:  # a damaged card is no reason to show nothing
        return None


def changed_rows(model: ModelStreams, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows of a model's streams at whose newest tick nobody has looked, of those that have begun.

    `seen` has a number for each row, which is to become `moment` of it.
    """
    rows = model.engine.rows(OPEN, DECIDED)
    moments = moment(model, rows)
    found: npt.NDArray[np.int64] = rows[(moments != seen[rows]) & (model.engine.progress(rows)["tick"] > 0)]
    return found


def moment(model: ModelStreams, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return a number for each row that changes with its episode and its tick."""
    progress = model.engine.progress(rows)
    moments: npt.NDArray[np.int64] = progress["episode"] * 2**32 + progress["tick"]
    return moments

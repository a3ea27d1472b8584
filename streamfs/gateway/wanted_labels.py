"""Labels that a gateway asks for, as of its newest snapshot."""

from typing import Any

import orjson

from streamfs.base import container
from streamfs.gateway.core.core import KIND, VERSION
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.procedure.asked_labels import waiting_in


def wanted_labels(reader: JournalReader) -> list[dict[str, Any]]:
    """Return stream, episode, given label, confidence and time of each decision whose label is wanted.

    The one that is wanted for longest comes first; a decision that is no longer in the journal has None.
    """
    for _, snapshot in reader.snapshots():
        header, _, sealed = container.unpack(snapshot, KIND, VERSION, "the snapshot")
        streams = _wanted(orjson.loads(sealed["promise"])[0]) if "promise" in sealed else []
        prefix = orjson.loads(header["configuration"] or "{}").get("options", {}).get("prefix", "streamfs")
        last = {decision["stream"]: decision for decision in reader.decisions()} if streams else {}
        shown = ("episode", "label", "confidence", "time")
        return [
            {"stream": stream, **{name: last.get(stream, {}).get(name) for name in shown}}
            | {"topic": f"{prefix}/label/{stream}"}
            for stream in streams
        ]
    return []


def _wanted(monitored: Any) -> list[str]:
    """Return the streams of what `Feedback.to_state` has copied of a monitor."""
    is_asking = monitored is not None and monitored[0]["asks"]
    return waiting_in(monitored[0]["accuracy"]) if is_asking else []

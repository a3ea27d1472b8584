"""Published decisions."""

import orjson

from streamfs.procedure.procedure import Decision


def encode_decision(decision: Decision, promise: str = "") -> bytes:
    """Encode a decision as a JSON object, with ``stream/episode`` as its ``id``, and a mark of its promise."""
    return orjson.dumps(decision.to_json() | ({"promise": promise} if promise else {}))

"""Published decisions."""

import orjson

from streamfs.procedure.procedure import Decision


def encode_decision(decision: Decision) -> bytes:
    """Encode a decision as a JSON object, with ``stream/episode`` as its ``id``."""
    return orjson.dumps(decision.to_json())

"""Published decisions."""

import orjson

from streamfs.procedure.procedure import Decision


def encode_decision(decision: Decision) -> bytes:
    """Encode a decision as a JSON object, with ``stream/episode`` as its ``id``.

    Examples
    --------
    >>> decision = Decision("mote-1", 1, "walk", 0.95, 12, 12.0, "confident", 11.0)
    >>> orjson.loads(encode_decision(decision))["id"]
    'mote-1/1'
    """
    return orjson.dumps(decision.to_json())

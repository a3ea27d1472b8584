"""What devices say again without having measured it: bridges republish the last state that they know."""

from collections.abc import Iterable
from hashlib import blake2b
from math import nan
from typing import Any

import orjson

from streamfs.base.newest import MOST_NAMES, keep_newest
from streamfs.gateway.messages.codecs import Reading, Reported

MAX_CHANNELS = 1000
"""Channels of a topic that are remembered, apart from those of its last message."""

_BYTES = 8  # of a digest


class Repeated:
    """Remember what came last on each topic; of more than `MOST_NAMES` the eldest are forgotten."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}  # a digest, or values by channel

    def is_repeated(self, topic: str, payload: bytes) -> bool:
        """Return whether a payload says all that the last one on its topic said; it is the last from now on."""
        try:
            said = orjson.dumps(orjson.loads(payload), option=orjson.OPT_SORT_KEYS)
        except orjson.JSONDecodeError:
            said = payload
        digest = blake2b(said, digest_size=_BYTES).hexdigest()
        is_same = self._last.get(topic) == digest
        keep_newest(self._last, topic, digest, MOST_NAMES)
        return is_same

    def news(self, topic: str, parts: Iterable[tuple[str, Reported]]) -> tuple[tuple[str, Reported], ...]:
        """Return the parts of a message whose values are not those that came last for their channel.

        Of the others, the numbers stay: they leave no gap.
        """
        last = dict(self._last.get(topic, {}))
        if len(last) > MAX_CHANNELS:  # payloads may name what they like
            last.clear()
        new = []
        for channel, part in parts:
            if not isinstance(part, Reading) or last.get(channel) != part.value:
                new.append((channel, part))
                last[channel] = part.value if isinstance(part, Reading) else None
            elif part.sequence is not None:
                new.append((channel, part._replace(value=nan)))
        keep_newest(self._last, topic, last, MOST_NAMES)
        return tuple(new)

    def to_state(self) -> dict[str, Any]:
        """Copy the state."""
        return dict(self._last)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self._last = dict(state)

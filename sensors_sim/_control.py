"""Control messages, as nodes read them."""

from typing import NamedTuple

import orjson


class FollowedControl(NamedTuple):
    """The channels that a node is to send, the seconds after which to stop, and the message's number."""

    channels: list[str]
    stop_after: float | None
    number: int | None


def read_control(payload: bytes) -> FollowedControl:
    """Read a control message; raise a ValueError if it is malformed."""
    message = orjson.loads(payload)
    channels = message.get("channels") if isinstance(message, dict) else None
    if not isinstance(channels, list) or not all(isinstance(channel, str) for channel in channels):
        raise ValueError(f'control is {payload[:40]!r}, expected {{"channels": [...]}}')
    stop_after = message.get("stop_after")
    if not (stop_after is None or (type(stop_after) in (int, float) and stop_after > 0)):
        raise ValueError(f"control has stop_after {stop_after!r}, expected seconds, more than 0")
    number = message.get("number")
    if not (number is None or type(number) is int):
        raise ValueError(f"control has number {number!r}, expected a whole number")
    return FollowedControl(channels, stop_after, number)

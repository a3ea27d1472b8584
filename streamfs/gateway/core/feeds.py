"""Sent and seen: which channels of models a quantity feeds, and what the gateway has to do for it."""

from collections.abc import Sequence
from typing import NamedTuple

from feature_extractors.report import Policy, split_channel

AS_SENT, RAW, KEPT = 0, 1, 2
"""How a channel is fed: as the device sends it; or raw, and thinned here; a raw value may hold until the next."""


class Feed(NamedTuple):
    """A channel of a model, as nodes know it, and how it is fed."""

    channel: str
    how: int  # `AS_SENT`, or `RAW` with or without `KEPT`


def feeds_of(name: str, channels: Sequence[str], *, thins: bool = True) -> tuple[Feed, ...]:
    """Return the channels that a channel or quantity of a source feeds, with `thins` also under other policies.

    A quantity without a policy feeds all channels of it: what comes holds until the next. A policy is what the
    device does by itself, and feeds channels of which it says enough.

    Examples
    --------
    >>> feeds_of("temperature", ["temperature@delta:0.5", "humidity"])
    (Feed(channel='temperature@delta:0.5', how=3),)
    >>> feeds_of("temperature@every:2", ["temperature@delta:0.5", "temperature@every:4"])
    (Feed(channel='temperature@every:4', how=3),)
    """
    if not thins:
        return (Feed(name, AS_SENT),) if name in channels else ()
    try:
        column, sent = split_channel(name)
    except ValueError:
        return ()
    is_claimed = name.rpartition('"')[2].partition("@")[1] == "@"
    how = RAW if is_claimed and not sent.holds else RAW | KEPT
    found = []
    for channel in channels:
        quantity, seen = split_channel(channel)
        if channel == name:
            found.append(Feed(channel, AS_SENT))
        elif quantity == column and (not is_claimed or says_enough(sent, seen)):
            found.append(Feed(channel, AS_SENT if sent == seen else how))
    return tuple(found)


def says_enough(sent: Policy, seen: Policy) -> bool:
    """Return whether what is sent under one policy can be thinned to another.

    Examples
    --------
    >>> says_enough(Policy.parse("delta:0.1"), Policy.parse("delta:0.5"))
    True
    >>> says_enough(Policy.parse("every:4"), Policy.parse("every:6"))
    False
    """
    if sent == seen or not sent.holds:
        return True
    if sent.kind == "every":
        return seen.kind == "every" and seen.value % sent.value == 0
    return sent.kind == "delta" and (sent.value == 0 or (seen.kind == "delta" and sent.value <= seen.value))

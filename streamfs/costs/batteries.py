"""How long a node's battery lasts: messages of its episodes, and sleep between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

from feature_extractors.report import split_channel
from streamfs.costs.costs import MESSAGE_BYTES, price_of
from streamfs.costs.energy import Profile

DAY = 86400.0  # seconds
HOUR = 3600.0  # seconds
TWO_AA_CELLS = 2 * 1.5 * 2.6 * HOUR * 0.75
"""Joules of two alkaline AA cells. Assumed are 1.5 volts and 2.6 ampere-hours each, of which a node can draw three
quarters before the voltage is too low for it."""


@dataclass(frozen=True)
class Duty:
    """How often a node's streams are decided, how long its radio is awake, and what its battery holds.

    Parameters
    ----------
    reopen_after : float
        Seconds from a decision to the stream's next episode, as in a gateway's settings; by default an hour.
    awake : float
        Seconds for which the radio is awake at each tick of an episode beside its messages, to be told of a
        decision; the whole tick where it is shorter. A tenth is an assumption.
    battery : float
        Joules; by default those of two AA cells.

    Raises
    ------
    ValueError
        If a number is negative or not finite, or the battery holds nothing.
    """

    reopen_after: float = HOUR
    awake: float = 0.1
    battery: float = TWO_AA_CELLS

    def __post_init__(self) -> None:
        _require_not_negative("reopen_after", self.reopen_after)
        _require_not_negative("awake", self.awake)
        if not (isfinite(self.battery) and self.battery > 0):
            raise ValueError(f"battery is {self.battery}, expected joules, more than 0")


class Life(NamedTuple):
    """What a node sends and spends in a day, and how long its battery lasts.

    Parameters
    ----------
    messages : float
        A day.
    joules : float or None
        A day; None where the radio profile counts transmissions.
    sending : float or None
        How many of these joules are spent on the messages.
    days : float or None
        Until the battery is empty; infinite where nothing drains it, None where the joules are not known.
    """

    messages: float
    joules: float | None
    sending: float | None
    days: float | None


def role_of(channel: str) -> str:
    """Name the role of the node that sends a channel; the role of a stream's only node is the empty text.

    Examples
    --------
    >>> role_of("a.light@delta:40"), role_of("light")
    ('a', '')
    """
    column, _ = split_channel(channel)
    role, dot, _ = column.partition(".")
    return role if dot else ""


def by_role(messages: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Share out messages of channels among the nodes that send them, by their roles.

    Examples
    --------
    >>> by_role({"a.light": 3.0, "b.light": 2.0, "a.noise": 1.0})
    {'a': {'a.light': 3.0, 'a.noise': 1.0}, 'b': {'b.light': 2.0}}
    """
    shared: dict[str, dict[str, float]] = {}
    for channel, number in messages.items():
        shared.setdefault(role_of(channel), {})[channel] = number
    return shared


def life(
    messages: Mapping[str, float],
    ticks: float,
    period: float,
    radio: Profile,
    duty: Duty | None = None,
    *,
    message_bytes: float = MESSAGE_BYTES,
    prices: Mapping[str, float] | None = None,
) -> Life:
    """Return what a node sends and spends in a day, and how long its battery lasts.

    Parameters
    ----------
    messages : mapping of str to float
        What the node sends in an episode, on average, of each of its channels.
    ticks : float
        How long an episode lasts, on average.
    period : float
        Seconds a tick.
    radio : Profile
        What a message costs, and the power of the radio while it is idle and while it sleeps.
    duty : Duty, optional
        How the node is used; by default as `Duty` says.
    message_bytes : float
        Payload of a message.
    prices : mapping of str to float, optional
        Factor by which a message of a quantity (``light`` of ``a.light``) is dearer, since its sensor needs energy
        too; 1 where none is named.

    Raises
    ------
    ValueError
        If a number is negative or not finite, the period is 0, or an episode and the rest after it take no time.

    Notes
    -----
    With m messages and t ticks of p seconds an episode, and r seconds after it, a day has 86400 / (t p + r)
    episodes. Each costs m messages, and idle power for the part of its t ticks for which the radio is awake; the
    rest of the day the radio sleeps. It sleeps all day if no channel of the node is read. What else drains a node
    is not counted: its processor, its sensors beyond their prices, what it receives, messages that are sent again,
    and the ageing of the cells.

    Examples
    --------
    >>> from streamfs.costs.energy import profile
    >>> messages, joules, sending, days = life({"light": 12.0}, 60, 1.0, profile("cc2420"))
    >>> round(messages), round(joules, 2), round(sending, 3), round(days)
    (283, 5.38, 0.027, 3912)
    """
    duty = Duty() if duty is None else duty
    for channel, number in messages.items():
        _require_not_negative(f"messages of {channel}", number)
    _require_not_negative("ticks", ticks)
    if not (isfinite(period) and period > 0):
        raise ValueError(f"period is {period}, expected seconds, more than 0")
    seconds = ticks * period + duty.reopen_after
    if not seconds > 0:
        raise ValueError(f"ticks is {ticks} and reopen_after {duty.reopen_after}, expected one of them above 0")
    episodes = DAY / seconds
    sent = episodes * sum(messages.values())
    if radio.unit != "joules":
        return Life(sent, None, None, None)
    priced = sum(number * price_of(split_channel(channel)[0], prices) for channel, number in messages.items())
    sending = episodes * priced * radio.message_joules(message_bytes)
    idle = episodes * ticks * min(duty.awake, period) if messages else 0.0
    spent = sending + radio.rest_joules(idle, DAY - idle)
    return Life(sent, spent, sending, duty.battery / spent if spent > 0 else inf)


def _require_not_negative(name: str, number: float) -> None:
    if not (isfinite(number) and number >= 0):
        raise ValueError(f"{name} is {number}, expected a finite number, at least 0")

"""Battery life of a node: the messages of its episodes, and sleep in between."""

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
"""Joules of two alkaline AA cells, assuming 1.5 volts and 2.6 ampere-hours each, of which a node can draw three
quarters before the voltage is too low."""


@dataclass(frozen=True)
class Duty:
    """How often a node's streams are decided, how long its radio is awake, and the capacity of its battery.

    Parameters
    ----------
    reopen_after : float
        Seconds from a decision to the stream's next episode, as in a gateway's settings; by default an hour.
    awake : float
        Seconds for which the radio is awake at each tick of an episode, besides its messages, to be notified of a
        decision; the whole tick if that is shorter. The default is an assumption.
    battery : float
        Joules; by default the energy of two AA cells.

    Raises
    ------
    ValueError
        If a number is negative or not finite, or the battery is empty.
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
    """Messages and energy of a node per day, `sending` being the part of the messages, and its battery life.

    Joules and days are None if the radio profile counts transmissions; days are infinite if nothing drains it.
    """

    messages: float
    joules: float | None
    sending: float | None
    days: float | None


def role_of(channel: str) -> str:
    """Return the role of the node that sends a channel; that of a stream's only node is the empty string."""
    column, _ = split_channel(channel)
    role, dot, _ = column.partition(".")
    return role if dot else ""


def by_role(messages: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Group the messages of channels by the role of the node that sends them."""
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
    """Compute the messages and the energy of a node per day, and its battery life.

    Parameters
    ----------
    messages : mapping of str to float
        Mean number of messages per episode, by channel of the node.
    ticks : float
        Mean number of ticks of an episode.
    period : float
        Seconds per tick.
    radio : Profile
        Cost of a message, and power of the radio when idle and asleep.
    duty : Duty, optional
        Use of the node; by default ``Duty()``.
    message_bytes : float
        Payload of a message.
    prices : mapping of str to float, optional
        Price of a message by quantity (``light`` of ``a.light``), as a multiple of the radio's cost, to account
        for the sensor's energy; 1 if a quantity is not named.

    Raises
    ------
    ValueError
        If a number is negative or not finite, the period is 0, or an episode and the rest after it take no time.

    Notes
    -----
    With m messages and t ticks of p seconds per episode, and r seconds after it, a day has 86400 / (t p + r)
    episodes. Each costs m messages, and idle power for the part of its t ticks for which the radio is awake; the
    rest of the day the radio sleeps. It sleeps all day if no channel of the node is read. Other drains are not
    counted: processor, sensors beyond their prices, reception, retransmissions, and the ageing of the cells.

    Examples
    --------
    >>> from streamfs.costs.radio_profiles import profile
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

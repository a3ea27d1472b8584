"""Battery life of a node: the messages of its episodes, and sleep in between."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

from streamfs.costs.costs import MESSAGE_BYTES
from streamfs.costs.energy import Profile
from streamfs.costs.rates import AWAKE, Rates

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
    awake: float = AWAKE
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
    episodes. Each costs m messages, idle power for the part of its t ticks for which the radio is awake, and the
    reception of its control messages, as `Rates` has it; the rest of the day the radio sleeps. It sleeps all day
    if no channel of the node is read. Other drains are not counted: processor, sensors beyond their prices,
    retransmissions, and the ageing of the cells.

    Examples
    --------
    >>> from streamfs.costs.radio_profiles import profile
    >>> messages, joules, sending, days = life({"light": 12.0}, 60, 1.0, profile("cc2420"))
    >>> round(messages), round(joules, 2), round(sending, 3), round(days)
    (283, 5.39, 0.027, 3908)
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
    rates = Rates.of(radio, period, duty.awake, message_bytes)
    sending = episodes * rates.sending(messages, prices)
    nodes = {"": ticks} if messages else {}
    awake = episodes * sum(nodes.values()) * min(duty.awake, period)
    spent = episodes * rates.episode(messages, nodes, prices) + radio.rest_joules(sleep=DAY - awake)
    return Life(sent, spent, sending, duty.battery / spent if spent > 0 else inf)


def _require_not_negative(name: str, number: float) -> None:
    if not (isfinite(number) and number >= 0):
        raise ValueError(f"{name} is {number}, expected a finite number, at least 0")

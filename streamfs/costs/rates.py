"""What a node pays: for a message, for a tick of waiting, and for the control messages of an episode."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.report import split_channel, split_column, split_opening
from streamfs.costs.costs import MESSAGE_BYTES, price_of
from streamfs.costs.energy import Profile

AWAKE = 0.1
"""Seconds of a tick for which a radio is awake besides its messages, by default; an assumption."""

CONTROL_BYTES = 48
"""Payload of a control message that names one channel."""

N_CONTROL_MESSAGES = 2
"""Control messages of an episode: one that asks a node to send, and one that tells it to be silent."""


class Rates(NamedTuple):
    """What a node pays, in the unit of its radio profile.

    Parameters
    ----------
    message : float
        For a message that it sends, at a price of 1.
    tick : float
        For each tick from a stream's first one to its decision: the radio is awake for a part of it. Ticks before
        the episode opens count, too.
    control : float
        For the control messages that it hears in an episode.

    Examples
    --------
    >>> from streamfs.costs.radio_profiles import profile
    >>> rates = Rates.of(profile("cc2420"), period=10.0)
    >>> [round(1e6 * rate) for rate in rates]
    [95, 128, 235]
    >>> Rates.of(profile("transmissions"), period=10.0)
    Rates(message=1.0, tick=0.0, control=0.0)
    >>> round(1e6 * rates.episode({"a.light": 2.0, "b.light": 1.0}, {"a": 5.0, "b": 5.0}))
    2033
    """

    message: float
    tick: float
    control: float

    @classmethod
    def of(cls, radio: Profile, period: float, awake: float = AWAKE, message_bytes: float = MESSAGE_BYTES) -> Self:
        """Return the rates of a radio that is awake for some seconds of each tick, `period` seconds at most."""
        tick = radio.rest_joules(idle=min(awake, period))
        control = N_CONTROL_MESSAGES * radio.receive_joules(CONTROL_BYTES)
        return cls(radio.message_joules(message_bytes), tick, control)

    @property
    def order(self) -> float:
        """For one control message, such as that which asks for a channel that opens later."""
        return self.control / N_CONTROL_MESSAGES

    def times(self, factor: float) -> "Rates":
        """Return all rates multiplied by a factor."""
        return Rates(*(factor * rate for rate in self))

    def sending(self, messages: Mapping[str, float], prices: Mapping[str, float] | None = None) -> float:
        """Return what a number of messages of each channel costs, given prices by quantity."""
        priced = (number * price_of(split_channel(channel)[0], prices) for channel, number in messages.items())
        return self.message * sum(priced)

    def episode(
        self,
        messages: Mapping[str, float],
        ticks: Mapping[str, float],
        prices: Mapping[str, float] | None = None,
        orders: float = 0.0,
    ) -> float:
        """Return what the nodes of a stream pay for an episode.

        Parameters
        ----------
        messages : mapping of str to float
            Messages by channel.
        ticks : mapping of str to float
            Ticks for which each node is asked for any channel, by the node's role.
        prices : mapping of str to float, optional
            Price of a message by quantity; 1 if a quantity is not named.
        orders : float
            Control messages that open channels later.
        """
        waiting = self.tick * sum(ticks.values()) + self.control * len(ticks) + self.order * orders
        return self.sending(messages, prices) + waiting


COUNTED = Rates(message=1.0, tick=0.0, control=0.0)
"""Each message costs 1, and waiting nothing."""


def role_of(channel: str) -> str:
    """Return the role of the node that sends a channel; that of a stream's only node is the empty string."""
    column, _ = split_channel(channel)
    return split_column(column)[0]


def orders_by(channels: Iterable[str], n_ticks: int) -> npt.NDArray[np.int64]:
    """Return how many orders that open channels nodes have heard by each tick of an episode, shape (n_ticks,)."""
    ticks, heard = np.arange(1, n_ticks + 1), np.zeros(n_ticks, dtype=np.int64)
    for _, opening in {(role_of(channel), split_opening(channel)[1]) for channel in channels}:
        heard += (ticks >= opening) & (opening > 1)
    return heard


def by_role(messages: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Group the messages of channels by the role of the node that sends them."""
    shared: dict[str, dict[str, float]] = {}
    for channel, number in messages.items():
        shared.setdefault(role_of(channel), {})[channel] = number
    return shared

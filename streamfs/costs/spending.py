"""Cumulative cost of recorded streams at each tick, given the features that are read."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from feature_extractors.base import Array, Feature, channels_of
from feature_extractors.report import silent_ticks, split_channel
from streamfs.costs.costs import Costs, price_of
from streamfs.data.streams import Integers, StreamSet


class Spending(Protocol):
    """Cumulative cost of streams at each tick of their episodes."""

    def until(self, features: Sequence[Feature]) -> Array:
        """Return the cost up to and including each tick if these features are read, shape (n_streams, n_ticks)."""


class MessageSpending:
    """Cost of the messages that nodes send: each channel counts once, however many features read it.

    `channels` are all that features may read. `lengths` are those of the streams' episodes, which end with the
    streams; messages before they open count too. A message costs `message_cost` times the price of its quantity.
    """

    def __init__(
        self,
        streams: StreamSet,
        channels: Sequence[str],
        lengths: Integers,
        message_cost: float = 1.0,
        max_silence: float | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        ticks = np.arange(streams.n_ticks) + (streams.lengths - lengths)[:, np.newaxis]
        self._ticks = np.minimum(ticks, streams.n_ticks - 1)
        self._sent = {
            channel: message_cost * cost
            for channel, cost in messages_sent(streams, channels, prices, max_silence).items()
        }

    def until(self, features: Sequence[Feature]) -> Array:
        """Return the cost of the messages of the features' channels up to and including each tick."""
        spent = np.zeros(self._ticks.shape)
        for channel in channels_of(features):
            spent += np.take_along_axis(self._sent[channel], self._ticks, axis=1)
        return spent


class FeatureSpending:
    """Costs charged to each of `features` on its own (equation 1), shape (n_streams, n_ticks)."""

    def __init__(self, features: Sequence[Feature], costs: Costs, n_streams: int, n_ticks: int) -> None:
        self._places = {feature.name: place for place, feature in enumerate(features)}
        self._costs = costs
        self._shape = n_streams, n_ticks

    def until(self, features: Sequence[Feature]) -> Array:
        """Return equation 1 of the features at each tick."""
        costs = self._costs.take([self._places[feature.name] for feature in features])
        by_tick = [costs.classification(tick) for tick in range(1, self._shape[1] + 1)]
        return np.broadcast_to(np.array(by_tick), self._shape)


def messages_sent(
    streams: StreamSet,
    channels: Sequence[str],
    prices: Mapping[str, float] | None = None,
    max_silence: float | None = None,
) -> dict[str, Array]:
    """Return the price of each channel's messages up to and including each tick, shape (n_streams, n_ticks)."""
    sent, silence = {}, silent_ticks(max_silence, streams.period)
    for channel in channels:
        column, policy = split_channel(channel)
        messages = ~np.isnan(policy.sent(streams.column(column), silence))
        sent[channel] = price_of(column, prices) * messages.cumsum(axis=1)
    return sent

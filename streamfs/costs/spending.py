"""Cumulative cost of recorded streams at each tick, given the features that are read."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature, channels_of
from feature_extractors.report import split_channel
from streamfs.costs.costs import Costs, price_of
from streamfs.costs.rates import COUNTED, Rates, orders_by, role_of
from streamfs.data.streams import StreamSet

Levels = Sequence[Array]
"""The thresholds with which a classifier compares each of some features, ascending."""


class Spending(Protocol):
    """Cumulative cost of streams at each tick of their episodes; it may be that of levels which features cross."""

    counts_levels: bool

    def until(self, features: Sequence[Feature], levels: Levels | None = None) -> Array:
        """Return the cost up to and including each tick if these features are read, shape (n_streams, n_ticks)."""


class MessageSpending:
    """What nodes pay: messages, each channel's once however many features read it, and waiting, once a node.

    A node also hears an order at each tick at which channels of its open later.

    `channels` are all that features may read. `lengths` are those of the streams' episodes, which end with the
    streams; messages and ticks before they open count, too, and a stream whose episode never opens pays to its
    end. A message costs the rate times the price of its quantity.
    """

    counts_levels = False

    def __init__(
        self,
        streams: StreamSet,
        channels: Sequence[str],
        lengths: Integers,
        rates: Rates = COUNTED,
        max_silence: float | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        passed = ticks_passed(streams, lengths)
        self._places, self._waiting = np.maximum(passed - 1, 0), waiting(passed, rates)
        self._order, self._opens = rates.order, lengths > 0
        self._sent = {
            channel: rates.message * cost
            for channel, cost in messages_sent(streams, channels, prices, max_silence).items()
        }

    def until(self, features: Sequence[Feature], levels: Levels | None = None) -> Array:  # noqa: ARG002
        """Return the cost of the features' channels, and of waiting for them, up to and including each tick."""
        channels = channels_of(features)
        spent = len({role_of(channel) for channel in channels}) * self._waiting
        spent += self._order * self._opens[:, np.newaxis] * orders_by(channels, spent.shape[1])
        for channel in channels:
            spent += np.take_along_axis(self._sent[channel], self._places, axis=1)
        return spent


class FeatureSpending:
    """Costs charged to each of `features` on its own (equation 1); nothing if an episode never opens.

    `lengths` are those of the streams' episodes, `n_ticks` the ticks of the longest stream.
    """

    counts_levels = False

    def __init__(self, features: Sequence[Feature], costs: Costs, lengths: Integers, n_ticks: int) -> None:
        self._places = {feature.name: place for place, feature in enumerate(features)}
        self._costs = costs
        self._opens, self._n_ticks = lengths > 0, n_ticks

    def until(self, features: Sequence[Feature], levels: Levels | None = None) -> Array:  # noqa: ARG002
        """Return equation 1 of the features at each tick."""
        costs = self._costs.take([self._places[feature.name] for feature in features])
        by_tick = [costs.classification(tick) for tick in range(1, self._n_ticks + 1)]
        return np.where(self._opens[:, np.newaxis], by_tick, 0.0)


def ticks_passed(streams: StreamSet, lengths: Integers) -> Integers:
    """Return how many ticks of each stream have passed by each tick of its episode, shape (n_streams, n_ticks)."""
    passed = np.arange(1, streams.n_ticks + 1) + (streams.lengths - lengths)[:, np.newaxis]
    return np.asarray(np.minimum(passed, streams.lengths[:, np.newaxis]))


def waiting(passed: Integers, rates: Rates) -> Array:
    """Return what a node pays to wait, given the ticks that have passed."""
    return np.where(passed > 0, rates.control + rates.tick * passed, 0.0)


def messages_sent(
    streams: StreamSet,
    channels: Sequence[str],
    prices: Mapping[str, float] | None = None,
    max_silence: float | None = None,
) -> dict[str, Array]:
    """Return the price of each channel's messages up to and including each tick, shape (n_streams, n_ticks)."""
    sent = {}
    for channel, messages in zip(channels, streams.sent_through(channels, max_silence), strict=True):
        column, _ = split_channel(channel)
        sent[channel] = price_of(column, prices) * (~np.isnan(messages)).cumsum(axis=1)
    return sent

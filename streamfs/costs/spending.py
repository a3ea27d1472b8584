"""What recorded streams have cost at each tick, if their nodes send what some features read."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from feature_extractors.base import Array, Feature, channels_of
from feature_extractors.report import silent_ticks, split_channel
from streamfs.costs.costs import Costs, price_of
from streamfs.data.streams import Integers, StreamSet


class Spending(Protocol):
    """What streams have cost up to each tick of their episodes."""

    def until(self, features: Sequence[Feature]) -> Array:
        """Summed cost up to and including each tick, shape (n_streams, n_ticks), if these features are read."""


class Messages:
    """The cost of the messages that nodes really send: each channel once, however many features read it.

    Parameters
    ----------
    streams : StreamSet
        Recorded streams.
    channels : sequence of str
        All that may be asked for.
    lengths : ndarray of int of shape (n_streams,)
        Ticks of the streams' episodes, which end with the streams; what is sent before they open counts.
    message_cost : float
        Of a message, in joules or whatever the profile counts.
    max_silence : float, optional
        Seconds after which a channel that sends on change repeats its value; by default never.
    prices : mapping of str to float, optional
        Factor by which a message of a quantity is dearer; 1 where none is named.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> streams = StreamSet([[[20.0], [20.1], [20.9]]], ["a"], ["t"])
    >>> spending = Messages(streams, ["t", "t@delta:0.5"], streams.lengths)
    >>> spending.until([fx.get("mean(t)"), fx.get("max(t)")]).tolist()
    [[1.0, 2.0, 3.0]]
    >>> spending.until([fx.get("mean(t@delta:0.5)")]).tolist()
    [[1.0, 1.0, 2.0]]
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
        """Summed cost of the messages of the features' channels up to and including each tick."""
        spent = np.zeros(self._ticks.shape)
        for channel in channels_of(features):
            spent += np.take_along_axis(self._sent[channel], self._ticks, axis=1)
        return spent


class Charges:
    """Costs that are charged to each feature, whatever else reads its channels (equation 1).

    Parameters
    ----------
    features : sequence of Feature
        All that may be asked for.
    costs : Costs
        Theirs.
    n_streams, n_ticks : int
        Shape of what is asked for.
    """

    def __init__(self, features: Sequence[Feature], costs: Costs, n_streams: int, n_ticks: int) -> None:
        self._places = {feature.name: place for place, feature in enumerate(features)}
        self._costs = costs
        self._shape = n_streams, n_ticks

    def until(self, features: Sequence[Feature]) -> Array:
        """Equation 1 of the features at each tick."""
        costs = self._costs.take([self._places[feature.name] for feature in features])
        by_tick = [costs.classification(tick) for tick in range(1, self._shape[1] + 1)]
        return np.broadcast_to(np.array(by_tick), self._shape)


def messages_sent(
    streams: StreamSet,
    channels: Sequence[str],
    prices: Mapping[str, float] | None = None,
    max_silence: float | None = None,
) -> dict[str, Array]:
    """Price of the messages of each channel up to and including each tick, shape (n_streams, n_ticks)."""
    sent, silence = {}, silent_ticks(max_silence, streams.period)
    for channel in channels:
        column, policy = split_channel(channel)
        messages = ~np.isnan(policy.sent(streams.column(column), silence))
        sent[channel] = price_of(column, prices) * messages.cumsum(axis=1)
    return sent

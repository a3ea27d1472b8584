"""Cumulative cost of recorded streams whose nodes compute features, and send these or their crossings."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from feature_extractors.arrays import Array
from feature_extractors.base import Feature
from feature_extractors.report import silent_ticks
from streamfs.costs.costs import price_of
from streamfs.costs.rates import Rates
from streamfs.costs.spending import Levels, ticks_passed, waiting
from streamfs.data.derived import DerivedColumn
from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import StreamSet


class SplitSpending:
    """What nodes pay that send features, or how many levels these are above, first and on change.

    Each feature that reads columns is a channel of its own; what it reads is not sent. Nothing is sent before an
    episode opens, but the node waits from the stream's first tick on. A message costs the rate times the price of
    the dearest quantity of which it is computed. On ``crossings``, a feature has one level, its median, where
    levels are not known. The `table` is that of the features at all ticks of the streams.
    """

    def __init__(
        self,
        streams: StreamSet,
        table: FeatureTable,
        sends: str,
        rates: Rates,
        max_silence: float | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        self.counts_levels = sends == "crossings"
        self._values = {feature.name: table.values[:, :, k] for k, feature in enumerate(table.features)}
        self._is_open = np.arange(table.n_ticks) < table.lengths[:, np.newaxis]
        self._n_ticks = max(1, int(streams.lengths.sum()))
        self._waiting = waiting(ticks_passed(streams, table.lengths), rates)
        self._silence, self._rates, self._prices = silent_ticks(max_silence, streams.period), rates, prices

    def until(self, features: Sequence[Feature], levels: Levels | None = None) -> Array:
        """Return the cost of some features, and of waiting, up to and including each tick of the episodes."""
        spent = self._waiting * any(feature.columns for feature in features)
        for sent in self._sent(features, levels):
            spent += sent.cumsum(axis=1)
        return spent

    def each(self, features: Sequence[Feature], levels: Levels | None = None) -> list[float]:
        """Return what the messages of each feature cost in a tick of the streams, on average."""
        return [float(sent.sum()) / self._n_ticks for sent in self._sent(features, levels)]

    def _sent(self, features: Sequence[Feature], levels: Levels | None) -> Iterator[Array]:
        """Yield the cost of each feature's messages at each tick."""
        for place, feature in enumerate(features):
            if not feature.columns:
                yield np.zeros(self._is_open.shape)
                continue
            column = DerivedColumn(feature)
            if self.counts_levels:
                column = DerivedColumn(feature, self._median(feature) if levels is None else levels[place])
            price = price_of(column.name, self._prices)
            yield self._rates.message * price * self._is_sent(column.sent(self._values[feature.name]))

    def _median(self, feature: Feature) -> Array:
        known = self._values[feature.name]
        return np.array([np.median(known[np.isfinite(known)])]) if np.isfinite(known).any() else np.zeros(0)

    def _is_sent(self, column: Array) -> np.ndarray:
        """Return at which ticks a message is sent: first, on change, and after silence."""
        is_sent = np.ones(column.shape, np.bool_)
        is_sent[:, 1:] = column[:, 1:] != column[:, :-1]
        if self._silence is not None:
            ticks = np.arange(column.shape[1])
            is_sent = (ticks - np.maximum.accumulate(np.where(is_sent, ticks, 0), axis=1)) % self._silence == 0
        return is_sent & self._is_open

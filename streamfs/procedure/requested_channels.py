"""Which channels streams request: all, or only those that their newest feature values call for."""

from collections.abc import Sequence

import numpy as np

from feature_extractors.arrays import Array, Flags
from feature_extractors.base import Feature, channels_of
from streamfs.classifiers.classifier import Classifier


class RequestedChannels:
    """The features and channels that a classifier which releases features still requests after the newest values.

    Requests are a function of the newest values alone: a sample has NaN in the channels that no requested feature
    reads, so that their features keep their values. So a released channel is not requested again in the episode:
    for that a feature that was not requested would have to change, which takes values of all its channels.
    """

    def __init__(self, classifier: Classifier, features: Sequence[Feature]) -> None:
        self._classifier = classifier
        channels = channels_of(features)
        reads = [[channel in feature.columns for channel in channels] for feature in features]
        self._reads = np.array(reads, dtype=np.bool_).reshape(len(features), len(channels))

    @classmethod
    def of(cls, classifier: Classifier, features: Sequence[Feature]) -> "RequestedChannels | None":
        """Return the requests of a classifier; None if it always requests all its features."""
        return cls(classifier, features) if classifier.releases_features else None

    def features(self, values: Array) -> Flags:
        """Return the features that are requested after newest values, both of shape (n_rows, n_features)."""
        return self._classifier.requests(values)

    def channels(self, values: Array) -> Flags:
        """Return the channels that are requested after newest values, shape (n_rows, n_channels)."""
        read: Flags = self.features(values) @ self._reads
        return read

    def shown(self, samples: Array, values: Array) -> Array:
        """Return samples with NaN in the channels that are not requested after the values before them."""
        return np.where(self.channels(values), samples, np.nan)

    def rates(self, values: Array, each: Array) -> Array:
        """Return the cost of the next tick, shape (n_rows,): C_each of what is requested after newest values."""
        return np.where(self.features(values), each, 0.0).cumsum(axis=1)[:, -1]

    def replay(self, values: Array) -> tuple[Array, Flags]:
        """Return values, (n_streams, n_ticks, n_features), without released channels, and what is requested."""
        followed = values.copy()
        asked = np.empty(values.shape, dtype=np.bool_)
        newest = np.full_like(values[:, 0], np.nan)
        for tick in range(values.shape[1]):
            asked[:, tick] = self.features(newest)
            stays = ~self.channels(newest) @ self._reads.T
            newest = np.where(stays, newest, values[:, tick])
            followed[:, tick] = newest
        return followed, asked

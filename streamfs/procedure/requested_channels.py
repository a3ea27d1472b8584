"""Which channels streams request: all, or only those that their newest feature values call for."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array, Feature, channels_of
from streamfs.classifiers.classifier import Classifier

Flags = npt.NDArray[np.bool_]


class RequestedChannels:
    """Features and channels that a classifier which releases features still requests after the newest values.

    A sample has NaN in the channels that no requested feature reads, so that their features keep their values:
    requests are a function of the newest values alone.

    Parameters
    ----------
    classifier : Classifier
        Whether it requests a feature depends on that feature's value alone.
    features : sequence of Feature
        What it reads, in order.

    Notes
    -----
    A channel that a stream has released is not requested again in the episode: a feature that is requested after a
    sample, and was not before it, has changed; so the sample had a value in each of its channels, that is, all of
    these were requested before.
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
        """Return feature values as they would have been if released channels had been silent.

        Parameters
        ----------
        values : ndarray of shape (n_streams, n_ticks, n_features)
            Feature values with all channels.

        Returns
        -------
        values : ndarray of shape (n_streams, n_ticks, n_features)
            Feature values without the released channels.
        asked : ndarray of bool of shape (n_streams, n_ticks, n_features)
            Whether each feature is requested, and paid for, at each tick.
        """
        followed = values.copy()
        asked = np.empty(values.shape, dtype=np.bool_)
        newest = np.full_like(values[:, 0], np.nan)
        for tick in range(values.shape[1]):
            asked[:, tick] = self.features(newest)
            stays = ~self.channels(newest) @ self._reads.T
            newest = np.where(stays, newest, values[:, tick])
            followed[:, tick] = newest
        return followed, asked

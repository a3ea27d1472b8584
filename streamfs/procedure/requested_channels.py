"""What streams ask for: every channel, or those alone that their features' values call for."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array, Feature, channels_of
from streamfs.classifiers.classifier import Classifier

Flags = npt.NDArray[np.bool_]


class RequestedChannels:
    """Tells, of features' newest values, which features a lazy classifier still asks for, and which channels.

    A channel that no asked feature reads is shown to none: a sample has NaN there, by which the features that read
    it keep their values. So what is asked for is a function of the newest values alone.

    Parameters
    ----------
    classifier : Classifier
        Whether it asks for a feature depends on that feature's value alone.
    features : sequence of Feature
        What it reads, in order.

    Notes
    -----
    A channel that a stream has ceased to ask for is not asked for again in its episode. For a feature that is
    asked for after a sample, and was not before, has another value than before; so the sample was shown to it with
    a value in each of its channels, that is, all of these were asked for before.
    """

    def __init__(self, classifier: Classifier, features: Sequence[Feature]) -> None:
        self._classifier = classifier
        channels = channels_of(features)
        reads = [[channel in feature.columns for channel in channels] for feature in features]
        self._reads = np.array(reads, dtype=np.bool_).reshape(len(features), len(channels))

    @classmethod
    def of(cls, classifier: Classifier, features: Sequence[Feature]) -> "RequestedChannels | None":
        """What a classifier asks for; None for one that always reads all its features."""
        return cls(classifier, features) if classifier.releases_features else None

    def features(self, values: Array) -> Flags:
        """Features that are asked for after these newest values, both of shape (n_rows, n_features)."""
        return self._classifier.requests(values)

    def channels(self, values: Array) -> Flags:
        """Channels that are asked for after these newest values, shape (n_rows, n_channels)."""
        read: Flags = self.features(values) @ self._reads
        return read

    def shown(self, samples: Array, values: Array) -> Array:
        """Samples with NaN in the channels that are not asked for after the values before them."""
        return np.where(self.channels(values), samples, np.nan)

    def rates(self, values: Array, each: Array) -> Array:
        """What the next tick costs after these newest values, shape (n_rows,): C_each of all asked features."""
        return np.where(self.features(values), each, 0.0).cumsum(axis=1)[:, -1]

    def replay(self, values: Array) -> tuple[Array, Flags]:
        """What comes of recorded values where channels fall silent as they are asked for no more.

        Parameters
        ----------
        values : ndarray of shape (n_streams, n_ticks, n_features)
            Of the features, had all channels gone on.

        Returns
        -------
        values : ndarray of shape (n_streams, n_ticks, n_features)
            Of the features as a stream has them that is followed.
        asked : ndarray of bool of shape (n_streams, n_ticks, n_features)
            Whether each feature is asked for, and paid, at each tick.
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
